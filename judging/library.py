"""What is used of the library that reaches language models; llm.py fills it in."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Library:
    """`errors` is the base class of everything it raises, `unknown` what it raises for unknown models."""

    complete: Callable[..., Awaitable[Any]]
    errors: type[Exception]
    price: Callable[..., tuple[float, float]]
    count: Callable[..., int]
    facts: Callable[[str], Mapping[str, Any]]
    unknown: type[Exception]
    client: Callable[..., Any]
    """OpenAI's own, for addresses that are reached through a door (guarded.py)."""

    def price_of(self, model: str, prompt_tokens: int, answer_tokens: int) -> float | None:
        """Dollars, None if nobody knows."""
        try:
            counts = {"prompt_tokens": prompt_tokens, "completion_tokens": answer_tokens}
            return sum(self.price(model=model, **counts))
        except (self.unknown, self.errors):
            return None
