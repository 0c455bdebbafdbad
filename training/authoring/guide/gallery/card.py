"""What a card of the gallery says, and what it makes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from django.contrib.auth.models import User
from django.utils.functional import Promise

from training.models import Agent

Words: TypeAlias = str | Promise


@dataclass(frozen=True)
class Card:
    """`slug` is part of its address. `expected` and `minutes` are what somebody measured, or empty."""

    slug: str
    place: int
    """Cards are shown by this number, smallest first."""
    title: Words
    teaches: Words
    make: Callable[[User], Agent] | None = None
    """Writes the agent; None where a file is needed first."""
    minutes: Words = ""
    expected: Words = ""
    comes_with: Words = ""
    button: Words = ""
    at_the_desk: bool = False
    """Whether making it takes longer than a page should."""
    leads_to: str = "review"
    """The wizard's page to land on."""

    @property
    def takes_file(self) -> bool:
        return self.make is None
