"""Replies of outside models as turns of an agent."""

import pytest

from gpu_worker.types import Sampling, ToolSpec
from judging.agents import Outsider, read_calls
from judging.llm import Answer
from tests.judging.provider import provider

TOOL = ToolSpec("find", "Finds.", {"type": "object", "properties": {}})
ASKED = [{"role": "user", "content": "Where?"}]


def test_calls_get_ids_of_our_own() -> None:
    calls, problem = read_calls(Answer("", tool_calls=(("find", '{"id": 7}'), ("find", ""))), turn=2)
    assert problem is None
    assert [(call.id, call.name, call.arguments) for call in calls] == [
        ("call_2_0", "find", {"id": 7}),
        ("call_2_1", "find", {}),
    ]


@pytest.mark.parametrize("arguments", ["{", "[1]", "7", "null", '"text"', "[" * 100_000])
def test_arguments_that_are_no_object_are_a_problem_and_no_call(arguments: str) -> None:
    calls, problem = read_calls(Answer("", tool_calls=(("find", "{}"), ("find", arguments))), turn=0)
    assert calls == () and problem is not None and "not a JSON object" in problem


async def test_what_a_conversation_took_is_summed_and_forgotten() -> None:
    async with provider() as there:
        there.script = lambda body: "There."
        engine = Outsider(there.model())
        sampling = Sampling(temperature=0.5, max_tokens=33)
        for _turn in range(2):
            said = await engine.chat(ASKED, [TOOL], sampling, conversation="one")
        assert (said.text, said.tool_calls, said.finish, said.problem) == ("There.", (), "stop", None)
        assert [(body["max_tokens"], body["temperature"]) for body in there.asked] == [(33, 0.5)] * 2
        assert there.asked[0]["tools"][0]["function"]["name"] == "find"
    assert engine.spent("one").tokens == 2 and engine.spent("one").tokens == 0


async def test_without_tools_none_are_offered() -> None:
    async with provider() as there:
        there.script = lambda body: "There."
        await Outsider(there.model()).chat(ASKED, [], Sampling())
        assert "tools" not in there.asked[0]
