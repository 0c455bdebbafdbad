"""RULER against a scripted provider: whatever it answers, each score reaches its own try or none does."""

import json
import random
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

from gpu_worker.types import Group, JudgeFailed, Trajectory
from judging import offline
from judging.llm import Model
from judging.ruler import judge_group, ruler
from tests.judging.provider import Provider, entries, fair, frames, marks, provider
from tests.judging.tries import good, group, trajectory

WORTH = (0.1, 0.9, 0.4, 0.7, 0.2)


@pytest_asyncio.fixture
async def judge() -> AsyncIterator[Provider]:
    async with provider() as there:
        yield there


def worth(*values: float) -> Group:
    return group(*(trajectory(f"worth {value}", index=i) for i, value in enumerate(values)))


async def values(judge: Provider, tries: Group) -> tuple[float, ...]:
    return tuple(score.value for score in await ruler(tries, model=judge.model(), seed="s"))


def scripted(
    change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]],
) -> Callable[[dict[str, Any]], str]:
    return lambda body: json.dumps({"scores": change(entries(body))})


HARMLESS: dict[str, Callable[[list[dict[str, Any]]], list[dict[str, Any]]]] = {
    "reversed": lambda e: e[::-1],
    "by score": lambda e: sorted(e, key=lambda one: one["score"]),
    "shuffled": lambda e: random.Random(1).sample(e, len(e)),
    "invented at the front": lambda e: [{"trajectory_id": "zzzzz", "explanation": "", "score": 1}, *e],
    "invented by number": lambda e: [
        *e,
        {"trajectory_id": "1", "score": 0.5},
        {"trajectory_id": 3, "score": 0.1},
    ],
}
HARMFUL: dict[str, Callable[[list[dict[str, Any]]], list[dict[str, Any]]]] = {
    "dropped": lambda e: e[1:],
    "all dropped": lambda e: [],
    "doubled": lambda e: [*e, e[0]],
    "doubled, another score": lambda e: [*e, e[0] | {"score": 1.0}],
    "doubled instead": lambda e: [e[0], *e[:-1]],
    "numbered instead": lambda e: [one | {"trajectory_id": str(i + 1)} for i, one in enumerate(e)],
    "invented instead": lambda e: [e[0] | {"trajectory_id": "zzzzz"}, *e[1:]],
    "no ids": lambda e: [{"score": one["score"]} for one in e],
}


@pytest.mark.parametrize("change", HARMLESS.values(), ids=HARMLESS)
async def test_scores_reach_their_own_try(judge: Provider, change: Any) -> None:
    judge.script = scripted(change)
    assert await values(judge, worth(*WORTH)) == WORTH
    assert len(judge.asked) == 1


@pytest.mark.parametrize("change", HARMFUL.values(), ids=HARMFUL)
async def test_an_unclear_answer_is_mended_once(judge: Provider, change: Any) -> None:
    judge.script = lambda body: scripted(change)(body) if len(judge.asked) == 1 else fair(body)
    assert await values(judge, worth(*WORTH)) == WORTH
    assert len(judge.asked) == 2
    assert [m["role"] for m in judge.asked[1]["messages"]] == ["system", "user", "assistant", "user"]
    assert judge.asked[1]["messages"][:2] == judge.asked[0]["messages"]


@pytest.mark.parametrize("change", HARMFUL.values(), ids=HARMFUL)
async def test_a_judge_that_stays_unclear_fails_after_one_repair_and_one_re_ask(
    judge: Provider, change: Any
) -> None:
    judge.script = scripted(change)
    with pytest.raises(JudgeFailed, match="could not be used"):
        await values(judge, worth(*WORTH))
    assert [len(body["messages"]) for body in judge.asked] == [2, 4, 2, 4]


async def test_the_re_ask_has_new_ids_and_its_answer_counts(judge: Provider) -> None:
    judge.script = lambda body: "I would rather not." if len(judge.asked) < 3 else fair(body)
    assert await values(judge, worth(*WORTH)) == WORTH
    assert len(judge.asked) == 3
    assert not set(frames(judge.asked[0])) & set(frames(judge.asked[2]))


async def test_the_same_group_and_seed_ask_the_same_to_the_letter(judge: Provider) -> None:
    first, second = worth(*WORTH), worth(*WORTH)
    await ruler(first, model=judge.model(), seed="s")
    await ruler(second, model=judge.model(), seed="s")
    await ruler(second, model=judge.model(), seed="other")
    same, again, other = (body["messages"] for body in judge.asked)
    assert same == again
    assert same[0] == other[0]
    assert not set(frames(judge.asked[0])) & set(frames(judge.asked[2]))


async def test_the_order_of_the_tries_is_shuffled(judge: Provider) -> None:
    orders = set()
    for seed in range(20):
        await ruler(worth(*WORTH), model=judge.model(), seed=str(seed))
        orders.add(tuple(marks(judge.asked[-1]).values()))
    assert len(orders) > 10


async def test_identical_tries_are_shown_once_and_score_the_same(judge: Provider) -> None:
    assert await values(judge, worth(0.3, 0.8, 0.3, 0.3)) == (0.3, 0.8, 0.3, 0.3)
    assert len(frames(judge.asked[0])) == 2


async def test_a_try_that_said_nothing_is_still_judged(judge: Provider) -> None:
    judge.script = lambda body: json.dumps({"scores": {i: 0.5 for i in frames(body)}})
    silent: Trajectory = trajectory(ended="context_overflow")
    assert await values(judge, group(silent, good())) == (0.5, 0.5)


async def test_no_tries_need_no_judge(judge: Provider) -> None:
    assert await ruler(group(), model=judge.model()) == []
    assert judge.asked == []


async def test_rubric_and_tools_come_first_and_the_rubric_can_be_ones_own(judge: Provider) -> None:
    await ruler(worth(*WORTH), model=judge.model(), rubric="Politeness above all.")
    system, user = (message["content"] for message in judge.asked[0]["messages"])
    assert "Politeness above all." in system
    assert user.startswith('tool "find_orders"')
    assert user.index("Where is my order") < user.index("<try-")


@pytest.mark.parametrize(
    ("said", "value"), [(-7, 0.0), (15, 1.0), (1.0001, 1.0), ("0.5", 0.5), (10**400, None)]
)
async def test_numbers_are_clamped_and_anything_else_is_sent_back(
    judge: Provider, said: Any, value: Any
) -> None:
    judge.script = scripted(lambda e: [one | {"score": said} for one in e])
    if value is None:
        with pytest.raises(JudgeFailed):
            await values(judge, worth(0.1, 0.2))
    else:
        assert await values(judge, worth(0.1, 0.2)) == (value, value)


async def test_a_scenarios_groups_share_the_beginning_of_their_prompts(judge: Provider) -> None:
    """What is the same for a whole run comes first, to the letter, for providers that keep what they read."""
    await ruler(worth(0.1, 0.9), model=judge.model(), seed="a")
    await ruler(worth(0.2, 0.8, 0.5), model=judge.model(), seed="b")
    first, second = (body["messages"] for body in judge.asked)
    assert first[0] == second[0]
    kept = first[1]["content"].index("user: ")
    assert first[1]["content"][:kept] == second[1]["content"][:kept]


async def test_sixteen_tries_are_two_questions_at_once_that_share_two(judge: Provider) -> None:
    judge.pause = 0.05
    scores = [round(0.03 + 0.06 * n, 2) for n in range(16)]
    judgement = await judge_group(worth(*scores), model=judge.model(), seed="s")
    assert [score.value for score in judgement.scores] == pytest.approx(scores)
    seen = [set(marks(body).values()) for body in judge.asked]
    assert [len(one) for one in seen] == [9, 9]
    assert len(seen[0] & seen[1]) == 2
    assert judge.most_busy == 2
    assert judgement.judging.calls == 2


async def test_two_questions_scales_are_joined(judge: Provider) -> None:
    """The second judge gives everybody 0.2 less; on one scale the order of all sixteen is right again."""
    first: list[str] = []

    def script(body: dict[str, Any]) -> str:
        first[:] = first or [body["messages"][1]["content"]]
        less = 0.0 if body["messages"][1]["content"] == first[0] else 0.2
        return json.dumps({"scores": [one | {"score": one["score"] - less} for one in entries(body)]})

    judge.script = script
    scores = [round(0.25 + 0.04 * n, 2) for n in range(16)]
    judgement = await judge_group(worth(*scores), model=judge.model(), seed="s")
    assert [score.value + 0.1 for score in judgement.scores] == pytest.approx(scores)


async def test_one_question_of_two_that_fails_loses_the_group(judge: Provider) -> None:
    judge.script = lambda body: fair(body) if len(judge.asked) == 1 else "no"
    with pytest.raises(JudgeFailed):
        await judge_group(worth(*(n / 20 for n in range(16))), model=judge.model(), seed="s")


def _favours_first(body: dict[str, Any]) -> str:
    """The first of the tries gets 0.04 more than it is worth."""
    first, *others = entries(body)
    return json.dumps({"scores": [first | {"score": first["score"] + 0.04}, *others]})


async def test_close_scores_are_judged_again_in_reverse_order_and_averaged(judge: Provider) -> None:
    judge.script = _favours_first
    judgement = await judge_group(worth(0.5, 0.501), model=judge.model(), seed="s", second_look=0.05)
    assert [score.value for score in judgement.scores] == pytest.approx([0.52, 0.521])
    one, other = (list(marks(body).values()) for body in judge.asked)
    assert one == other[::-1]
    assert not set(frames(judge.asked[0])) & set(frames(judge.asked[1]))
    assert judgement.judging.second_look
    assert (judgement.judging.calls, judgement.judging.prompt_tokens) == (2, 2)


async def test_clear_scores_are_judged_once(judge: Provider) -> None:
    judgement = await judge_group(worth(*WORTH), model=judge.model(), seed="s", second_look=0.05)
    assert not judgement.judging.second_look
    assert len(judge.asked) == 1


async def test_a_second_look_that_fails_leaves_the_first(judge: Provider) -> None:
    judge.script = lambda body: fair(body) if len(judge.asked) == 1 else "no"
    judgement = await judge_group(worth(0.5, 0.51), model=judge.model(), seed="s", second_look=0.05)
    assert [score.value for score in judgement.scores] == [0.5, 0.51]
    assert not judgement.judging.second_look
    assert judgement.judging.calls == 5


async def test_the_offline_judge_sees_all_at_once_and_never_twice() -> None:
    model = Model(offline.MODEL)
    judgement = await judge_group(worth(*(n / 20 for n in range(16))), model=model, seed="s", second_look=0.5)
    assert judgement.judging.calls == 1
    assert len(judgement.scores) == 16


async def test_explanations_name_tries_by_their_number(judge: Provider) -> None:
    def script(body: dict[str, Any]) -> str:
        ids = {value: i for i, value in marks(body).items()}
        said = [one | {"explanation": f"Beaten by {ids[0.9]}; see try {ids[0.1]}."} for one in entries(body)]
        return json.dumps({"scores": said})

    judge.script = script
    judgement = await judge_group(worth(0.1, 0.9), model=judge.model(), seed="s")
    assert judgement.scores[0].explanation == "Beaten by try 2; see try 1."
