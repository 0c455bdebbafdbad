"""What a language model said, and what that took."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Answer:
    """`cost` is in dollars, None where nobody knows the price; 0 for an answer kept from before."""

    text: str
    prompt_tokens: int = 0
    answer_tokens: int = 0
    cost: float | None = 0.0
    cached: bool = False
    tool_calls: tuple[tuple[str, str], ...] = ()
    """Name and arguments of each, as the provider wrote them."""
    finish: str = ""
    """Why it ended, in the provider's words: stop, tool_calls, length, …"""


def said(response: Any, cost: float | None) -> Answer:
    """A response in OpenAI's form, with whatever may be missing in it."""
    usage = getattr(response, "usage", None)
    asked, told = (int(getattr(usage, name, None) or 0) for name in ("prompt_tokens", "completion_tokens"))
    if not response.choices:
        return Answer("", asked, told, cost)
    choice = response.choices[0]
    functions = [call.function for call in getattr(choice.message, "tool_calls", None) or ()]
    calls = tuple((_sound(call.name), _sound(call.arguments)) for call in functions)
    text, finish = _sound(choice.message.content), str(choice.finish_reason or "")
    return Answer(text, asked, told, cost, tool_calls=calls, finish=finish)


def _sound(text: str | None) -> str:
    """Without halves of surrogate pairs, which no text has."""
    return (text or "").encode("utf-8", "replace").decode()
