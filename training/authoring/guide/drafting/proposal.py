"""What a draft consists of, whoever wrote it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from training.authoring.toolbox.tools import Draft as ToolDraft


@dataclass(frozen=True)
class Proposal:
    """`texts` are fields of the agent; `themes` are what scenarios could be about, in a few words each."""

    texts: Mapping[str, str]
    tools: tuple[ToolDraft, ...] = ()
    themes: tuple[str, ...] = ()
    cost: float = 0.0
    """Dollars."""
    by: str = field(default="")
    """The language model that wrote it; empty for templates."""
