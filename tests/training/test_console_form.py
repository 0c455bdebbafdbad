"""A form from a schema, and arguments from the form."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_worker.tools.arguments import complaint
from tests.training.test_schema_rows import schemas
from training.authoring.toolbox.console_form import arguments_of, fields_of

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "column": {"type": "string", "enum": ["order", "状态"], "description": "Where to look."},
        "value": {"type": "string"},
        "most": {"type": "integer", "default": 5},
        "share": {"type": "number"},
        "exact": {"type": "boolean"},
        "filter": {"type": "object"},
    },
    "required": ["column", "value"],
}


def typed(**values: str) -> dict[str, str]:
    return {f"argument-{name}": value for name, value in values.items()}


def test_each_type_has_its_input() -> None:
    widgets = {field.name: field.widget for field in fields_of(SCHEMA)}
    assert widgets == {
        "column": "select", "value": "text", "most": "number", "share": "number", "exact": "checkbox",
        "filter": "json",
    }  # fmt: skip
    column, value, most = fields_of(SCHEMA)[:3]
    assert [choice.label for choice in column.choices] == ["order", "状态"] and column.required
    assert (value.required, most.value, most.whole) == (True, "5", True)


def test_arguments_have_the_types_of_the_schema() -> None:
    form = typed(column='"状态"', value="0 12", most="7", share="0.5", exact="on", filter='{"a": [1]}')
    assert arguments_of(SCHEMA, form) == (
        {"column": "状态", "value": "0 12", "most": 7, "share": 0.5, "exact": True, "filter": {"a": [1]}},
        [],
    )


def test_what_is_empty_and_optional_is_left_out() -> None:
    assert arguments_of(SCHEMA, typed(column='"order"', value="")) == ({"column": "order", "value": ""}, [])


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"column": ""}, "“column” is required."),
        ({"column": '"other"'}, "Choose one of the values of “column”."),
        ({"most": "1.5"}, "“most” must be a whole number."),
        ({"most": "true"}, "“most” must be a whole number."),
        ({"share": "much"}, "“share” must be a number."),
        ({"share": "1e999"}, "“share” must be a number."),
        ({"filter": "{\n,}"}, "Line 2, character 1"),
        ({"value": "x" * 20_001}, "longer than 20000"),
    ],
)
def test_a_wrong_value_is_named_at_its_field_and_kept(wrong: dict[str, str], says: str) -> None:
    form = typed(**{"column": '"order"', "value": "1", **wrong})
    _arguments, problems = arguments_of(SCHEMA, form)
    (problem,) = problems
    assert says in problem.text
    (kept,) = [field.value for field in fields_of(SCHEMA, form) if field.id == problem.field]
    assert kept == next(iter(wrong.values()))


@pytest.mark.parametrize("examples", [60, pytest.param(500, marks=pytest.mark.slow)])
def test_the_fields_of_any_schema_give_what_it_allows(examples: int) -> None:
    settings(max_examples=examples, deadline=None)(given(st.data(), schemas())(gives_what_it_allows))()


def gives_what_it_allows(data: st.DataObject, schema: dict[str, Any]) -> None:
    names = [field.key for field in fields_of(schema)]
    value = st.text(max_size=6) | st.sampled_from(["1", "1.5", '"a"', "true", "[]", "{}", "on"])
    form = data.draw(st.dictionaries(st.sampled_from(names), value)) if names else {}
    arguments, problems = arguments_of(schema, form)
    simple = {
        name: inner
        for name, inner in schema["properties"].items()
        if fields_of({"properties": {name: inner}})[0].widget != "json"
    }
    given_simply = {name: value for name, value in arguments.items() if name in simple}
    assert problems or complaint({"type": "object", "properties": simple}, given_simply) is None
