"""What language models cost, read from the table that litellm carries, without loading litellm.

Pages that show an estimate need a price within milliseconds; importing the library takes seconds. What an
answer really cost is told by llm.py, which asks the library itself.
"""

import functools
import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path

from judging import offline

TABLE = "model_prices_and_context_window_backup.json"


@dataclass(frozen=True)
class Price:
    """Dollars per token of a question and of an answer."""

    question: float
    answer: float

    def of(self, question_tokens: float, answer_tokens: float) -> float:
        """Dollars of one question with its answer."""
        return question_tokens * self.question + answer_tokens * self.answer


def price_of(model: str) -> Price | None:
    """None if nobody here knows. The offline judge is free."""
    if model == offline.MODEL:
        return Price(0.0, 0.0)
    known = _table()
    provider, _, name = model.partition("/")
    return known.get(model) or (known.get(name) if provider else None)


@functools.cache
def _table() -> dict[str, Price]:
    found: dict[str, Price] = {}
    for model, facts in json.loads(_file().read_text(encoding="utf-8")).items():
        costs = (facts.get("input_cost_per_token"), facts.get("output_cost_per_token"))
        if all(isinstance(cost, int | float) for cost in costs):
            found[model] = Price(*map(float, costs))
    return found


def _file() -> Path:
    spec = importlib.util.find_spec("litellm")
    assert spec is not None and spec.submodule_search_locations, "litellm is one of our requirements"
    return Path(spec.submodule_search_locations[0]) / TABLE
