"""Plays rounds of groups in this very process, with one engine.

The same rounds in processes of their own are played by `crew.py`, whose processes each use this one.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from torch import Tensor

from gpu_worker.rollout import play_group
from gpu_worker.types import Engine, Environment, Group, Job, Place, Scenario


class Local:
    """Implements types.Players."""

    def __init__(self, job: Job, environment: Environment, engine: Engine) -> None:
        self.job, self.environment, self.engine = job, environment, engine
        self.step = 0

    def play(
        self, round_: Sequence[tuple[Scenario, Place]], tries: int, on_try: Callable[[], None]
    ) -> list[asyncio.Task[Group]]:
        return [asyncio.create_task(self._group(*one, tries, on_try)) for one in round_]

    async def use(self, weights: Mapping[str, Tensor], step: int) -> None:
        self.engine.adopt(weights)
        self.step = step

    async def _group(self, scenario: Scenario, place: Place, tries: int, on_try: Callable[[], None]) -> Group:
        """A group whose tries say which weights sampled them."""
        policy_step = self.step
        group = await play_group(
            self.engine, self.environment, self.job, scenario, place, tries=tries, on_try=on_try
        )
        told = tuple(replace(t, policy_step=policy_step) for t in group.trajectories)
        return replace(group, trajectories=told)
