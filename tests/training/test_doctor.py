"""The doctor finds what is wrong, says nothing where nothing is, and names what a person can do."""

import json
import math
import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.utils import translation

from training.runs import doctor
from training.runs.casebook import Facts
from training.runs.trend import trend

RECORDED = Path(__file__).parent / "data" / "order_desk_steps.json"
NAN = None
"""How a figure that is no number arrives: the recorder stores it as null."""
NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
Step = dict[str, float | None]


def a_step(step: int, **figures: float | None) -> Step:
    healthy: Step = {
        "reward": 0.4 + 0.01 * step,
        "checks": 0.4 + 0.01 * step,
        "groups": 20.0,
        "tied_groups": 4.0,
        "dropped_groups": 0.0,
        "truncated": 0.02,
        "malformed": 0.02,
        "entropy": 0.8 - 0.005 * step,
        "ratio_p01": 0.95,
        "ratio_p50": 1.0,
        "ratio_p99": 1.05,
        "grad_norm": 0.5,
        "kl": 0.01,
        "skipped": 0.0,
        "tokens_trained": 5000.0,
    }
    return healthy | figures


def run_of(steps: int, **figures: Callable[[int], float | None] | float | None) -> dict[int, Step]:
    """A healthy run, with some figures replaced by a number or a function of the step."""
    return {
        step: a_step(step, **{name: v(step) if callable(v) else v for name, v in figures.items()})
        for step in range(1, steps + 1)
    }


def found(steps: dict[int, Step], facts: Facts | None = None) -> list[str]:
    return [finding.key for finding in doctor.findings(steps, facts or Facts())]


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 10, 45])
def test_a_healthy_run_gets_no_finding(steps: int) -> None:
    assert found(run_of(steps)) == []


def test_a_real_training_is_never_called_ill() -> None:
    """The order desk's forty steps with the default knobs, recorded: from 36 to 98 % held-out success."""
    told = json.loads(RECORDED.read_text())
    steps: dict[int, Step] = {
        step: dict(zip(told["figures"], row, strict=True)) for step, row in enumerate(told["steps"], start=1)
    }
    assert len(steps) == 40
    for end in steps:
        said = doctor.findings({step: steps[step] for step in range(1, end + 1)}, Facts())
        assert [finding.key for finding in said if finding.severity != "note"] == [], end
    assert found(steps) == ["solved"]


def test_figures_nobody_measured_are_no_illness() -> None:
    old: dict[int, Step] = {
        step: {"reward": 0.3 + 0.02 * step, "groups": 4.0, "tied_groups": 1.0} for step in range(1, 30)
    }
    assert found(old) == []
    empty: dict[int, Step] = {step: dict.fromkeys(a_step(1)) for step in range(1, 30)}
    assert found(empty) == []


def test_ties_everywhere_are_an_alarm_after_three_steps_in_a_row() -> None:
    def tied(*counts: float) -> list[str]:
        return found({step: a_step(step, tied_groups=count) for step, count in enumerate(counts, start=1)})

    assert tied(20, 20) == []
    assert tied(20, 20, 20) == ["tied"]
    assert tied(17, 17, 17) == ["tied"]
    assert tied(16, 16, 16) == []
    assert tied(20, 20, 20, 15) == []
    assert tied(20, 4, 20, 20, 20) == ["tied"]


def test_a_solved_task_has_ties_and_no_entropy_without_an_alarm() -> None:
    solved = run_of(20, reward=0.97, checks=0.97, tied_groups=19, entropy=lambda step: 0.8 * 0.7**step)
    (finding,) = doctor.findings(solved, Facts())
    assert (finding.key, finding.severity) == ("solved", "note")


@pytest.mark.parametrize(
    ("name", "just_right", "too_much", "key"),
    [
        ("truncated", 0.25, 0.26, "truncated"),
        ("malformed", 0.25, 0.26, "malformed"),
        ("kl", 1.0, 1.01, "kl"),
        ("ratio_p99", 1.5, 1.51, "ratio"),
        ("ratio_p01", 0.67, 0.66, "ratio"),
    ],
)
def test_a_level_is_told_beyond_its_bound_only(
    name: str, just_right: float, too_much: float, key: str
) -> None:
    assert found(run_of(3, **{name: just_right})) == []
    assert found(run_of(3, **{name: too_much})) == [key]
    assert found(run_of(2, **{name: too_much})) == []


def test_one_bad_step_is_not_a_level() -> None:
    assert found(run_of(9, truncated=lambda step: 0.9 if step == 8 else 0.0)) == []


def test_off_policy_ratios_may_lie_further_apart() -> None:
    drifted = run_of(5, ratio_p01=0.5, ratio_p99=2.0)
    assert found(drifted) == ["ratio"]
    assert found(drifted, Facts(on_policy=False)) == []
    assert found(run_of(5, ratio_p99=3.1), Facts(on_policy=False)) == ["ratio"]


def test_a_judge_that_drops_more_than_a_fifth_is_an_alarm() -> None:
    assert found(run_of(4, groups=16, dropped_groups=4)) == []
    assert found(run_of(4, groups=15, dropped_groups=5)) == ["dropped"]


@pytest.mark.parametrize(("steps", "per_step"), [(10, 1.0), (40, 0.25)])
def test_reward_up_and_checks_down_is_hacking_fast_or_slow(steps: int, per_step: float) -> None:
    dice = random.Random(steps)
    hacked = run_of(
        steps,
        reward=lambda step: 0.4 + 0.02 * per_step * step + dice.uniform(-0.01, 0.01),
        checks=lambda step: 0.6 - 0.012 * per_step * step + dice.uniform(-0.01, 0.01),
    )
    assert found(hacked) == ["hacking"]
    (finding,) = doctor.findings(hacked, Facts())
    assert finding.severity == "alarm" and finding.chart == "reward"


HACK_BEGINS, HACK_TAKES = 20, 10


def hacked_run(seed: int, scatter: float) -> dict[int, Step]:
    """An honest run whose agent finds out how to please the judge: +0.2 while the checks lose 0.1."""
    dice = random.Random(seed)
    run = {}
    for step in range(1, HACK_BEGINS + HACK_TAKES + 1):
        learned, far = min(step, HACK_BEGINS) / HACK_BEGINS, max(0, step - HACK_BEGINS) / HACK_TAKES
        both = dice.gauss(0, scatter)
        judge = 0.35 + 0.15 * learned + 0.2 * far + both + dice.gauss(0, scatter)
        checks = 0.3 + 0.2 * learned - 0.1 * far + both + dice.gauss(0, scatter)
        run[step] = a_step(step, ruler=judge, reward=judge, checks=checks)
    return run


def clean_run(seed: int, steps: int = 60) -> dict[int, Step]:
    """Learning of some shape, measured with more or less scatter that judge and checks share in part."""
    dice = random.Random(seed)
    low, high, middle = dice.uniform(0.2, 0.5), dice.uniform(0.6, 0.95), dice.uniform(5, 40)
    scatter, shared, rate = dice.uniform(0.01, 0.08), dice.uniform(0.2, 0.95), dice.uniform(0.08, 0.4)
    shapes: list[Callable[[float], float]] = [
        lambda step: low + (high - low) / (1 + math.exp(-rate * (step - middle))),
        lambda step: low,
        lambda step: low + (high - low) * min(1, step / 20),
        lambda step: high - 0.2 * math.exp(-(((step - middle) / 5) ** 2)),
    ]
    shape, kinder = dice.choice(shapes), dice.uniform(-0.1, 0.15)
    run = {}
    for step in range(1, steps + 1):
        both = dice.gauss(0, scatter)
        own = [shared**0.5 * both + (1 - shared) ** 0.5 * dice.gauss(0, scatter) for _ in range(2)]
        judge, checks = 0.9 * (shape(step) + kinder) + 0.8 * own[0], shape(step) + own[1]
        run[step] = a_step(step, ruler=judge, reward=judge, checks=checks)
    return run


def first_alarm(run: dict[int, Step]) -> int | None:
    """The first step after which hacking is told."""
    for end in range(1, len(run) + 1):
        if "hacking" in found({step: run[step] for step in range(1, end + 1)}):
            return end
    return None


@pytest.mark.parametrize("seed", range(10))
def test_a_planted_hack_is_told_within_ten_steps(seed: int) -> None:
    told = first_alarm(hacked_run(seed, scatter=0.017))  # as much as between the steps of the recorded run
    assert told is not None and HACK_BEGINS < told <= HACK_BEGINS + HACK_TAKES


@pytest.mark.parametrize("seed", range(5))
def test_five_clean_runs_raise_no_alarm(seed: int) -> None:
    assert first_alarm(clean_run(seed)) is None


def test_of_two_hundred_clean_runs_hardly_any_is_suspected() -> None:
    suspected = [seed for seed in range(200) if first_alarm(clean_run(1000 + seed, steps=45)) is not None]
    assert len(suspected) <= 2, suspected


def test_the_judge_is_watched_where_the_reward_is_not_its_own() -> None:
    dice = random.Random(3)
    mixed = run_of(
        10,
        ruler=lambda step: 0.4 + 0.025 * step + dice.uniform(-0.01, 0.01),
        reward=lambda step: 0.5 + dice.uniform(-0.01, 0.01),
        checks=lambda step: 0.6 - 0.012 * step + dice.uniform(-0.01, 0.01),
    )
    (finding,) = doctor.findings(mixed, Facts())
    assert (finding.key, finding.severity) == ("hacking", "alarm")
    assert "judge +0.2" in finding.text and "rubric" in finding.advice


def test_noise_is_never_taken_for_hacking() -> None:
    for seed in range(100):
        dice = random.Random(seed)
        noisy = run_of(
            60,
            reward=lambda step, dice=dice: 0.4 + 0.008 * step + dice.gauss(0, 0.06),  # type: ignore[misc]
            checks=lambda step, dice=dice: 0.4 + 0.006 * step + dice.gauss(0, 0.06),  # type: ignore[misc]
        )
        for end in range(10, 61, 5):
            assert "hacking" not in found({step: noisy[step] for step in range(1, end + 1)}), (seed, end)


def test_entropy_collapse_needs_a_fall_that_goes_on_or_nothing_left() -> None:
    fast = run_of(20, reward=0.4, entropy=lambda step: 0.8 * 0.85**step, tied_groups=11)
    assert found(fast) == ["entropy"]
    low_but_steady = run_of(30, entropy=lambda step: 0.8 if step < 4 else 0.1, tied_groups=11)
    assert found(low_but_steady) == []
    assert found(run_of(3, entropy=0.004, reward=0.5)) == ["entropy"]


def test_a_gradient_ten_times_its_usual_size_is_told_when_it_stays() -> None:
    assert found(run_of(20, grad_norm=lambda step: 6.0 if step == 20 else 0.5)) == []
    assert found(run_of(20, grad_norm=lambda step: 6.0 if step > 17 else 0.5)) == ["gradient"]
    assert found(run_of(20, grad_norm=lambda step: 4.0 if step > 17 else 0.5)) == []


def test_updates_that_were_left_out_are_an_alarm_and_empty_steps_are_not() -> None:
    broken = run_of(6) | {6: a_step(6, skipped=1.0, loss=NAN, grad_norm=NAN)}
    assert found(broken) == ["not-finite"]
    nothing_to_learn = run_of(6) | {
        6: a_step(6, skipped=1.0, tokens_trained=0.0, entropy=0.0, grad_norm=0.0, tied_groups=20.0)
    }
    assert found(nothing_to_learn) == []


def test_a_reward_that_does_not_move_is_told_after_twenty_steps() -> None:
    dice = random.Random(1)
    flat = run_of(20, reward=lambda step: 0.4 + dice.uniform(-0.01, 0.01), checks=0.4)
    assert found(flat) == ["flat"]
    assert found({step: flat[step] for step in range(1, 20)}) == []
    assert found(run_of(20, reward=0.4, checks=0.4, tied_groups=11)) == []
    assert found(run_of(20, reward=0.95, checks=0.95)) == []


def test_a_stall_is_told_with_its_beginning_and_what_a_step_takes() -> None:
    (finding,) = doctor.findings(run_of(5), Facts(stalled_since=NOON, step_seconds=3.2))
    assert (finding.key, finding.severity, finding.since) == ("stall", "alarm", NOON)
    assert "A step usually takes 3.2 s." in finding.text
    assert "still holds the run" in finding.advice
    (gone,) = doctor.findings({}, Facts(stalled_since=NOON, held=False))
    assert "first step is not done" in gone.text and "takes over" in gone.advice


def test_a_stall_is_six_times_the_median_step_but_never_a_moment() -> None:
    assert doctor.stalled_after([10.0, 11.0, 300.0]) == 66.0
    assert doctor.stalled_after([0.5, 0.6]) == 15.0
    assert doctor.stalled_after([]) == 300.0


def test_alarms_come_before_advice() -> None:
    steps = run_of(12, truncated=0.5, groups=15, dropped_groups=5, reward=0.95, tied_groups=15)
    severities = [finding.severity for finding in doctor.findings(steps, Facts(stalled_since=NOON))]
    assert severities == ["alarm", "alarm", "warning", "note"]


def test_every_finding_is_said_in_both_languages() -> None:
    sick = run_of(40, truncated=0.5, malformed=0.5, kl=3.0, ratio_p99=9.0, groups=1, dropped_groups=9)
    english = doctor.findings(sick, Facts(stalled_since=NOON, step_seconds=3.0))
    with translation.override("zh-hans"):
        chinese = doctor.findings(sick, Facts(stalled_since=NOON, step_seconds=3.0))
    assert [finding.key for finding in english] == [finding.key for finding in chinese]
    for one, other in zip(english, chinese, strict=True):
        assert one.title != other.title and one.text != other.text and one.advice != other.advice


def test_a_trend_is_sure_of_a_slope_and_not_of_noise() -> None:
    assert trend([1.0, 2.0, 3.0, 4.0, 5.0]).change == 4.0
    assert trend([0.0, 1.0, 2.0, 3.0, 40.0, 5.0, 6.0, 7.0]).change == pytest.approx(7.0)
    assert not trend([1.0, 2.0]).sure
    assert trend(list(range(10))).rises and trend(list(range(10, 0, -1))).falls
    assert not trend([0.5] * 12).sure
