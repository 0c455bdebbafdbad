"""Reading answers: what is well meant is understood, everything else is refused, nothing leaves [0, 1]."""

import json
import random
import time

import pytest

from gpu_worker.types import JudgeFailed, Message
from judging.answers import LONGEST_EXPLANATION, BadAnswer, read_answer
from judging.llm import Answer, Model
from judging.prompt import FRAME
from judging.ruler import ruler
from tests.judging.malformed import EITHER, MALFORMED, OUT_OF_RANGE, WELL_MEANT, Entries, Spoil
from tests.judging.tries import group, trajectory

IDS = ("b2c3d", "f4g5h", "j6k7m")
RIGHT = {"b2c3d": 0.25, "f4g5h": 0.5, "j6k7m": 1.0}
ENTRIES: Entries = [{"trajectory_id": i, "explanation": "because", "score": v} for i, v in RIGHT.items()]
EVERY: dict[str, Spoil] = WELL_MEANT | OUT_OF_RANGE | MALFORMED | EITHER


@pytest.mark.parametrize("spoil", WELL_MEANT.values(), ids=WELL_MEANT)
def test_what_is_well_meant_is_understood(spoil: Spoil) -> None:
    verdicts = read_answer(spoil(ENTRIES, random.Random(0)), IDS)
    assert {i: value for i, (value, _) in verdicts.items()} == RIGHT


@pytest.mark.parametrize("spoil", OUT_OF_RANGE.values(), ids=OUT_OF_RANGE)
def test_numbers_out_of_range_are_clamped(spoil: Spoil) -> None:
    for seed in range(20):
        verdicts = read_answer(spoil(ENTRIES, random.Random(seed)), IDS)
        assert all(value in (0.0, 1.0) for value, _ in verdicts.values())


@pytest.mark.parametrize("spoil", MALFORMED.values(), ids=MALFORMED)
def test_what_is_malformed_is_refused_in_a_sentence_and_at_once(spoil: Spoil) -> None:
    for seed in range(5):
        answer = spoil(ENTRIES, random.Random(seed))
        start = time.thread_time()
        with pytest.raises(BadAnswer) as refused:
            read_answer(answer, IDS)
        assert 0 < len(str(refused.value)) < 200
        assert time.thread_time() - start < 10


def test_explanations_are_bounded_and_hold_nothing_invisible() -> None:
    hostile = "a\x00b\u202ec\ud800d" + "x" * 10_000
    text = json.dumps([{"trajectory_id": "b2c3d", "score": 1, "explanation": hostile}])
    ((_, explanation),) = read_answer(text, ["b2c3d"]).values()
    assert explanation.startswith("a b c d")
    assert len(explanation) == LONGEST_EXPLANATION
    explanation.encode()


class Spoiling(Model):
    """A judge that spoils every answer in one way."""

    def __init__(self, spoil: Spoil, source: random.Random) -> None:
        self.name, self._spoil, self._source = "spoiling", spoil, source

    async def ask(self, messages: list[Message], schema: object) -> Answer:  # type: ignore[override]
        ids = [frame.group(2) for frame in FRAME.finditer(messages[1]["content"])]
        entries = [{"trajectory_id": i, "explanation": "", "score": 0.5} for i in ids]
        return Answer(self._spoil(entries, self._source))


async def judge_in_every_way(cases: int) -> int:
    """Put `cases` judgings to spoiling judges; returns how many failed."""
    source = random.Random(0)
    tries = group(*(trajectory(f"answer {i}", index=i) for i in range(3)))
    failed = 0
    for case in range(cases):
        spoil = list(EVERY.values())[case % len(EVERY)]
        try:
            scores = await ruler(tries, model=Spoiling(spoil, source), seed=str(case))
        except JudgeFailed:
            failed += 1
        else:
            assert len(scores) == 3
            assert all(0 <= score.value <= 1 for score in scores)
    return failed


async def test_no_answer_breaks_a_judging_or_leaves_the_range() -> None:
    assert len(EVERY) >= 40
    assert 1_000 < await judge_in_every_way(2_000) < 1_500


@pytest.mark.slow
async def test_ten_thousand_malformed_answers() -> None:
    assert 5_000 < await judge_in_every_way(10_000) < 7_500
