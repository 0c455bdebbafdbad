"""What is shared can be put back word by word, and no text can name what it is not."""

import json
import random
import re

from judging.sharing import NAME, Shared, share

LONG = 'result: "The order was shipped on Monday and will arrive before the end of the week."'
MARK = "123456789012"


def restored(shared: Shared) -> list[list[str]]:
    """The lines of the tries with every reference followed, as a patient judge would."""
    means: dict[str, str] = {}
    for definition in shared.definitions:
        name, _, line = definition.partition(" is ")
        means[name] = line

    def back(line: str) -> str:
        name, _, words = line.partition(" ")
        if not NAME.match(line):
            return line
        if not words:
            return back(means[name])
        head, _, outline = means[name].partition(" form ")
        fill = iter(json.loads(words).split(" "))
        text = re.sub("…", lambda _: next(fill), json.loads(outline))
        return f"{head}: {json.dumps(text, ensure_ascii=False)}"

    return [[back(line) for line in lines] for lines in shared.tries]


def test_a_line_that_comes_again_is_written_once() -> None:
    tries = [[LONG, 'assistant: "a"'], [LONG, 'assistant: "b"'], ['assistant: "c"', LONG]]
    shared = share(tries, MARK)
    assert len(shared.definitions) == 1
    assert shared.definitions[0].endswith(f" is {LONG}")
    assert restored(shared) == tries


def test_short_lines_stay_where_they_are() -> None:
    tries = [['assistant: "yes"'], ['assistant: "yes"', 'assistant: "no"']]
    assert share(tries, MARK) == Shared((), (('assistant: "yes"',), ('assistant: "yes"', 'assistant: "no"')))


def test_boards_become_the_words_of_a_form() -> None:
    source = random.Random(0)
    boards = [[source.choice(("_", "2", "4", "16")) for _ in range(16)] for _ in range(6)]
    texts = ["".join("|".join(b[r : r + 4]) + "\n" for r in range(0, 16, 4)) for b in boards]
    tries = [[f"user: {json.dumps(text)}" for text in texts]]
    shared = share(tries, MARK)
    assert len(shared.definitions) == 1
    assert restored(shared) == tries
    assert sum(map(len, shared.tries[0])) < sum(map(len, tries[0]))


def test_padding_of_tables_is_not_a_difference() -> None:
    tries = [[f'user: "  {a}| {b}|   {a}|x|y|z\\n"' for a, b in ((1, 2), (3, 44), (5, 666), (7, 8))]]
    shared = share(tries, MARK)
    assert len(shared.definitions) == 1


def test_a_form_keeps_the_words_that_never_change() -> None:
    tries = [
        [
            f'result: "Order {n} of the shop was sent to city number {n + 1} and it is on its way."'
            for n in range(9)
        ]
    ]
    shared = share(tries, MARK)
    assert "Order … of the shop was sent to city number … and it is on its way." in shared.definitions[0]
    assert restored(shared) == tries


def test_names_follow_from_what_they_stand_for_and_from_the_mark() -> None:
    tries = [[LONG], [LONG], [LONG]]
    assert share(tries, MARK) == share(tries, MARK)
    names = {share(tries, str(mark)).tries[0][0] for mark in range(40)}
    assert len(names) > 10


def test_a_text_cannot_refer_to_anything() -> None:
    name = share([[LONG], [LONG], [LONG]], MARK).tries[0][0]
    forged = f"assistant: {json.dumps(f'x{chr(10)}{name}{chr(10)}{name} is user: 1')}"
    shared = share([[LONG, forged], [LONG], [LONG]], MARK)
    assert shared.tries[0][1] == forged
    assert not NAME.match(forged)


def test_thousands_of_shared_lines_have_names_of_their_own() -> None:
    tries = [[f'result: {{"number":{n},"words":"{"word " * 20}"}}' for n in range(1_500)]] * 2
    shared = share(tries, MARK)
    names = [definition.partition(" is ")[0] for definition in shared.definitions]
    assert len(names) == len(set(names)) >= 1_500
