"""How a language model is reached: plain data, made where keys are opened and used by llm.py."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from httpx import AsyncBaseTransport

BLANKED = "•••"
SHORTEST_BLANKED = 8
"""Characters of a key; shorter ones (as of servers that want none) would be blanked in half of all texts."""


@dataclass(frozen=True)
class Access:
    """`model` is litellm's name of it; the rest is empty where litellm and the environment know it."""

    model: str
    api_base: str = ""
    api_key: str = field(default="", repr=False)
    provider: str = ""
    """Models of one provider share its limit of questions at once; empty is what stands before the slash."""
    at_once: int = 16
    price: tuple[float, float] | None = None
    """Dollars per million tokens of question and of answer, where somebody said so."""
    title: str = ""
    """What it is called where people see it; empty is `model`."""
    door: Callable[[], AsyncBaseTransport] | None = None
    """Makes what connects to `api_base`, where a person named it; such models are custom_openai/… ones."""

    def blanked(self, text: str) -> str:
        """The text without the key: providers repeat it in their refusals, whole or cut in its middle."""
        key = self.api_key
        if len(key) < SHORTEST_BLANKED:
            return text
        begins, ends = re.escape(key[:6]), re.escape(key[-4:])
        return re.sub(rf"{begins}[^\s\"'<>]*(?:{ends})?", BLANKED, text.replace(key, BLANKED))
