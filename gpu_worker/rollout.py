"""Plays tries: the agent speaks, its tool calls are answered, until it answers or the try ends otherwise.

Token-in token-out: the ids the engine sampled are the record, nothing is ever tokenised again. Whatever
the agent does ends up in `Trajectory.ended` and `note`, never as an exception; only an engine or tool
that is itself broken raises. Who scores a try, and which tries are played, is left to others.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from gpu_worker.seeds import seed_for
from gpu_worker.types import (
    Completion,
    Ended,
    Engine,
    Environment,
    Group,
    Job,
    Message,
    Place,
    Sampling,
    Scenario,
    Segment,
    Tool,
    ToolCall,
    ToolError,
    Trajectory,
)

T = TypeVar("T")

MAX_RESULT = 4000
"""Characters of a tool result that the model sees."""
MAX_CALLS = 8
"""Tool calls in one turn."""
MAX_NOTE = 300
"""Characters of a note: it may quote what the agent said."""


async def play_group(
    engine: Engine,
    environment: Environment,
    job: Job,
    scenario: Scenario,
    place: Place,
    *,
    tries: int,
    on_try: Callable[[], None] = lambda: None,
) -> Group:
    """All tries at one scenario, played at once; `on_try` is called as each of them ends."""

    async def one(index: int) -> Trajectory:
        trajectory = await play(engine, environment, job, scenario, place, index)
        on_try()
        return trajectory

    specs = tuple(tool.spec for tool in environment.tools(scenario))
    trajectories = await at_once([one(index) for index in range(tries)])
    return Group(place.step, place.index, scenario, specs, tuple(trajectories))


async def at_once(coroutines: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Their results in order. When one raises, the others are cancelled before the error goes on."""
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def play(
    engine: Engine, environment: Environment, job: Job, scenario: Scenario, place: Place, index: int
) -> Trajectory:
    """One try, from the first turn to its end."""
    conversation = f"{place.purpose}/{place.step}/{place.index}/{index}"
    tools = {tool.spec.name: tool for tool in environment.tools(scenario)}
    specs = tuple(tool.spec for tool in tools.values())
    transcript = _Transcript(_opening(environment, job, scenario))
    try:
        for turn in range(job.max_turns):
            seed = seed_for(job.seed, place.purpose, place.step, place.index, index, turn)
            sampling = Sampling(temperature=job.temperature, max_tokens=job.max_tokens, seed=seed)
            completion = await engine.chat(
                transcript.messages, specs, sampling, conversation=conversation, seen=transcript.seen
            )
            transcript.add(completion)
            ending = _ending(completion, tools)
            if ending is None:
                await _answer_calls(transcript, completion.tool_calls, tools)
                ending = _used_up(transcript, job)
            if ending is not None:
                return transcript.ended(scenario, index, *ending)
        too_many = f"no answer after {job.max_turns} turns"
        return transcript.ended(scenario, index, "too_many_turns", too_many)
    finally:
        engine.release(conversation)


def _opening(environment: Environment, job: Job, scenario: Scenario) -> list[Message]:
    system = job.system_prompt or environment.system_prompt
    return [*([{"role": "system", "content": system}] if system else []), *scenario.messages]


def _ending(completion: Completion, tools: dict[str, Tool]) -> tuple[Ended, str] | None:
    """Why the try is over after this turn, or None when there are tool calls to answer."""
    unknown = [call.name for call in completion.tool_calls if call.name not in tools]
    if completion.finish == "context":
        return "context_overflow", "the conversation does not fit into the model's context"
    if completion.finish == "length":
        return "cut_off", f"a turn reached its {len(completion.token_ids)} tokens"
    if completion.problem is not None:
        return "malformed_call", completion.problem
    if unknown:
        return "unknown_tool", f"there is no tool {unknown[0]!r}"
    if len(completion.tool_calls) > MAX_CALLS:
        return "malformed_call", f"{len(completion.tool_calls)} tool calls in one turn; {MAX_CALLS} at most"
    return None if completion.tool_calls else ("answered", "")


async def _answer_calls(transcript: "_Transcript", calls: Sequence[ToolCall], tools: dict[str, Tool]) -> None:
    for call in calls:
        result = await _answered(tools[call.name], call.arguments)
        transcript.messages.append(
            {
                "role": "tool",
                "tool_call_id": call.id,
                "name": call.name,
                "content": bounded(result, MAX_RESULT),
            }
        )


async def _answered(tool: Tool, arguments: dict[str, Any]) -> str:
    try:
        return await _in_a_thread(tool, arguments) if tool.waits else tool.call(arguments)
    except ToolError as error:
        return f"Error: {error}"


async def _in_a_thread(tool: Tool, arguments: dict[str, Any]) -> str:
    """One thread a call: tools that wait cost nothing meanwhile, and the loop's own threads are few."""
    thread = ThreadPoolExecutor(max_workers=1)
    try:
        return await asyncio.get_running_loop().run_in_executor(thread, tool.call, arguments)
    finally:
        thread.shutdown(wait=False)


def _used_up(transcript: "_Transcript", job: Job) -> tuple[Ended, str] | None:
    if len(transcript.seen) < job.max_context:
        return None
    return "context_overflow", f"the try used all of its {job.max_context} tokens"


def bounded(text: str, length: int) -> str:
    """`text`, or its beginning and a remark that there was more."""
    return text if len(text) <= length else f"{text[:length]}… ({len(text) - length} more characters)"


def assistant_message(completion: Completion) -> Message:
    """A turn of the agent in OpenAI's form."""
    message: Message = {"role": "assistant", "content": completion.text}
    if completion.tool_calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
            }
            for call in completion.tool_calls
        ]
    return message


@dataclass
class _Transcript:
    """A try so far, as messages and as tokens."""

    messages: list[Message]
    seen: tuple[int, ...] = ()
    turns: int = 0
    segments: list[Segment] = field(default_factory=list)

    def add(self, completion: Completion) -> None:
        """Append a turn. Where the prompt does not extend what was seen, a new segment begins."""
        prompt, sampled = completion.prompt_ids, completion.token_ids
        if completion.text or completion.tool_calls or sampled:
            self.messages.append(assistant_message(completion))
            self.turns += 1
        if not sampled:
            return
        goes_on = bool(self.segments) and prompt[: len(self.seen)] == self.seen
        before = self.segments.pop() if goes_on else Segment((), (), ())
        given = prompt[len(before.ids) :]
        self.segments.append(
            Segment(
                before.ids + given + sampled,
                before.logprobs + (0.0,) * len(given) + completion.logprobs,
                before.mask + (False,) * len(given) + (True,) * len(sampled),
            )
        )
        self.seen = prompt + sampled

    def ended(self, scenario: Scenario, index: int, ended: Ended, note: str) -> Trajectory:
        return Trajectory(
            scenario_id=scenario.id,
            index=index,
            messages=tuple(self.messages),
            segments=tuple(self.segments),
            ended=ended,
            note=bounded(note, MAX_NOTE),
            turns=self.turns,
        )
