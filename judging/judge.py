"""The judge a run is given: every source of scores is asked and kept; one, or a mix, is the reward."""

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path

from gpu_worker.types import VERIFIABLE, Environment, Group, Job, Judge, Scenario, Score, Source, Trajectory
from judging import offline
from judging.access import Access
from judging.checks import PASSED, check
from judging.control import with_control, without_control
from judging.llm import Model
from judging.mix import SOURCES, NothingToMix, complaint, with_mix
from judging.ruler import judge_group
from judging.spending import Purse

REWARDS: tuple[Source, ...] = ("ruler", "checks", "environment", "mix")
"""Scores that can be the reward of a run."""
WRONG_TABLES_SHARE = 0.5
"""Of its passed checks a try keeps this share that leaves the tables other than expected."""


def judge_for(
    job: Job,
    environment: Environment,
    *,
    access: Access | None = None,
    purse: Purse | None = None,
    kept: Path | None = None,
) -> Judge:
    """A judge for the groups of `job`, paid from `purse`. Raises ValueError if its reward can never be had.

    `access` says how job.judge_model is reached, where the environment does not; `kept` is a directory of
    answers that are not paid again.

    Groups of one (evaluation) are rewarded by the verifiable score, without an LLM, wherever there is one.
    The judge raises BudgetSpent before it asks a question that the purse might not be able to pay.
    """
    _refuse_missing_reward(job)
    model = None
    if _asks_ruler(job):
        model = Model(access or job.judge_model, purse=purse, kept=kept)
        model.get_ready()

    async def judge(group: Group) -> Group:
        tries = [verify(group.scenario, trajectory, environment) for trajectory in group.trajectories]
        group = dataclasses.replace(group, trajectories=tuple(tries))
        verifiable = len(tries) == 1 and _verifiable(tries[0]) is not None
        if verifiable and job.reward in ("ruler", "mix"):
            return _rewarded(group, None)
        if model is not None:
            group = await _ruled(group, job, model)
        if job.reward == "mix":
            group = _mixed(group, job.mix)
        return _rewarded(group, job.reward, _title(model, job))

    return judge


async def _ruled(group: Group, job: Job, model: Model) -> Group:
    """The group with RULER's scores and what they took; a control is judged among the tries if wanted."""
    seed = f"{job.seed}/{group.step}/{group.index}"
    controlled = job.control and len(group.trajectories) > 1
    with model.sitting():
        judged = await judge_group(
            with_control(group, seed) if controlled else group,
            model=model,
            rubric=group.scenario.rubric or job.rubric,
            seed=seed,
            second_look=job.second_look,
        )
        scores = without_control(judged.scores) if controlled else judged.scores
    tries = [_with(trajectory, score) for trajectory, score in zip(group.trajectories, scores, strict=True)]
    return dataclasses.replace(group, trajectories=tuple(tries), judging=judged.judging)


def _mixed(group: Group, weights: Mapping[str, float]) -> Group:
    try:
        return with_mix(group, weights)
    except NothingToMix:
        named = " and ".join(source for source in SOURCES if weights.get(source))
        raise ValueError(
            f"The reward of this run is mixed from {named}, but scenario {group.scenario.id} gives none."
        ) from None


def _asks_ruler(job: Job) -> bool:
    return job.reward == "ruler" or (job.reward == "mix" and bool(job.mix.get("ruler")))


def _title(model: Model | None, job: Job) -> str:
    """Who gives the reward, for display."""
    if model is None:
        return job.reward
    return model.access.title or judge_title(model.name)


def judge_title(model: str) -> str:
    """What a judge is called where people see it."""
    return offline.TITLE if model == offline.MODEL else model


def verify(scenario: Scenario, trajectory: Trajectory, environment: Environment) -> Trajectory:
    """The trajectory with the scores that need no judge."""
    checks, own = check(scenario, trajectory), environment.reward(scenario, trajectory)
    if checks and own and "changes" in scenario.expect:
        checks = _with_tables(checks, own)
    return dataclasses.replace(trajectory, scores=tuple(_sound(score) for score in (checks, own) if score))


def _with_tables(checks: Score, own: Score) -> Score:
    """What a scenario expects includes how the tables end: without that no try succeeds."""
    if own.value >= PASSED:
        return checks
    return Score("checks", WRONG_TABLES_SHARE * checks.value, f"{own.explanation}; {checks.explanation}")


def _rewarded(group: Group, source: Source | None, title: str = "") -> Group:
    """Reward from `source`, or from the best verifiable one; success always from the latter."""
    done = []
    for trajectory in group.trajectories:
        proof = _verifiable(trajectory)
        score = proof if source is None else _from(trajectory, source)
        if score is None:
            raise ValueError(
                f"The reward of this run is {source}, but scenario {trajectory.scenario_id} gives none."
            )
        title = title or score.source
        success = proof is not None and proof.value >= PASSED
        done.append(dataclasses.replace(trajectory, reward=score.value, success=success))
    return dataclasses.replace(group, trajectories=tuple(done), judge=title)


def _verifiable(trajectory: Trajectory) -> Score | None:
    return next((score for source in VERIFIABLE if (score := _from(trajectory, source))), None)


def _from(trajectory: Trajectory, source: Source) -> Score | None:
    return next((score for score in trajectory.scores if score.source == source), None)


def _with(trajectory: Trajectory, score: Score) -> Trajectory:
    return dataclasses.replace(trajectory, scores=(*trajectory.scores, score))


def _sound(score: Score) -> Score:
    """An environment is plain code and may slip: its number is kept within [0, 1]."""
    if not math.isfinite(score.value):
        raise ValueError(f"The environment's reward is {score.value}; it must be a number between 0 and 1.")
    return dataclasses.replace(score, value=min(1.0, max(0.0, score.value)))


def _refuse_missing_reward(job: Job) -> None:
    if job.reward not in REWARDS:
        raise ValueError(
            "A person's scores cannot be the reward of a run that is under way."
            if job.reward == "human"
            else f"{job.reward} is a penalty and cannot be the reward by itself."
        )
    if job.reward == "mix" and (wrong := complaint(job.mix)):
        raise ValueError(wrong)
    only_checks = job.reward == "mix" and not any(job.mix.get(name) for name in ("ruler", "environment"))
    unchecked = [scenario.id for scenario in job.scenarios if not scenario.expect]
    if (job.reward == "checks" or only_checks) and unchecked:
        raise ValueError(
            f"The reward is checks, but scenario {unchecked[0]} expects nothing that could be checked."
        )
