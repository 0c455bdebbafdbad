"""Tries laid side by side: rows, marks, differing words, and quotes found again."""

import json
import random
import time
from itertools import pairwise

import pytest

from training.review.groups import side_by_side
from training.review.groups.alignment import Mark, mark, rows
from training.review.groups.wording import MOST_TOKENS, Piece, pieces
from training.review.quotes import Said, linked
from training.review.transcript import Turn, turns

Message = dict[str, object]


def call(tool: str, **arguments: object) -> Message:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "function": function}]}


def result(text: str, tool: str = "find") -> Message:
    return {"role": "tool", "name": tool, "content": text}


def say(text: str) -> Message:
    return {"role": "assistant", "content": text}


BEST = turns([call("find", id=7), result("[7]"), say("It is shipped.")])


def a_try(dice: random.Random) -> list[Turn]:
    said: list[Message] = []
    for _ in range(dice.randrange(12)):
        tool = dice.choice("ab")
        said += [call(tool, n=dice.randrange(3)), result(str(dice.randrange(3)), tool)]
    return turns([*said, say(dice.choice(["yes", "no", "yes and no"]))])


def test_every_turn_stands_in_one_row_in_its_order() -> None:
    dice = random.Random(3)
    for _ in range(100):
        tries = [a_try(dice) for _ in range(dice.randrange(1, 9))]
        best = dice.randrange(len(tries))
        found = rows(tries, best)
        for number, mine in enumerate(tries):
            placed = [row[number] for row in found if row[number] is not None]
            assert placed == list(range(len(mine)))
        for row in found:
            assert any(place is not None for place in row)
            speakers = {tries[number][at].speaker for number, at in enumerate(row) if at is not None}
            assert len(speakers) == 1


def test_calls_of_a_tool_stand_beside_each_other_whatever_came_before() -> None:
    longer = turns(
        [call("look"), result("[]", "look"), *(call("find", id=8), result("[8]")), say("Shipped.")]
    )
    found = rows([BEST, longer])
    assert found == [(None, 0), (None, 1), (0, 2), (1, 3), (2, 4)]


def test_an_answer_without_looking_stands_beside_the_answer() -> None:
    assert rows([BEST, turns([say("It is on its way.")])]) == [(0, None), (1, None), (2, 0)]


def test_what_two_tries_add_alike_shares_a_row() -> None:
    extra = turns(
        [call("find", id=7), result("[7]"), call("mail", to="x"), result("ok", "mail"), say("Done.")]
    )
    found = rows([BEST, extra, extra])
    assert found == [(0, 0, 0), (1, 1, 1), (None, 2, 2), (None, 3, 3), (2, 4, 4)]


def test_equal_tries_need_no_more_rows_and_none_is_no_trouble() -> None:
    assert rows([BEST] * 5) == [(place,) * 5 for place in range(3)]
    assert rows([]) == [] and rows([[]]) == []
    assert rows([[], BEST]) == [(None, 0), (None, 1), (None, 2)]


def test_marks_say_how_a_turn_compares() -> None:
    other = turns([call("find", id=8), call("look"), say("It is shipped.")])
    assert mark(other[0], BEST[0]) == Mark.ARGUMENTS
    assert mark(other[1], BEST[0]) == Mark.DIFFERENT
    assert mark(other[2], BEST[2]) == Mark.SAME, "the number of a message does not count"
    assert (mark(None, BEST[0]), mark(other[0], None)) == (Mark.MISSING, Mark.EXTRA)
    assert mark(None, None) == Mark.NOTHING


def test_sixteen_tries_of_forty_messages_are_aligned_while_nobody_waits() -> None:
    dice = random.Random(1)
    tries = []
    for _ in range(16):
        said: list[Message] = []
        for _ in range(20):
            said += [call("find", id=dice.randrange(1000)), result(str(dice.randrange(1000)))]
        tries.append(turns(said))
    began = time.process_time()
    rows(tries)
    assert time.process_time() - began < 10


def test_differing_words_are_marked_and_nothing_is_lost() -> None:
    assert pieces("shipped on Monday", "shipped on Tuesday") == (Piece("shipped on "), Piece("Monday", True))
    assert pieces("same", "same") == (Piece("same"),) and pieces("", "x") == ()
    dice = random.Random(5)
    for _ in range(300):
        mine, other = (" ".join(dice.choices("ab c, d. 天 \u202e", k=dice.randrange(30))) for _ in range(2))
        told = pieces(mine, other)
        assert "".join(piece.text for piece in told) == mine
        assert all(one.differs != next_.differs for one, next_ in pairwise(told))


def test_texts_with_nothing_in_common_are_not_spotted_all_over() -> None:
    assert pieces("It was sent on Monday", "No idea, sorry!") == (Piece("It was sent on Monday"),)


def test_long_texts_are_compared_at_their_ends_only() -> None:
    long, other = (" ".join(f"{sign}{n}" for n in range(MOST_TOKENS)) for sign in "ab")
    told = pieces(f"{'same ' * 200}{long} end", f"{'same ' * 200}{other} end")
    assert [piece.differs for piece in told] == [False, True, False]


def test_cells_show_which_argument_differs_and_which_words() -> None:
    other = turns([call("find", id=8, column="id"), result("[8]"), say("It is shipped.")])
    best = turns([call("find", id=7, column="id"), result("[7]"), say("It is shipped.")])
    first, second, third = side_by_side.rows([best, other], [0, 3])
    assert [cell.mark for cell in first.cells] == ["best", "arguments"]
    shown = {argument.name: argument for argument in first.cells[1].calls[0].arguments}
    assert shown["id"].differs and shown["id"].pieces == (Piece("8"),)
    assert not shown["column"].differs
    assert second.cells[1].pieces == (Piece("["), Piece("8", True), Piece("]"))
    assert third.equal and third.folds == 1 and not first.equal


def test_stretches_of_equal_rows_are_counted_at_their_first() -> None:
    other = turns([call("find", id=7), result("[7]"), say("Else.")])
    shown = side_by_side.rows([BEST, other], [0, 1])
    assert [(row.equal, row.folds) for row in shown] == [(True, 2), (True, 0), (False, 0)]
    assert side_by_side.first_difference(shown, 1) == 2
    alone = side_by_side.rows([BEST], [0])
    assert not any(row.equal for row in alone), "there is nothing to be equal to"


def test_cells_are_short_and_say_so() -> None:
    many = {f"k{n}": "v" * 1000 for n in range(50)}
    huge = turns([call("find", **many), result("x" * 50_000), say("Done.")])
    call_row, result_row, answer = side_by_side.rows([huge, huge], [0, 1])
    assert len(call_row.cells[0].calls[0].arguments) == side_by_side.MOST_ARGUMENTS
    assert [cell.cut for row in (call_row, result_row, answer) for cell in row.cells] == [True] * 4 + [
        False
    ] * 2
    lengths = [sum(len(piece.text) for piece in cell.pieces) for cell in result_row.cells]
    assert lengths == [side_by_side.TEXT, side_by_side.SAME_TEXT]


@pytest.mark.parametrize(("tries", "most"), [(1, 200), (8, 200), (16, 100), (64, 40), (0, 200)])
def test_more_tries_show_fewer_turns_each(tries: int, most: int) -> None:
    assert side_by_side.most_turns(tries) == most


TRY = turns(
    [
        {"role": "user", "content": "Where is my order OR-77?"},
        call("find_order", column="order_id", value="OR-20037"),
        result('[{"status": "shipped", "carrier": "DHL"}]'),
        say("It was shipped\n  with DHL on Tuesday, it isn't lost."),
    ]
)


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("It says “shipped with DHL on Tuesday” and is right.", 3),
        ('It says "Shipped With DHL" and is right.', 3),
        ("It says 'it isn’t lost' though.", 3),
        ("It says 「shipped with DHL」 there.", 3),
        ("It read “" + 'carrier": "DHL' + "” first.", 2),
        ("It asked for 'value: OR-20037'.", 1),
        ("The user wrote “Where is my order…” here.", 0),
        ("It says “shipped” only.", None),
        ("It says “was never said at all” here.", None),
        ("It doesn't say that it isn't lost.", None),
    ],
)
def test_quotes_link_to_what_they_quote(reason: str, message: int | None) -> None:
    told = linked(reason, TRY, alike=1)
    assert "".join(said.text for said in told) == reason
    assert [said.message for said in told if said.message is not None] == [
        m for m in [message] if m is not None
    ]
    assert [said.before for said in told if said.message == 0] == ([True] if message == 0 else [])


def test_a_reason_is_bounded_and_kept_whole() -> None:
    told = linked("“" * 5000, TRY)
    assert told == (Said("“" * 2000),)
    began = time.process_time()
    linked("'a'b" * 500 + '"' * 100, turns([say("x" * 20_000)] * 50))
    assert time.process_time() - began < 10
    many = linked("“shipped with DHL” " * 100, TRY)
    assert sum(said.message == 3 for said in many) == 20
