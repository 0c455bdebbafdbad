"""The judge a run is given: every source of scores is asked and kept, and one of them is the reward."""

import dataclasses
import math

from gpu_worker.types import VERIFIABLE, Environment, Group, Job, Judge, Scenario, Score, Source, Trajectory
from judging import offline
from judging.checks import PASSED, check
from judging.llm import Model
from judging.ruler import ruler


def judge_for(job: Job, environment: Environment, *, api_base: str = "", api_key: str = "") -> Judge:
    """A judge for the groups of `job`. Raises ValueError if its reward can never be had.

    Groups of one (evaluation) are rewarded by the verifiable score, without an LLM, wherever there is one.
    """
    _refuse_missing_reward(job)
    model = Model(job.judge_model, api_base=api_base, api_key=api_key) if job.reward == "ruler" else None
    if model is not None:
        model.get_ready()

    async def judge(group: Group) -> Group:
        verified = [verify(group.scenario, trajectory, environment) for trajectory in group.trajectories]
        alone = len(verified) == 1 and _verifiable(verified[0]) is not None
        if model is None or alone:
            source = job.reward if model is None else None
            return _rewarded(group, verified, source)
        scores = await ruler(
            dataclasses.replace(group, trajectories=tuple(verified)),
            model=model,
            rubric=job.rubric,
            seed=f"{job.seed}/{group.step}/{group.index}",
        )
        judged = [_with(trajectory, score) for trajectory, score in zip(verified, scores, strict=True)]
        return _rewarded(group, judged, "ruler", judge_title(model.name))

    return judge


def judge_title(model: str) -> str:
    """What a judge is called where people see it."""
    return offline.TITLE if model == offline.MODEL else model


def verify(scenario: Scenario, trajectory: Trajectory, environment: Environment) -> Trajectory:
    """The trajectory with the scores that need no judge."""
    found = (check(scenario, trajectory), environment.reward(scenario, trajectory))
    return dataclasses.replace(trajectory, scores=tuple(_sound(score) for score in found if score))


def _rewarded(group: Group, trajectories: list[Trajectory], source: Source | None, title: str = "") -> Group:
    """Reward from `source`, or from the best verifiable one; success always from the latter."""
    done = []
    for trajectory in trajectories:
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
    if job.reward == "human":
        raise ValueError("A person's scores cannot be the reward of a run that is under way.")
    unchecked = [scenario.id for scenario in job.scenarios if not scenario.expect]
    if job.reward == "checks" and unchecked:
        raise ValueError(
            f"The reward is checks, but scenario {unchecked[0]} expects nothing that could be checked."
        )
