"""Numbers and states in words: time left, curves, figures, headlines, knobs."""

import pytest
from django.utils import translation

from judging import offline
from training.models import Event, Run
from training.runs import knobs, words
from training.runs.eta import remaining
from training.runs.sparkline import HEIGHT, WIDTH, sparkline
from training.templatetags import figures


def test_time_left_is_a_range_after_three_steps() -> None:
    assert remaining([2.0, 2.0], 10) is None
    told = remaining([2.0, 3.0, 4.0], 10)
    assert told and (told.low, told.high) == (25.0, 35.0)
    recent = remaining([100.0] * 20 + [1.0] * 10, 4)
    assert recent and (recent.low, recent.high) == (4.0, 4.0)


def test_the_sum_of_a_mix_names_its_parts_as_the_list_of_scores_does() -> None:
    told = "0.7 × RULER 0.80 + 0.3 × checks 1.00 − 0.1 × length 0.25"
    assert words.reason("mix", told) == "0.7 × Judge (RULER) 0.80 + 0.3 × Checks 1.00 − 0.1 × Length 0.25"
    with translation.override("zh-hans"):
        assert words.reason("mix", told) == "0.7 × 评审（RULER） 0.80 + 0.3 × 检查 1.00 − 0.1 × 长度 0.25"
    assert words.reason("ruler", "3 × checks 1") == "3 × checks 1"


def test_a_sparkline_fits_its_box() -> None:
    assert sparkline([0.5]) is None
    curve = sparkline([0.1, 0.9, 0.4])
    assert curve and (curve.first, curve.last) == (0.1, 0.4)
    for pair in curve.points.split():
        x, y = map(float, pair.split(","))
        assert 0 <= x <= WIDTH and 0 <= y <= HEIGHT
    assert sparkline([0.3, 0.3])


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.04, "0 s"), (2.84, "2.8 s"), (9.96, "10 s"), (95, "1 min 35 s"), (3725, "1 h 2 min"), (None, "–")],
)
def test_durations(seconds: float | None, told: str) -> None:
    assert figures.duration(seconds) == told


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.2, "1 s"),
        (8.4, "8 s"),
        (37, "35 s"),
        (62, "1 min"),
        (223, "3 min 40 s"),
        (4000, "1 h 7 min"),
    ],
)
def test_estimates_are_no_finer_than_they_can_be(seconds: float, told: str) -> None:
    assert figures.roughly(seconds) == told


def test_figures() -> None:
    assert (figures.percent(0.375), figures.percent(None)) == ("38 %", "–")
    assert (figures.score(0.4142), figures.signed(-0.5), figures.signed(0.25)) == ("0.41", "−0.50", "+0.25")
    assert (figures.figure(12345.0), figures.figure(0.00031), figures.figure(0.4)) == (
        "12,345",
        "0.00031",
        "0.400",
    )
    assert figures.to(0.31, 0.45) == "31–45 %"
    assert figures.to(0.0, 0.0) == "0–0 %"
    with translation.override("zh-hans"):
        assert figures.to(0.31, 0.45) == "31–45%"


def test_the_headline_is_one_sentence() -> None:
    run = Run(
        summary={
            "baseline": {"success": 0.38, "n": 200},
            "trained": {"success": 0.94, "n": 200},
            "difference": {"low": 49.2, "high": 62.6},
        }
    )
    assert words.headline(run) == "success 38 % → 94 % on 200 unseen scenarios (95 % CI +49…+63)"
    run.summary["difference"]["low"] = -3.4
    assert "(95 % CI −3…+63)" in words.headline(run)
    assert words.headline(Run(summary={})) == ""


def test_every_state_is_explained_and_every_event_has_a_line() -> None:
    assert set(words.HAPPENING) == set(Run.State)
    payloads = {
        "state": {"state": "failed"},
        "group": {"group_id": 1, "label": "train", "step": 2, "index": 0},
        "dropped": {"step": 2, "index": 0, "scenario": "s", "reason": "no answer"},
        "step": {"step": 2, "metrics": {"reward": 0.5, "success": 0.25}},
        "evaluation": {"label": "baseline", "step": 0, "success": 0.4, "low": 0.33, "high": 0.47},
        "log": {"level": "shout", "text": "hello"},
    }
    told = {
        kind: words.line(Event(seq=1, kind=kind, payload=payload), {}) for kind, payload in payloads.items()
    }
    assert told["state"].level == "error" and told["dropped"].level == "warning"
    assert told["log"].level == "info" and told["log"].text == "hello"
    assert told["evaluation"].text == "Before training: success 40 % (95 % CI 33–47 %)"
    assert told["group"].text == "Step 2, group 1"


def test_groups_are_named_after_what_they_were_played_for() -> None:
    assert words.group_name("train", 3, 6) == "Step 3, group 7"
    assert words.group_name("baseline", 0, 11) == "Before training, scenario 12"
    assert words.group_name("validation", 10, 11) == "Validation after step 10, scenario 12"


def test_the_offline_judge_is_called_what_it_is() -> None:
    assert words.judge_name(offline.TITLE) == "rule-based, offline"
    assert words.judge_name("openai/gpt-5") == "openai/gpt-5"


def test_every_knob_has_its_sentence_and_its_value() -> None:
    shown = {knob.name: knob for knob in knobs.knobs({"steps": 7, "environment": "order_desk"})}
    assert shown["steps"].value == 7 and shown["steps"].changed
    assert shown["group_size"].value == 8 and not shown["group_size"].changed
    assert not knobs.HIDDEN & set(shown)
    assert all(knob.sentence for knob in shown.values())
