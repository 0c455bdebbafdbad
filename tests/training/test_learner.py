"""The learner's figures as rows for charts and table, and what ties cost a run."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from gpu_worker.types import CheckpointFile, StepDone
from tests import stories
from tests.conftest import MakeRun
from training.models import Run
from training.runs import algorithm, condition, knobs, learner, queries
from training.runs.frames import Place, frame_from
from training.runs.spending import spending


def a_row(seq: int, **metrics: float | None) -> learner.Row:
    return learner.row(seq, seq, metrics)


def value(row: learner.Row, name: str) -> float | None:
    return next(v for (_chart, line), v in zip(learner.COLUMNS, row.values, strict=True) if line.name == name)


def step_done(step: int, **metrics: float) -> StepDone:
    return StepDone(step, metrics, {}, CheckpointFile(step, "/nowhere", "0" * 64, 1))


def test_a_row_holds_a_number_a_column_and_a_dash_for_what_was_not_measured() -> None:
    row = a_row(7, entropy=0.5, reward=1 / 3, groups=8.0, tied_groups=2.0)
    numbers = row.numbers.split(" ")
    assert len(numbers) == len(row.cells) == len(learner.COLUMNS)
    assert numbers[0] == "0.333333" and row.cells[0] == "0.333"
    assert value(row, "entropy") == 0.5 and value(row, "tied_share") == 0.25
    assert value(row, "kl") is None
    assert numbers.count("-") == len(learner.COLUMNS) - 3


def test_a_step_that_learned_nothing_leaves_a_gap_not_a_zero() -> None:
    row = a_row(1, skipped=1.0, entropy=0.0, kl=0.0, grad_norm=0.0, clip_fraction=0.0, tokens_sampled=900.0)
    assert [value(row, name) for name in ("entropy", "kl", "grad_norm", "clip_fraction")] == [None] * 4
    assert value(row, "tokens_sampled") == 900.0


def test_a_long_run_keeps_its_first_and_its_newest_steps() -> None:
    rows = [a_row(seq) for seq in range(1, 10_001)]
    kept = [row.step for row in learner.thinned(rows)]
    assert len(kept) <= learner.MOST
    assert kept[0] == 1 and kept[-learner.NEWEST :] == list(range(10_001 - learner.NEWEST, 10_001))
    assert kept == sorted(set(kept))
    assert [row.step for row in learner.thinned(rows[:300])][:3] == [1, 2, 3]
    assert learner.thinned(rows[:5]) == rows[:5]


def test_every_chart_is_explained_and_no_figure_is_shown_twice() -> None:
    names = [line.name for _chart, line in learner.COLUMNS]
    assert len(names) == len(set(names))
    assert all("Good:" in str(chart.sentence) for chart in learner.CHARTS)


@pytest.mark.django_db(transaction=True)
def test_what_ties_cost_is_summed_over_the_run_and_its_last_steps(run: Run) -> None:
    steps = [
        step_done(n, tokens_sampled=1000.0, tokens_tied=500.0 if n < 4 else 0.0, groups=4.0, tied_groups=1.0)
        for n in range(1, 9)
    ]
    stories.tell(run, iter(steps))
    found = spending(run, list(condition.recent_steps(run).values()))
    assert found is not None and found.resting is None
    assert (found.whole.tokens, found.whole.tokens_tied, found.whole.groups_tied) == (8000, 1500, 8)
    assert found.whole.share == 0.1875 and found.recent.share == 0.0


@pytest.mark.django_db(transaction=True)
def test_steps_of_before_have_no_tokens_of_ties_and_break_nothing(run: Run) -> None:
    assert spending(run, []) is None
    stories.tell(run, iter([step_done(1, reward=0.5)]))
    found = spending(run, list(condition.recent_steps(run).values()))
    assert found is not None and (found.whole.tokens, found.whole.share) == (0, 0.0)


@pytest.mark.django_db(transaction=True)
def test_the_figures_of_a_long_run_are_read_in_one_query(
    make_run: MakeRun, django_assert_num_queries: object
) -> None:
    run = stories.tell(make_run(steps=9), stories.training(9, 2, 2, stop_after=8))
    with django_assert_num_queries(1):  # type: ignore[operator]
        steps = condition.recent_steps(run)
    with django_assert_num_queries(0):  # type: ignore[operator]
        assert condition.diagnosis(run, steps) == []
    assert list(steps) == list(range(1, 9))


@pytest.mark.django_db(transaction=True)
def test_a_stall_changes_the_head_so_that_open_pages_hear_of_it(run: Run) -> None:
    def silent_for(seconds: int, **columns: object) -> Run:
        reported = timezone.now() - timedelta(seconds=seconds)
        Run.objects.filter(pk=run.pk).update(reported_at=reported, **columns)
        return Run.objects.get(pk=run.pk)

    stories.tell(run, stories.training(3, 2, 2, stop_after=1))  # one step, of 3.1 seconds
    lively = queries.head_key(silent_for(0))
    assert queries.head_key(silent_for(10)) == lively
    assert queries.head_key(silent_for(20)) != lively
    assert condition.stalled(silent_for(20)) and not condition.stalled(silent_for(20, state="paused"))
    assert not condition.stalled(silent_for(200, state="baseline"))
    assert condition.stalled(silent_for(301, state="baseline"))


@pytest.mark.django_db(transaction=True)
def test_a_frame_adds_the_rows_of_new_steps_only(run: Run) -> None:
    stories.tell(run, stories.training(3, 2, 2, stop_after=2))
    seqs = [row["seq"] for row in queries.whole_page(run).curve if row["kind"] == "step"]
    frame = frame_from(run, Place(seqs[0], None, "en"))
    assert frame is not None
    content = json.loads(frame.text)["content"]
    assert f'id="learner-{seqs[1]}"' in content and f'id="learner-{seqs[0]}"' not in content
    assert 'hx-target="#doctor-says"' in content and 'hx-target="#spending"' in content


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, "CISPO, mean over all tokens, advantages in units of the batch's spread"),
        ({"loss": "ppo", "clip_high": 0.28}, "PPO, clip bounds of its own, mean over all tokens"),
        (
            {"loss_mean": "constant", "advantage_scale": "none"},
            "divided by a constant, advantages as they are",
        ),
        ({"importance": "truncate", "importance_cap": 3.0}, "importance weights up to 3,"),
        ({"kl_coefficient": 0.01, "kl_in": "advantage"}, "distance to base lowers advantages (0.01)"),
        ({"off_policy_steps": 1}, "tries one step old"),
    ],
)
def test_the_algorithm_is_named_in_words(config: dict[str, object], words: str) -> None:
    assert words in ", ".join(algorithm.phrases(config))


def test_on_policy_means_one_update_from_the_newest_tries() -> None:
    assert algorithm.on_policy({})
    assert not algorithm.on_policy({"off_policy_steps": 1})
    assert not algorithm.on_policy({"optimizer_steps": 2})


def test_every_knob_stands_on_exactly_one_shelf() -> None:
    placed = [name for _title, names in knobs.SHELVES for name in names]
    assert len(placed) == len(set(placed))
    assert set(placed) == {knob.name for knob in knobs.knobs({})}
    written = {knob.name: knob.written for shelf in knobs.shelves({}) for knob in shelf.knobs}
    assert written["clip_high"] == "4, the loss's own" and written["curriculum"] == "on"
    assert written["environment"] == "–"
