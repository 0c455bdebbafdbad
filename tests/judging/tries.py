"""Builds tries and groups as the loop would hand them to a judge."""

import json
from typing import Any

from gpu_worker.types import Ended, Group, Message, Scenario, Score, Segment, ToolSpec, Trajectory

SYSTEM: Message = {"role": "system", "content": "You are the order desk of a shop."}
QUESTION: Message = {"role": "user", "content": "Where is my order 4128?"}
TOOL = ToolSpec(
    "find_orders",
    "Look up orders.",
    {"type": "object", "properties": {"column": {"type": "string"}, "value": {"type": "string"}}},
)
EXPECT = {
    "answer_has": [["shipped", "on its way"]],
    "answer_lacks": ["delivered"],
    "evidence": ["4128"],
    "calls": [{"name": "find_orders", "arguments": {"value": "4128"}}],
}


def lookup(value: str, result: str) -> list[Message]:
    function = {"name": "find_orders", "arguments": json.dumps({"column": "order_id", "value": value})}
    call = {"id": f"call-{value}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": result},
    ]


def trajectory(
    *said: Message | str, index: int = 0, ended: Ended = "answered", scores: tuple[Score, ...] = ()
) -> Trajectory:
    """A try that begins with the shared messages; a bare string is something the agent said."""
    spoken = [{"role": "assistant", "content": m} if isinstance(m, str) else m for m in said]
    messages = (SYSTEM, QUESTION, *spoken)
    return Trajectory(
        scenario_id="s1",
        index=index,
        messages=messages,
        segments=(Segment((1,), (0.0,), (False,)),),
        ended=ended,
        turns=sum(message["role"] == "assistant" for message in spoken),
        scores=scores,
    )


def good(answer: str = "Order 4128 is shipped.") -> Trajectory:
    return trajectory(*lookup("4128", "order_id: 4128; status: shipped"), answer)


def scenario(expect: dict[str, Any] | None = None) -> Scenario:
    return Scenario("s1", "train", (QUESTION,), EXPECT if expect is None else expect)


def group(*trajectories: Trajectory, expect: dict[str, Any] | None = None) -> Group:
    return Group(3, 5, scenario(expect), (TOOL,), trajectories)
