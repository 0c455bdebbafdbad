"""Sentences of the engine room, for templates."""

from django import template

from training import phrasebook

register = template.Library()


@register.filter
def said(text: str) -> str:
    """The sentence in the reader's language."""
    return phrasebook.said(str(text))


@register.filter
def reasons(text: str) -> str:
    """Reasons that stand beside a score, in the reader's language."""
    return phrasebook.reasons(str(text))
