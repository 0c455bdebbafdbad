"""Transcripts of whatever was said, and tokens a window at a time."""

from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from training.review import tokens
from training.review.transcript import LONGEST, Call, compared, shared_start, turns

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
    said = [place >= 5 for place in range(length)]
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


def test_surprise_grows_as_probability_falls() -> None:
    levels = [tokens.surprise(logprob) for logprob in (0.0, -0.2, -0.8, -1.8, -3.0, -9.0)]
    assert levels == [0, 1, 2, 3, 4, 5]


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
