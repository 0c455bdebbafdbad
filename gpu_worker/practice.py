"""The practice of one training step: groups are played and judged, tied ones replaced within a budget.

Nothing is learned here, and nothing depends on timing but the seconds that are shown.
"""

import math
import statistics
from dataclasses import dataclass, field, replace

from gpu_worker.ahead import Ahead
from gpu_worker.arena import Arena, Played
from gpu_worker.curriculum import Curriculum, solve_rate
from gpu_worker.grpo import is_tied
from gpu_worker.types import VERIFIABLE, Group, TooFewJudged, Trajectory

CUT_OFF = ("cut_off", "context_overflow")
MALFORMED = ("malformed_call", "unknown_tool")


@dataclass
class Practice:
    """What the rounds of a step brought. `curriculum` knows of them already."""

    curriculum: Curriculum
    step: int
    groups: list[Group] = field(default_factory=list)
    trainable: list[Group] = field(default_factory=list)
    played: int = 0
    dropped: int = 0
    sample_seconds: float = 0.0
    judge_seconds: float = 0.0
    ahead_seconds: float = 0.0
    """Learning while the last groups were being judged."""

    def add(self, round_: Played, count: int, tie_tolerance: float) -> None:
        """Take in a round of `count` groups, of which some may have had no usable judgement."""
        self.played += count
        self.groups += round_.groups
        self.dropped += round_.dropped
        self.trainable += [group for group in round_.groups if not is_tied(group.rewards, tie_tolerance)]
        self.sample_seconds += round_.sample_seconds
        self.judge_seconds += round_.judge_seconds
        self.ahead_seconds += round_.ahead_seconds
        self.curriculum.note(round_.groups, self.step)

    def while_waiting(self, seconds: float) -> "Practice":
        """With no more seconds than the learner waited for it: the rest was hidden behind learning. What it
        waited for last was the judge."""
        judge = min(seconds, self.judge_seconds)
        return replace(self, judge_seconds=judge, sample_seconds=min(seconds - judge, self.sample_seconds))


async def practised(arena: Arena, curriculum: Curriculum, step: int, ahead: Ahead | None = None) -> Practice:
    """Rounds of groups until enough of them teach something, or the sampling budget is used up. `ahead`
    learns from them meanwhile.

    Raises TooFewJudged where more groups went without a usable judgement than the job allows.
    """
    job = arena.job
    practice = Practice(curriculum.copy(), step)
    budget = round(job.groups_per_step * job.sampling_budget)
    scenarios = practice.curriculum.draw(job.groups_per_step, step)
    while scenarios:
        round_ = await arena.practise(scenarios, step, first=practice.played, ahead=ahead)
        practice.add(round_, len(scenarios), job.tie_tolerance)
        if practice.dropped > job.most_dropped * practice.played:
            raise TooFewJudged(
                f"Step {step}: {practice.dropped} of {practice.played} groups had no usable judgement, "
                f"more than {job.most_dropped:.0%} of them. Nothing was learned from this step."
            )
        missing = min(job.groups_per_step - len(practice.trainable), budget - practice.played)
        solved = statistics.fmean(map(solve_rate, practice.groups)) if practice.groups else 0.0
        scenarios = practice.curriculum.replacements(max(0, missing), step, solved)
    return practice


def metrics(practice: Practice) -> dict[str, float]:
    """What a step shows of its practice."""
    tries = [trajectory for group in practice.groups for trajectory in group.trajectories]
    tied = [group for group in practice.groups if not any(group is other for other in practice.trainable)]
    rewards = [trajectory.reward for trajectory in tries] or [0.0]
    verified = [s.value for t in tries for s in t.scores if s.source in VERIFIABLE]
    return {
        "reward": statistics.fmean(rewards),
        "reward_std": statistics.pstdev(rewards),
        "success": _share(tries, [t for t in tries if t.success]),
        **({"checks": statistics.fmean(verified)} if verified else {}),
        **_judged(practice, tries),
        "groups": float(len(practice.groups)),
        "tied_groups": float(len(tied)),
        "dropped_groups": float(practice.dropped),
        "tries": float(len(tries)),
        "turns": sum(trajectory.turns for trajectory in tries) / max(1, len(tries)),
        "truncated": _share(tries, [t for t in tries if t.ended in CUT_OFF]),
        "malformed": _share(tries, [t for t in tries if t.ended in MALFORMED]),
        "tokens_sampled": float(sum(map(_sampled, tries))),
        "tokens_tied": float(sum(_sampled(t) for group in tied for t in group.trajectories)),
        "resting_scenarios": float(practice.curriculum.resting(practice.step + 1)),
        "policy_lag": float(
            practice.step - 1 - min((t.policy_step for t in tries), default=practice.step - 1)
        ),
    }


def _judged(practice: Practice, tries: list[Trajectory]) -> dict[str, float]:
    """What the judge gave on average, and what it took; empty where no judge was asked.

    Dollars only where the price of every answer is known. Groups that were dropped are not in it.
    """
    bills = [group.judging for group in practice.groups if group.judging is not None]
    given = [score.value for t in tries for score in t.scores if score.source == "ruler"]
    known = [bill.cost for bill in bills if bill.cost is not None]
    if not (bills and given):
        return {}
    return {
        "ruler": statistics.fmean(given),
        "judge_calls": float(sum(bill.calls for bill in bills)),
        "judge_cached": float(sum(bill.cached for bill in bills)),
        "judge_tokens": float(sum(bill.prompt_tokens + bill.answer_tokens for bill in bills)),
        **({"judge_cost": math.fsum(known)} if len(known) == len(bills) else {}),
    }


def _share(tries: list[Trajectory], those: list[Trajectory]) -> float:
    return len(those) / max(1, len(tries))


def _sampled(trajectory: Trajectory) -> int:
    return sum(sum(segment.mask) for segment in trajectory.segments)
