import pytest

from judging.matching import stands_in

FOUND = [
    ("shipped", "It was SHIPPED."),
    ("on its way", "It is  on its\nway!"),
    ("12", "order 12."),
    ("12", "(12), 13"),
    ("12", "#12"),
    ("1234.50", "It cost $1,234.50 in all"),
    ("1,234.50", "1234.5"),
    ("45", "45.00 euros"),
    ("45.00", "45 euros"),
    ("Anna Smith", "**Anna** Smith's order"),
    ("well-known", "a well‑known shop"),
    ("anna@example.com", "Write to Anna@Example.com."),
    ("2024-05-12", "on 2024-05-12, Monday"),
    ("shipped.", "shipped"),
    ("已发货", "您的订单已发货。"),
    ("12", "订单12已发货"),
    ("don't", "I don’t know"),
    ("delivery", "out for delivery"),
    ("-5", "it is −5 degrees"),
    ("1 234", "1\u202f234"),
    ("007", "agent 007"),
]
MISSED = [
    ("12", "4128"),
    ("12", "12.5"),
    ("12", "12,5"),
    ("12", "1,234,120"),
    ("12", "2024-05-12"),
    ("12", "12:30"),
    ("12", "-12"),
    ("12", "12th"),
    ("12", "O-12"),
    ("7", "007"),
    ("example", "anna@example.com"),
    ("anna", "anna@example.com"),
    ("ship", "shipped"),
    ("shipped", "unshipped"),
    ("10.0.0.1", "10.0.0.10"),
    ("234", "1,234"),
    ("status", "order_status"),
    ("", "anything"),
    ("x", ""),
]


@pytest.mark.parametrize(("wanted", "text"), FOUND)
def test_finds_what_a_reader_would_find(wanted: str, text: str) -> None:
    assert stands_in(wanted, text)


@pytest.mark.parametrize(("wanted", "text"), MISSED)
def test_part_of_a_word_or_number_is_not_it(wanted: str, text: str) -> None:
    assert not stands_in(wanted, text)


def test_a_table_row_is_read_value_by_value() -> None:
    assert stands_in("4128", "4128,12,345,shipped", commas_separate=True)
    assert stands_in("345", "4128,12,345,shipped", commas_separate=True)
    assert not stands_in("28", "4128,12,345,shipped", commas_separate=True)


def test_a_text_of_nothing_but_punctuation_is_looked_for_as_it_is() -> None:
    assert stands_in("?", "Which order?")
    assert not stands_in("?", "Which order!")
