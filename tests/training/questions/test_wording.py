"""How questions are worded: enough phrasings, every place filled, names and values as they are written."""

import random
import re
import string
from collections import Counter
from pathlib import Path

import pytest

from tests.training.questions.agents import stored
from training.authoring.studio.questions import KINDS, invent, phrasings, phrasings_zh
from training.authoring.studio.questions.nouns import nouns_for

FORMS = {"en": phrasings, "zh-hans": phrasings_zh}
NEEDED = {
    "single": {"row", "column"},
    "count": {"column", "value"},
    "filter": {"column1", "value1", "column2", "value2"},
    "compare": {"column", "key1", "key2", "more"},
    "two_hop": {"row", "column2", "column"},
    "across": {"row", "noun2", "column"},
}


def places(form: str) -> set[str]:
    return {name for _text, name, _spec, _conversion in string.Formatter().parse(form) if name}


@pytest.mark.parametrize("language", FORMS)
@pytest.mark.parametrize("form", NEEDED)
def test_every_kind_has_at_least_twelve_phrasings(language: str, form: str) -> None:
    forms = FORMS[language].ASKING[form]
    skeletons = {re.sub(r"\W+", " ", text) for text in forms}
    assert len(skeletons) == len(forms) >= 12
    for text in forms:
        assert NEEDED[form] <= places(text), text
        assert places(text) <= NEEDED[form] | {"noun", "nouns", "key_column"}
        assert text[-1] in ".?。？"
        assert text[0].isupper() or text[0] == "{" or language != "en"


PLACES = ("Stadt", "Größe", "sales region", "订单状态")


@pytest.mark.parametrize("language", FORMS)
def test_columns_and_values_stand_in_the_question_as_they_are_written(language: str, tmp_path: Path) -> None:
    rng = random.Random(3)
    rows = [
        (f"DE-{n}", rng.choice(["Köln", "Straße", "Åre"]), str(n * 3 % 50), f"x{n // 2} y", f"类{n % 9}")
        for n in range(90)
    ]
    table, plans = stored("parcels", ("code", *PLACES), rows, tmp_path)
    questions = invent([table], plans, count=150, seed=1, language=language)
    assert Counter(q.kind for q in questions).keys() == set(KINDS)
    for question in questions:
        assert "{" not in question.text and "  " not in question.text
        for _tool, arguments in question.calls[:1]:
            assert arguments["value"] in question.text
        column = question.columns[-1].partition(".")[2]
        assert question.kind == "filter" or column in question.text
        if language == "en":
            assert question.text[0].isupper() and question.text.count("The ") <= 1


@pytest.mark.parametrize(
    ("name", "one", "many"),
    [
        ("orders", "order", "orders"),
        ("Customers_2024", "customer", "customers"),
        ("sales_orders_export", "sales order", "sales orders"),
        ("companies", "company", "companies"),
        ("boxes", "box", "boxes"),
        ("addresses", "address", "addresses"),
        ("order", "order", "orders"),
        ("category", "category", "categories"),
        ("people", "person", "people"),
        ("status", "status", "statuses"),
        ("news", "news", "news"),
        ("Kunden", "Kunden", "Kunden"),
        ("Preisliste", "Preisliste", "Preisliste"),
        ("Größen", "Größen", "Größen"),
        ("clientes", "cliente", "clientes"),
        ("SalesOrders", "sales order", "sales orders"),
        ("订单表", "订单", "订单"),
        ("data", "row", "rows"),
        ("2024", "row", "rows"),
        ("", "row", "rows"),
        ("x" * 60, "row", "rows"),
    ],
)
def test_rows_are_called_after_their_table(name: str, one: str, many: str) -> None:
    assert nouns_for(name) == (one, many)


def test_in_chinese_a_noun_stays_one() -> None:
    assert nouns_for("orders", "zh-hans") == ("order", "order")
    assert nouns_for("表", "zh-hans") == ("记录", "记录")


def test_a_full_stop_never_seems_a_part_of_a_value(tmp_path: Path) -> None:
    rows = [(f"u{n}@mail.example", f"{n}.50", f"x{n // 2}") for n in range(90)]
    table, plans = stored("people", ("mail", "sum", "team"), rows, tmp_path)
    texts = [question.text for question in invent([table], plans, count=150, seed=2)]
    assert any(re.search(r"(@mail\.example|\.50)”\.", text) for text in texts)
    assert not [text for text in texts if re.search(r"(@mail\.example|\.50)\.(\s|$)", text)]
