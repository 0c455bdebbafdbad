"""Playing tries: what is recorded as tokens and messages, and every way a try can end."""

import asyncio
import json
import threading
from typing import Any

import pytest

from gpu_worker.rollout import MAX_CALLS, MAX_NOTE, MAX_RESULT, _answered, at_once, play, play_group
from gpu_worker.types import Completion, Job, Place, Tool, ToolSpec, Trajectory
from tests.gpu_worker.scripted import EchoRoom, Script, ScriptedEngine, calls, ids_of, says

JOB = Job(run="r", environment="echo_room", max_turns=3, max_context=400)
ROOM = EchoRoom()
(SCENARIO,) = ROOM.scenarios("train", 1, 0)
PLACE = Place("train", 4, 2)


async def played(script: Script, job: Job = JOB) -> Trajectory:
    engine = ScriptedEngine(script)
    trajectory = await play(engine, ROOM, job, SCENARIO, PLACE, 1)
    assert engine.released == ["train/4/2/1"]
    return trajectory


def in_turn(*completions: Completion) -> Script:
    return lambda turn, sampling: completions[turn]


async def test_a_try_with_a_tool_call_is_one_segment_in_which_only_sampled_tokens_count() -> None:
    script = in_turn(says("call", tool_calls=(calls("echo", text="hey"),)), says("done"))
    trajectory = await played(script)
    assert (trajectory.ended, trajectory.note, trajectory.turns) == ("answered", "", 2)
    assert [message["role"] for message in trajectory.messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    call, result = trajectory.messages[2]["tool_calls"][0], trajectory.messages[3]
    assert json.loads(call["function"]["arguments"]) == {"text": "hey"}
    assert (result["tool_call_id"], result["content"]) == (call["id"], "hey")
    (segment,) = trajectory.segments
    assert segment.ids == ids_of("question 0" + "call" + "hey" + "done")
    assert bytes(t for t, m in zip(segment.ids, segment.mask, strict=True) if m) == b"calldone"
    assert [x for x, m in zip(segment.logprobs, segment.mask, strict=True) if m] == [-0.5] * 8
    assert {x for x, m in zip(segment.logprobs, segment.mask, strict=True) if not m} == {0.0}


async def test_a_rewritten_history_starts_a_new_segment() -> None:
    second = says("done", prompt_ids=ids_of("another history"))
    trajectory = await played(in_turn(says("call", tool_calls=(calls("echo", text="hey"),)), second))
    first, later = trajectory.segments
    assert first.ids == ids_of("question 0call")
    assert later.ids == ids_of("another historydone")
    assert later.mask == (False,) * 15 + (True,) * 4


async def test_a_refusing_tool_is_heard_by_the_model_and_the_try_goes_on() -> None:
    trajectory = await played(in_turn(says("c", tool_calls=(calls("echo", text="no"),)), says("sorry")))
    assert trajectory.ended == "answered"
    assert trajectory.messages[3]["content"] == "Error: that is not said here"


async def test_a_long_tool_result_is_cut() -> None:
    job = Job(run="r", environment="echo_room", max_context=100_000)
    long = says("c", tool_calls=(calls("echo", text="x" * (MAX_RESULT + 7)),))
    trajectory = await played(in_turn(long, says("done")), job)
    assert trajectory.messages[3]["content"] == "x" * MAX_RESULT + "… (7 more characters)"


@pytest.mark.parametrize(
    ("completion", "ended", "note"),
    [
        (says("<tool", problem="the arguments are not JSON"), "malformed_call", "the arguments are not JSON"),
        (says("c", tool_calls=(calls("drop_table"),)), "unknown_tool", "there is no tool 'drop_table'"),
        (says("blah", finish="length"), "cut_off", "a turn reached its 4 tokens"),
        (says("", finish="context"), "context_overflow", "does not fit"),
        (says("bl", finish="context"), "context_overflow", "does not fit"),
        (
            says("c", tool_calls=(calls("echo"),) * (MAX_CALLS + 1)),
            "malformed_call",
            "tool calls in one turn",
        ),
    ],
)
async def test_a_try_ends_with_a_recorded_reason(completion: Completion, ended: str, note: str) -> None:
    trajectory = await played(in_turn(completion))
    assert trajectory.ended == ended
    assert note in trajectory.note


async def test_a_try_without_an_answer_ends_after_max_turns() -> None:
    trajectory = await played(lambda turn, _: says("c", tool_calls=(calls("echo", text="a"),)))
    assert (trajectory.ended, trajectory.turns) == ("too_many_turns", 3)


async def test_a_try_that_used_up_its_context_ends() -> None:
    script: Script = lambda turn, _: says("c" * 200, tool_calls=(calls("echo", text="a"),))  # noqa: E731
    assert (await played(script)).ended == "context_overflow"


async def test_a_note_is_bounded_whatever_the_agent_says() -> None:
    trajectory = await played(in_turn(says("c", tool_calls=(calls("x" * 10_000),))))
    assert len(trajectory.note) < MAX_NOTE + 40


async def test_a_conversation_that_never_fit_has_no_segment() -> None:
    trajectory = await played(in_turn(says("", finish="context")))
    assert trajectory.segments == ()


async def test_every_try_and_turn_has_its_own_seed_and_the_same_one_again() -> None:
    seeds = []
    for _ in range(2):
        engine = ScriptedEngine(in_turn(says("c", tool_calls=(calls("echo", text="a"),)), says("done")))
        group = await play_group(engine, ROOM, JOB, SCENARIO, PLACE, tries=4)
        assert [trajectory.index for trajectory in group.trajectories] == [0, 1, 2, 3]
        assert (group.step, group.index, group.tools[0].name) == (4, 2, "echo")
        seeds.append(engine.seeds)
    assert seeds[0] == seeds[1]
    assert len(set(seeds[0])) == 8


async def test_seeds_do_not_depend_on_the_name_of_the_run_but_on_its_seed() -> None:
    async def seeds(job: Job) -> list[int]:
        engine = ScriptedEngine(in_turn(says("done")))
        await play_group(engine, ROOM, job, SCENARIO, PLACE, tries=2)
        return engine.seeds

    one = await seeds(Job(run="one", environment="echo_room", seed=3))
    assert await seeds(Job(run="two", environment="echo_room", seed=3)) == one
    assert await seeds(Job(run="one", environment="echo_room", seed=4)) != one


async def test_an_error_in_one_try_cancels_the_others_and_is_raised_itself() -> None:
    cancelled = []

    async def waits() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async def fails() -> None:
        await asyncio.sleep(0)
        raise RuntimeError("the engine broke")

    with pytest.raises(RuntimeError, match="the engine broke"):
        await at_once([waits(), fails(), waits()])
    assert cancelled == [True, True]


async def test_many_tools_that_wait_wait_at_once() -> None:
    """A barrier that all must reach: it only opens if every call has a thread of its own."""
    together = threading.Barrier(24, timeout=20)

    def wait_for_the_others(arguments: dict[str, Any]) -> str:
        together.wait()
        return "all here"

    tool = Tool(ToolSpec("wait", "", {"type": "object", "properties": {}}), wait_for_the_others, waits=True)
    answers = await asyncio.gather(*(_answered(tool, {}) for _ in range(24)))
    assert set(answers) == {"all here"}
