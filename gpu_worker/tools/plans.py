"""Reading the settings of a tool's plan, and what is wrong with them: said when the tool is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class PlanError(ValueError):
    """A tool cannot be made of its plan; the sentence says what to change."""


def text_of(settings: Mapping[str, Any], name: str) -> str:
    """A text without space around it; "" if it is not there. Raises PlanError for anything else."""
    value = settings.get(name)
    if value is not None and not isinstance(value, str):
        raise PlanError(f"{name} must be a text.")
    return (value or "").strip()


def record_of(settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    """{name: value, …}; {} if it is not there. Raises PlanError for anything else."""
    value = settings.get(name)
    if value is not None and not isinstance(value, Mapping):
        raise PlanError(f"{name} must be names with values.")
    return dict(value or {})


def list_of(settings: Mapping[str, Any], name: str) -> list[Any]:
    """[] if it is not there. Raises PlanError for anything else that is not a list."""
    value = settings.get(name)
    if value is not None and not isinstance(value, list | tuple):
        raise PlanError(f"{name} must be a list.")
    return list(value or ())


def one_of(settings: Mapping[str, Any], name: str, allowed: tuple[str, ...]) -> str:
    """One of a few words; the first if it is not there. Raises PlanError for anything else."""
    value = text_of(settings, name) or allowed[0]
    if value not in allowed:
        raise PlanError(f"{name} must be one of {', '.join(allowed)}.")
    return value
