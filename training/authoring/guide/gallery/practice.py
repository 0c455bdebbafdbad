"""Scenarios of an environment that comes with ArtWeb, as rows of an agent."""

from collections.abc import Mapping
from typing import cast

from gpu_worker.types import Environment, Split
from training.models import Agent, Scenario


def practice(agent: Agent, environment: Environment, counts: Mapping[str, int]) -> list[Scenario]:
    """So many scenarios of each split, the same ones every time."""
    return [
        Scenario(
            agent=agent,
            key=scenario.id,
            split=split,
            messages=list(scenario.messages),
            expect=scenario.expect,
            tags=list(scenario.tags),
            kind=scenario.tags[0] if scenario.tags else "",
            source="template",
        )
        for split, count in counts.items()
        for scenario in environment.scenarios(cast(Split, split), count, seed=0)
    ]
