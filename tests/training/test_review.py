"""Transcripts of whatever was said, and tokens a window at a time."""

from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from training.review.transcript import LONGEST, Call, compared, shared_start, turns
from training.review.tries import course, sides, spoken, tokens
from training.review.tries.measured import Values

SYSTEM = {"role": "system", "content": "Be brief."}
ASK = {"role": "user", "content": "Where?"}


def call(arguments: object) -> dict[str, object]:
    function = {"name": "find", "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "function": function}]}


def test_arguments_are_pairs_whatever_form_they_come_in() -> None:
    told = [turns([call(arguments)])[0].calls[0] for arguments in ('{"id": 7}', {"id": 7}, '{"id"', [1], "7")]
    assert told[:2] == [Call("find", (("id", "7"),))] * 2
    assert told[2] == Call("find", (("", '{"id"'),))
    assert told[3].arguments[0][0] == told[4].arguments[0][0] == ""


def test_a_tool_result_is_named_after_its_call() -> None:
    told = turns([call("{}"), {"role": "tool", "tool_call_id": "a", "content": "[]"}])
    assert (told[1].speaker, told[1].tool, told[1].text) == ("tool", "find", "[]")


def test_long_messages_are_cut_and_say_so() -> None:
    told = turns([{"role": "assistant", "content": "x" * (LONGEST + 1)}])[0]
    assert len(told.text) == LONGEST and told.cut


def test_what_all_begin_with_ends_before_the_agent_speaks() -> None:
    answer = {"role": "assistant", "content": "There."}
    assert shared_start([[SYSTEM, ASK, answer], [SYSTEM, ASK, answer]]) == 2
    assert shared_start([[SYSTEM, ASK], [SYSTEM, answer]]) == 1
    assert shared_start([]) == 0


def test_turns_like_the_best_ones_are_marked_by_place() -> None:
    best = turns([SYSTEM, ASK])
    assert [turn.as_best for turn in compared(turns([SYSTEM, SYSTEM, ASK]), best)] == [True, False, False]


def segment(length: int) -> dict[str, list[object]]:
    said: list[object] = [place >= 5 for place in range(length)]
    return {"ids": list(range(length)), "logprobs": [-0.1 if one else 0.0 for one in said], "mask": said}


def test_windows_follow_each_other_to_the_end() -> None:
    whole, start, seen = [segment(2 * tokens.WINDOW + 10)], 0, []
    while start is not None:
        shown = tokens.window(whole, "no-such-model", 0, start)
        seen += [token.place for token in shown.tokens]
        start = shown.after  # type: ignore[assignment]
    assert seen == list(range(2 * tokens.WINDOW + 10))
    assert not shown.readable and shown.tokens[-1].text == str(seen[-1])


def test_places_outside_are_moved_inside() -> None:
    shown = tokens.window([segment(3)], "no-such-model", segment=9, start=10**9)
    assert (shown.segment, shown.start, shown.total) == (0, 2, 3)
    assert tokens.window([], "no-such-model", 0, 0).tokens == []


def test_a_character_of_several_tokens_stands_at_the_last(tmp_path: Path) -> None:
    alphabet = {letter: place for place, letter in enumerate(sorted(ByteLevel.alphabet()))}
    tokenizer = Tokenizer(BPE(vocab=alphabet, merges=[]))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.decoder = ByteLevelDecoder()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    ids = tokenizer.encode("a单b").ids
    assert tokens.pieces(tokenizer, ids) == ["a", "", "", "单", "b"]
    shown = tokens.window([{"ids": ids, "logprobs": [0.0] * 5, "mask": [False] * 5}], str(tmp_path), 0, 0)
    assert shown.readable and "".join(token.text for token in shown.tokens) == "a单b"


def said_by(*roles: str) -> list[dict[str, object]]:
    return [{"role": role, "content": "…"} for role in roles]


def masked(*mask: int) -> dict[str, list[object]]:
    return {"ids": list(range(len(mask))), "logprobs": [-0.5 * drawn for drawn in mask], "mask": list(mask)}


def test_each_stretch_of_drawn_tokens_is_a_message_of_the_agent() -> None:
    messages = said_by("system", "user", "assistant", "tool", "assistant")
    told = spoken.stretches([masked(0, 0, 0, 1, 1, 0, 1)], messages)[0]
    assert [(s.start, s.end, s.drawn, s.first, s.message) for s in told] == [
        (0, 3, False, 0, 2), (3, 5, True, 2, 2), (5, 6, False, 3, 4), (6, 7, True, 4, 4),
    ]  # fmt: skip


def test_a_new_segment_is_given_all_that_came_before() -> None:
    messages = said_by("user", "assistant", "tool", "assistant")
    told = spoken.stretches([masked(0, 1), masked(0, 0, 0, 1, 0)], messages)
    assert [(s.first, s.message) for s in told[1]] == [(0, 3), (3, 3), (4, 4)]


def test_examples_of_a_scenario_were_not_drawn_and_missing_messages_are_not_invented() -> None:
    example = said_by("user", "assistant", "user", "assistant")
    assert spoken.drawn_messages(example, [masked(0, 0, 1)]) == [3]
    told = spoken.stretches([masked(0, 1, 0, 1)], said_by("user", "assistant"))[0]
    assert [s.message for s in told if s.drawn] == [None, 1]
    assert spoken.stretches([], []) == [] and spoken.drawn_messages([], []) == []


def test_the_course_of_a_try_is_as_wide_as_its_tokens() -> None:
    refused = {"role": "tool", "tool_call_id": "a", "content": "Error: no such row"}
    messages: list[dict[str, object]] = [{**ASK}, call("{}"), {**refused}, {**SYSTEM, "role": "assistant"}]
    segments = [masked(0, 0, 1, 1, 1, 0, 1, 1)]
    first, second = course.course(messages, segments, spoken.stretches(segments, messages))
    assert (first.given, first.said, second.given, second.said) == (2, 3, 1, 2)
    assert [(c.name, c.failed, c.unanswered) for c in first.called] == [("find", True, False)]
    assert (first.x, second.said_x + second.said_width) == (0.0, 1000.0)
    assert first.surprise == 0.5 and first.entropy is None and course.course([], [], []) == []
    values: list[Values] = [{"logprobs": [], "entropies": [None, None, 1.0, 2.0, 3.0, None, 0.25, 0.75]}]
    legs = course.course(messages, segments, spoken.stretches(segments, messages), values)
    assert [leg.entropy for leg in legs] == [2.0, 0.5]


def test_a_strip_holds_a_page_of_tokens_and_the_overview_of_all() -> None:
    long = segment(tokens.STRIP + 10)
    places = spoken.stretches([long], said_by("user", "assistant"))
    told = tokens.strip([long], places, "no-such-model", 0, tokens.STRIP + 3)
    assert (told["start"], told["total"], len(told["ids"])) == (tokens.STRIP, tokens.STRIP + 10, 10)
    assert told["stretches"] == [[0, 5, 0, 0, 1], [5, tokens.STRIP + 10, 1, 1, 1]]
    assert len(told["overview"]) <= tokens.OVERVIEW and max(told["overview"]) == 0.1
    assert tokens.strip([], [], "no-such-model", 3, 9)["ids"] == []


def test_what_was_measured_stands_beside_the_tokens_it_is_of() -> None:
    values: list[Values] = [
        {"logprobs": [], "entropies": []},
        {"logprobs": [None, -1.0, -0.5], "entropies": [None, 0.123456, 2.0]},
    ]
    segments, said = [masked(0, 1), masked(0, 1, 1)], said_by("user", "assistant", "user", "assistant")
    places = spoken.stretches(segments, said)
    told = tokens.strip(segments, places, "no-such-model", 1, 0, values)
    assert told["entropies"] == [None, 0.1235, 2.0] and told["ratios"] == [None, 0.606531, 1.0]
    assert "entropies" not in tokens.strip(segments, places, "no-such-model", 1, 0)
    shown = tokens.window(segments, "no-such-model", 1, 1, values).tokens
    assert [(token.place, token.entropy, token.ratio) for token in shown] == [
        (1, 0.1235, 0.606531),
        (2, 2.0, 1.0),
    ]
    assert tokens.window(segments, "no-such-model", 1, 1).tokens[0].entropy is None


def test_the_overview_shows_the_largest_surprise_of_each_share() -> None:
    logprobs = [0.0, -3.0, None, -0.25]
    assert tokens.overview(logprobs, [0, 1, 1, 1]) == [0.0, 3.0, 0.0, 0.25]
    assert tokens.overview([], []) == []


def test_two_tries_side_by_side_pair_what_answers_each_other() -> None:
    left = turns([ASK, call('{"id": 7}'), {"role": "assistant", "content": "It is in Lyon now."}])
    right = turns([ASK, {"role": "assistant", "content": "It is in Oslo now."}])
    found = sides.pairs(left, right)
    assert [str(pair.mark) for pair in found] == ["same", "missing", "different"]
    assert found[1].right is None and sides.differing(found) == 2
    assert [piece.text for piece in found[2].left.pieces if piece.differs] == ["Lyon"]  # type: ignore[union-attr]
