"""The errand "prompt": a prompt exactly as the model reads it, with its special tokens told apart.

Only the desk imports this: the tokenizer and chat template come with the engine. Of a model on the hub only
the files that say how it reads are fetched, never its weights.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, RepositoryNotFoundError

from gpu_worker.engines.embedded.chat import Chat
from gpu_worker.engines.embedded.directory import HUB_ID, ModelError, locate
from gpu_worker.environments import ENVIRONMENTS
from gpu_worker.types import Message, ToolSpec
from gpu_worker.types import Scenario as PlainScenario
from training.authoring.office.errands import Doing, Failed
from training.models import LIVING, Agent, Scenario
from training.runs import versions

READING = ("config.json", "generation_config.json", "tokenizer*.json", "*.jinja")
LONGEST = 200_000
"""Characters of a prompt that are kept to be shown; its tokens are counted whole."""

Piece = tuple[str, bool]
"""A part of the prompt, and whether it is a special token."""


def render(doing: Doing) -> dict[str, Any]:
    """{model, tokens, pieces: [[text, special], …], cut}. Raises Failed when the model cannot be read."""
    doing.progress(0, 1, _("Reading the model’s chat template"))
    return _rendered(doing)


def _rendered(doing: Doing) -> dict[str, Any]:
    agent = doing.agent
    chosen = doing.arguments.get("scenario")
    scenario = agent.scenarios.filter(LIVING, pk=chosen).first() if chosen else None
    try:
        chat = Chat(reading_directory(agent.base_model))
        text = chat.render(opening(agent, scenario), specs_of(agent, scenario))
    except ModelError as error:
        raise Failed(str(error)) from error
    pieces = pieces_of(text[:LONGEST], chat.specials)
    return {
        "model": agent.base_model,
        "tokens": len(chat.encode(text)),
        "pieces": [list(piece) for piece in pieces],
        "cut": len(text) > LONGEST,
    }


def opening(agent: Agent, scenario: Scenario | None) -> list[Message]:
    """The messages a try begins with, as `gpu_worker.rollout` puts them together."""
    world = ENVIRONMENTS.get(agent.environment)
    system = agent.system_prompt or (world.system_prompt if world else "")
    told = [{"role": "system", "content": system}] if system else []
    asked = scenario.messages if scenario else [{"role": "user", "content": "…"}]
    return [*told, *asked]


def specs_of(agent: Agent, scenario: Scenario | None) -> list[ToolSpec]:
    """What the model reads of the agent's tools: its own, or those its environment brings."""
    world = ENVIRONMENTS.get(agent.environment)
    if world is None:
        return [plan.spec for plan in versions.plans_now(agent)]
    plain = PlainScenario("prompt", "train", tuple(opening(agent, scenario)))
    return [tool.spec for tool in world.tools(plain)]


def reading_directory(model: str) -> Path:
    """Where a model's tokenizer and chat template lie. Raises ModelError."""
    if Path(model).expanduser().is_dir() or not HUB_ID.fullmatch(model):
        return locate(model)
    try:
        return Path(snapshot_download(model, allow_patterns=list(READING)))
    except (RepositoryNotFoundError, LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        told = {"model": model}
        raise ModelError(
            _("The chat template of %(model)s cannot be fetched: the model hub cannot be reached.") % told
        ) from error


def pieces_of(text: str, specials: Sequence[str]) -> list[Piece]:
    """The text cut at its special tokens; joined again it is the same text."""
    if not specials:
        return [(text, False)]
    longest_first = sorted(specials, key=len, reverse=True)
    parts = re.split("(" + "|".join(map(re.escape, longest_first)) + ")", text)
    return [(part, part in specials) for part in parts if part]
