"""A try that did nothing is slipped in: it looks like the others, must not win, and never comes back."""

import json
from typing import Any

import pytest

from gpu_worker.types import Job, JudgeFailed, Score
from judging.control import ControlWon, with_control, without_control
from judging.judge import judge_for
from judging.prompt import FRAME
from tests.judging.provider import provider
from tests.judging.test_judge import Desk, job, wrong
from tests.judging.tries import good, group, trajectory


def scores(*values: float) -> list[Score]:
    return [Score("ruler", value) for value in values]


def test_it_begins_like_the_others_and_does_nothing() -> None:
    said = set()
    for seed in range(20):
        tries = group(good(), wrong())
        control = with_control(tries, str(seed)).trajectories[-1]
        assert control.messages[:-1] == tries.trajectories[0].messages[:2]
        assert (control.ended, control.turns, control.index) == ("answered", 1, 2)
        said.add(control.messages[-1]["content"] == "")
        assert with_control(tries, str(seed)) == with_control(tries, str(seed))
    assert said == {True, False}


def test_it_has_the_same_kinds_of_facts_all_of_them_bad() -> None:
    checked = trajectory("ok", scores=(Score("checks", 1.0, "fine"),))
    assert [
        (s.source, s.value) for s in with_control(group(checked, checked), "").trajectories[-1].scores
    ] == [("checks", 0.0)]
    bare = trajectory("ok")
    assert with_control(group(bare, bare), "").trajectories[-1].scores == ()


@pytest.mark.parametrize(
    ("real", "control", "caught"),
    [
        ((0.9, 0.5, 0.4), 0.1, False),
        ((0.9, 0.5, 0.4), 0.45, False),
        ((0.9, 0.5, 0.4), 0.51, True),
        ((0.9, 0.5, 0.4), 0.95, True),
        ((0.5, 0.5, 0.5), 0.5, True),
        ((0.0, 0.0, 0.0), 0.1, False),
        ((0.0, 0.0, 0.0), 0.21, True),
    ],
)
def test_who_prefers_nothing_to_something_is_not_believed(
    real: tuple[float, ...], control: float, caught: bool
) -> None:
    if caught:
        with pytest.raises(ControlWon, match="did nothing"):
            without_control(scores(*real, control))
    else:
        assert without_control(scores(*real, control)) == scores(*real)


def answering(favour_control: bool) -> Any:
    def script(body: dict[str, Any]) -> str:
        """A judge that goes by how short a try is: the control is the shortest, or the longest, of all."""
        text = body["messages"][1]["content"]
        found = {}
        for frame in FRAME.finditer(text):
            end = text.index(f"\n</try-{frame.group(1)}>", frame.start())
            found[frame.group(2)] = "shipped" in text[frame.start() : end]
        told = [
            {"trajectory_id": i, "explanation": "", "score": 0.1 if real == favour_control else 0.9}
            for i, real in found.items()
        ]
        return json.dumps({"scores": told})

    return script


async def test_a_judge_that_prefers_nothing_loses_the_group_and_an_honest_one_keeps_it() -> None:
    wanted = job(judge_model="openai/scripted", control=True, second_look=0.0)
    tries = group(good(), good("It is shipped."))
    async with provider() as there:
        there.script = answering(favour_control=True)
        with pytest.raises(JudgeFailed, match="a try that did nothing 0.90; the real ones have 0.10"):
            await judge_for(wanted, Desk(), access=there.access())(tries)
        there.script = answering(favour_control=False)
        judged = await judge_for(wanted, Desk(), access=there.access())(tries)
        assert len(list(FRAME.finditer(there.asked[-1]["messages"][1]["content"]))) == 3
    assert len(judged.trajectories) == 2 and judged.rewards == (0.9, 0.9)


async def test_the_offline_judge_is_never_fooled() -> None:
    wanted = Job(run="r", environment="desk", control=True)
    for seed in range(10):
        tries = group(
            good(), wrong(), trajectory("no idea", index=2), trajectory("x", index=3, ended="cut_off")
        )
        judged = await judge_for(Job(**{**wanted.__dict__, "seed": seed}), Desk())(tries)
        assert len(judged.trajectories) == 4
