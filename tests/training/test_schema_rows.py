"""A tool's parameters: what a schema may be, and that going to rows and back changes nothing."""

import json
from dataclasses import replace
from typing import Any

import pytest
from django.utils.datastructures import MultiValueDict
from hypothesis import given, settings
from hypothesis import strategies as st

from training.authoring.toolbox import schema_rows
from training.authoring.toolbox.schema_check import BadJSON, check, read
from training.authoring.toolbox.schema_rows import Row, rest_of, rows_of, same, schema_of

ORDER = {
    "type": "object",
    "properties": {
        "column": {"type": "string", "enum": ["order", "状态"], "description": "Where to look."},
        "most": {"type": "integer", "default": 5, "minimum": 1},
        "tags": {"type": "array", "items": {"type": "string"}},
        "where": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
    "required": ["column"],
    "additionalProperties": False,
}


def form_of(schema: dict[str, Any]) -> dict[str, str]:
    """What a browser sends for the rows of a schema."""
    data = {"parameters_as": "rows", "parameters_rest": json.dumps(rest_of(schema))}
    for at, row in enumerate(rows_of(schema)):
        for field in ("name", "type", "description", "choices", "default", "rest"):
            data[f"row-{at}-{field}"] = getattr(row, field).replace("\n", "\r\n")
        if row.required:
            data[f"row-{at}-required"] = "on"
    return data


def test_rows_show_what_a_person_edits_and_keep_the_rest() -> None:
    column, most, tags, where = rows_of(ORDER)
    assert column == Row("column", "string", "Where to look.", True, "order\n状态")
    assert most == Row("most", "integer", default="5", rest='{"minimum": 1}')
    assert (tags.type, tags.rest) == ("list", "")
    assert where.type == "other" and "city" in where.rest
    assert rest_of(ORDER) == {"additionalProperties": False}


def test_rows_and_json_are_the_same_schema() -> None:
    assert check(ORDER) == []
    assert schema_of(rows_of(ORDER), rest_of(ORDER)) == (ORDER, [])
    assert schema_rows.schema_in(form_of(ORDER)) == (ORDER, [])
    assert schema_rows.schema_in({"parameters_as": "json", "parameters": json.dumps(ORDER)}) == (ORDER, [])


OFTEN = pytest.mark.parametrize("examples", [100, pytest.param(10_000, marks=pytest.mark.slow)])
NAMES = st.from_regex(r"[a-zé状]([\w. -]{0,10}\w)?", fullmatch=True)
SCALARS = {
    "string": st.text(max_size=12),
    "integer": st.integers(-(10**20), 10**20),
    "number": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-9, 9),
    "boolean": st.booleans(),
}


@st.composite
def properties(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from([*SCALARS, "list", "nullable", "any", "nested"]))
    if kind in ("list", "nullable", "any", "nested"):
        schema = {
            "list": {"type": "array", "items": {"type": "string"}},
            "nullable": {"type": ["string", "null"]},
            "any": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "nested": {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "number"}}}},
        }[kind]
        schema = dict(schema)
    else:
        schema = {"type": kind}
        choices = draw(st.lists(SCALARS[kind], max_size=4, unique_by=json.dumps))
        if choices:
            schema["enum"] = choices
        if draw(st.booleans()):
            schema["default"] = draw(st.sampled_from(choices) if choices else SCALARS[kind])
    if draw(st.booleans()):
        schema["description"] = draw(st.text(max_size=20))
    if draw(st.booleans()):
        schema["minimum"] = draw(st.integers(0, 5))
    return schema


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    inner = draw(st.dictionaries(NAMES, properties(), max_size=6))
    schema: dict[str, Any] = {"type": "object", "properties": inner}
    required = [name for name in inner if draw(st.booleans())]
    if required:
        schema["required"] = required
    if draw(st.booleans()):
        schema["additionalProperties"] = False
    return schema


@OFTEN
def test_any_schema_survives_the_way_through_a_form(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(schemas())
    def survives(schema: dict[str, Any]) -> None:
        assert check(schema) == []
        back, problems = schema_rows.schema_in(form_of(schema))
        assert problems == []
        assert json.dumps(back, sort_keys=True) == json.dumps(schema, sort_keys=True)
        assert same(back, schema)

    survives()


KEYS = st.sampled_from(["type", "properties", "required", "enum", "items", "default", "$ref", "a", ""])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=3), inner, max_size=5)
    ),
    max_leaves=30,
)


@OFTEN
def test_check_answers_for_anything_at_all(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(ANYTHING)
    def answers(value: Any) -> None:
        assert all(isinstance(problem, str) for problem in check(value))
        properly = {"type": "object", "properties": {"a": value, "b": {"enum": value, "type": value}}}
        assert all(isinstance(problem, str) for problem in check(properly))

    answers()


FIELDS = st.from_regex(r"row-[0-9]{1,3}-(name|type|choices|default|rest|required)", fullmatch=True)
TYPED = st.sampled_from(["json", "rows", "integer", "list", "other", "{", "[1]", '{"a":1}'])


FORMS = st.dictionaries(
    FIELDS | st.sampled_from(["parameters", "parameters_as", "parameters_rest"]),
    st.text(max_size=20) | TYPED,
    max_size=12,
)


@OFTEN
def test_any_form_gives_a_schema_or_a_sentence(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(FORMS)
    def gives(data: dict[str, str]) -> None:
        schema, problems = schema_rows.schema_in(data)
        assert problems or check(schema) == []

    gives()


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ([], "must be a JSON object"),
        ({"type": "string"}, "must be a JSON object"),
        ({"type": "object", "properties": []}, "“properties” of the parameters"),
        ({"type": "object", "properties": {'a"b': {}}}, "cannot be a parameter"),
        ({"type": "object", "properties": {"a\nb": {}}}, "cannot be a parameter"),
        ({"type": "object", "properties": {"a" * 101: {}}}, "cannot be a parameter"),
        ({"type": "object", "properties": {"": {}}}, "has no name"),
        ({"type": "object", "properties": {" a": {}}}, "cannot be a parameter"),
        ({"type": "object", "properties": {"a": 3}}, "“a” must be an object"),
        ({"type": "object", "properties": {"a": {"type": "text"}}}, "“a” has a type"),
        ({"type": "object", "properties": {"a": {"$ref": "#/x"}}}, "$ref"),
        ({"type": "object", "properties": {"a": {"enum": []}}}, "1 to 300 values"),
        ({"type": "object", "properties": {"a": {"enum": [1, 1]}}}, "name a value twice"),
        ({"type": "object", "properties": {"a": {"enum": [1], "default": 2}}}, "not one of its choices"),
        ({"type": "object", "required": ["b"]}, "“b” is required"),
        ({"type": "object", "required": "b"}, "must be a list of names"),
        ({"type": "object", "properties": {"a": {"type": "array", "items": 1}}}, "“a[]” must be an object"),
        ({"type": "object", "properties": {f"p{n}": {} for n in range(33)}}, "at most 32 parameters"),
        ({"type": "object", "description": "x" * 17_000}, "16384 are allowed"),
    ],
)
def test_a_bad_schema_is_named(schema: Any, says: str) -> None:
    assert says in " ".join(check(schema))


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _level in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def test_depth_is_bounded_and_cannot_hurt() -> None:
    assert check(nested(3)) == []
    assert "deep" in check(nested(40))[0]
    bottomless: list[Any] = []
    for _level in range(100_000):
        bottomless = [bottomless]
    assert "deep" in check({"type": "object", "properties": {"a": {"enum": bottomless}}})[0]


def test_bad_json_is_named_by_its_line_and_nothing_is_lost() -> None:
    text = '{\n  "type": "object",\n  "properties": {,}\n}'
    schema, problems = schema_rows.schema_in({"parameters_as": "json", "parameters": text})
    assert problems[0].field == "parameters" and "Line 3, character 18" in problems[0].text
    assert schema == {"type": "object", "properties": {}}


@pytest.mark.parametrize("text", ["[" * 50_000, '{"a": NaN}', "9" * 5000, "x" * 70_000, "", "{'a': 1}"])
def test_what_is_not_json_is_a_sentence(text: str) -> None:
    with pytest.raises(BadJSON) as told:
        read(text)
    assert str(told.value).endswith(".")


def test_wrong_rows_are_named_where_they_stand() -> None:
    city = Row("city", choices="Rome\nOslo", default="Paris")
    rows = [city, Row("city"), Row("{2}"), Row("n", "integer", default="x")]
    _schema, problems = schema_of(rows)
    assert [problem.field for problem in problems] == ["row-1-name", "row-2-name", "row-3-default"]
    assert "“x” is not a value of “n”" in problems[2].text
    _schema, problems = schema_of(rows[:1])
    assert "default of “city”" in problems[0].text


def test_an_empty_row_is_no_parameter() -> None:
    assert schema_of([Row(), replace(Row(), name="a")])[0]["properties"] == {"a": {"type": "string"}}


def test_rows_come_in_the_order_of_the_form() -> None:
    data: MultiValueDict[str, str] = MultiValueDict({"row-7-name": ["b"], "row-2-name": ["a"]})
    assert [row.name for row in schema_rows.rows_in(data)] == ["b", "a"]


def test_a_changed_order_is_a_change_of_what_the_model_reads() -> None:
    turned = {**ORDER, "properties": dict(reversed(ORDER["properties"].items()))}
    assert not same(ORDER, turned)
    assert same(ORDER, {**ORDER, "required": ["column"]})
