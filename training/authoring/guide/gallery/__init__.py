"""The gallery: what a new agent can begin as. Every module here with a CARD is a card; adding a file adds it.

A card's `make` writes the agent and all it comes with. It is called at once where that is a matter of rows,
at the desk where tables are stored; see `agent_views.py`.
"""

import importlib
import pkgutil
from functools import cache

from training.authoring.guide.gallery.card import Card

__all__ = ["Card", "card_called", "cards"]


@cache
def cards() -> tuple[Card, ...]:
    """All cards, in the order in which they are shown."""
    names = (module.name for module in pkgutil.iter_modules(__path__))
    modules = (importlib.import_module(f"{__name__}.{name}") for name in names)
    found = [module.CARD for module in modules if hasattr(module, "CARD")]
    return tuple(sorted(found, key=lambda card: card.place))


def card_called(slug: str) -> Card:
    """The card with this slug; KeyError if there is none."""
    return {card.slug: card for card in cards()}[slug]
