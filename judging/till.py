"""Where answers are paid: what one may cost at most is reserved before it is asked for, then settled."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gpu_worker.types import Message
from judging import offline
from judging.access import Access
from judging.library import Library
from judging.refusals import status
from judging.spending import Purse

ANSWER_TOKENS = 8192
"""The longest answer that a limited purse pays for; models that think aloud need room."""
COUNTING_ERROR = 1.25
"""Our count of a prompt's tokens may be short of the provider's by so much."""
MILLION = 1e6
Asking = dict[str, Any]
"""What goes with the messages: temperature, response_format, tools, max_tokens."""


class Unpriced(Exception):
    """A budget cannot be kept with this model."""


@dataclass
class Bill:
    """What an answer costs, in dollars; None where nobody knows. Until it is known, the most it may."""

    cost: float | None


class Till:
    """For one model and one purse. An error answer is free; silence may be billed and is paid in full."""

    def __init__(self, access: Access, purse: Purse) -> None:
        self.purse = purse
        self._access = access
        self._free = access.model == offline.MODEL

    def most(self, library: Library, messages: Sequence[Message], asking: Asking) -> tuple[int | None, float]:
        """Tokens an answer may have (None: as many as it likes), and dollars question and answer may cost.

        Only a limited purse bounds the answer. Raises Unpriced where the price is not known.
        """
        if not self.purse.limit or self._free:
            return asking.get("max_tokens"), 0.0
        name = self._access.model
        if self._price(library, 1, 1) is None:
            raise Unpriced(
                f"Nobody here knows the price of {name}, so the budget of ${self.purse.limit:.2f} cannot be "
                "kept. Choose a model whose price is known, say on the page of providers what it charges, or "
                "train without a budget."
            )
        answer_tokens = min(asking.get("max_tokens", ANSWER_TOKENS), self._longest(library))
        counted = library.count(model=name, messages=list(messages), tools=asking.get("tools"))
        prompt_tokens = int(COUNTING_ERROR * counted)
        return answer_tokens, self._price(library, prompt_tokens, answer_tokens) or 0.0

    async def reserve(self, most: float, seconds: float) -> None:
        """Take it from the purse, when others who have reserved too much have settled. Raises BudgetSpent."""
        patience = time.monotonic() + seconds
        while not self.purse.take(most):
            if time.monotonic() > patience:
                raise self.purse.give_up(most)
            await asyncio.sleep(0.05)

    @contextmanager
    def paying(self, library: Library, most: float) -> Iterator[Bill]:
        """Settle what was reserved, however the question ends; `receipt` says what an answer costs."""
        bill = Bill(most)
        try:
            yield bill
        except library.errors as error:
            bill.cost = most if status(error) == 408 else 0.0
            raise
        finally:
            self.purse.settle(most, bill.cost)

    def receipt(self, library: Library, response: Any, most: float) -> float | None:
        """Dollars, None if nobody knows. An answer that does not say how long it is costs the most."""
        if self._free:
            return 0.0
        usage = getattr(response, "usage", None)
        if usage is None:
            return most or None
        return self._price(library, usage.prompt_tokens, usage.completion_tokens)

    def _longest(self, library: Library) -> int:
        try:
            return min(ANSWER_TOKENS, int(library.facts(self._access.model)["max_output_tokens"]))
        except Exception:  # what it raises for a model that is not in its table is a bare Exception
            return ANSWER_TOKENS

    def _price(self, library: Library, prompt_tokens: int, answer_tokens: int) -> float | None:
        """What a person said goes before what the library knows."""
        if self._access.price is None:
            return library.price_of(self._access.model, prompt_tokens, answer_tokens)
        question, answer = self._access.price
        return (prompt_tokens * question + answer_tokens * answer) / MILLION
