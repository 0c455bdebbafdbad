"""What the loop reports is stored once, in order, and only by the run's owner."""

import asyncio
import dataclasses
import json
import math
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from gpu_worker import types
from training.models import Checkpoint, Evaluation, Event, Group, Run, Score, StepMetrics, Trajectory
from training.runs import headline, lease, rows
from training.runs.lease import LeaseLost
from training.runs.recorder import Recorder

pytestmark = pytest.mark.django_db(transaction=True)

PARAMETERS = {"type": "object", "properties": {"column": {}, "by": {}, "value": {}}}


@pytest.fixture
def claimed(run: Run) -> lease.Lease:
    found = lease.claim(run.pk)
    assert found
    return found


@pytest.fixture
def record(claimed: lease.Lease) -> Iterator[Recorder]:
    with Recorder(claimed) as recorder:
        yield recorder


def a_try(index: int, reward: float = 1.0, answer: str = "It has shipped.") -> types.Trajectory:
    return types.Trajectory(
        scenario_id="t1",
        index=index,
        messages=({"role": "user", "content": "Where is it?"}, {"role": "assistant", "content": answer}),
        segments=(types.Segment((1, 2, 3), (0.0, -0.25, -1.5), (False, True, True)),),
        ended="answered",
        turns=1,
        scores=(types.Score("ruler", reward, "Because."), types.Score("checks", reward)),
        reward=reward,
        success=reward == 1,
        policy_step=4,
    )


def a_group(step: int = 1, index: int = 0, answer: str = "It has shipped.") -> types.GroupJudged:
    scenario = types.Scenario("t1", "train", ({"role": "user", "content": "Where is it?"},))
    tools = (types.ToolSpec("find", "Finds.", PARAMETERS),)
    group = types.Group(step, index, scenario, tools, (a_try(0, 0.0, answer), a_try(1)), "offline")
    return types.GroupJudged(group, "train", "train", tied=False)


def a_step(step: int = 1, directory: str = "/nowhere") -> types.StepDone:
    return types.StepDone(
        step,
        {"reward": 0.5, "loss": math.nan},
        {0: (-1.0, 1.0)},
        types.CheckpointFile(step, directory, "ab" * 32, 10),
    )


def an_evaluation(label: str, *successes: bool) -> types.Evaluated:
    outcomes = tuple(types.Outcome(f"e{n}", success, float(success)) for n, success in enumerate(successes))
    return types.Evaluated(types.Evaluation(label, 0, "test", outcomes))  # type: ignore[arg-type]


def seen(run: Run) -> list[tuple[int, str]]:
    return list(Event.objects.filter(run=run).values_list("seq", "kind"))


def test_a_group_becomes_rows_and_one_event(run: Run, record: Recorder) -> None:
    assert record(a_group()) == "go"
    group = Group.objects.get(run=run)
    assert (group.tries, group.successes, group.mean_reward, group.best_reward) == (2, 1, 0.5, 1.0)
    assert group.prompt == "Where is it?"
    assert group.tools == [{"name": "find", "description": "Finds.", "parameters": PARAMETERS}]
    second = group.trajectories.get(index=1)
    assert (second.sampled_tokens, second.answer, second.reward) == (2, "It has shipped.", 1.0)
    assert second.policy_step == 4
    assert second.record.segments == [{"ids": [1, 2, 3], "logprobs": [0.0, -0.25, -1.5], "mask": [0, 1, 1]}]
    assert {s.source: s.value for s in second.scores.all()} == {"ruler": 1.0, "checks": 1.0}
    event = Event.objects.get(run=run)
    assert event.seq == 1
    assert event.payload == {"group_id": group.pk, "label": "train", "step": 1, "index": 0}


def test_a_replayed_step_changes_nothing(run: Run, record: Recorder) -> None:
    reports: list[types.Report] = [
        types.PhaseChanged("training"),
        an_evaluation("baseline", True, False),
        a_group(),
        types.GroupDropped(1, 1, "t2", "tied"),
        types.Log("info", "A line.", "line"),
        a_step(),
    ]
    for report in reports:
        record(report)
    tables = (Event, Group, Trajectory, Score, StepMetrics, Evaluation, Checkpoint)
    before = [list(table.objects.order_by("pk").values()) for table in tables]
    for report in reports:
        record(report)
    assert [list(table.objects.order_by("pk").values()) for table in tables] == before
    kinds = ["state", "evaluation", "group", "dropped", "log", "step"]
    assert seen(run) == list(enumerate(kinds, start=1))


def test_a_step_stores_numbers_checkpoint_and_advantages(run: Run, record: Recorder, tmp_path: Path) -> None:
    record(a_group())
    record(a_step(directory=str(tmp_path)))
    assert StepMetrics.objects.get(run=run).values == {"reward": 0.5, "loss": None}
    assert [t.advantage for t in Trajectory.objects.order_by("index")] == [-1.0, 1.0]
    run.refresh_from_db()
    assert (run.step, run.attempts) == (1, 0)
    assert Checkpoint.objects.get(run=run).kept


def test_a_checkpoint_whose_files_are_gone_is_not_kept(run: Run, record: Recorder, tmp_path: Path) -> None:
    record(a_step(1, str(tmp_path / "removed")))
    record(a_step(2, str(tmp_path)))
    assert list(Checkpoint.objects.filter(run=run).values_list("step", "kept")) == [(1, False), (2, True)]


def test_nothing_is_written_under_a_lost_lease(run: Run, record: Recorder) -> None:
    record(a_group())
    Run.objects.filter(pk=run.pk).update(epoch=9)
    for report in (a_group(), a_group(index=1), types.Progress(1, 1, 2, "rollouts"), a_step()):
        with pytest.raises(LeaseLost):
            record(report)
    with pytest.raises(LeaseLost):
        record.end(Run.State.DONE, "done")
    assert seen(run) == [(1, "group")]
    run.refresh_from_db()
    assert run.state == "preparing"


def test_the_owners_wish_comes_back_with_every_report(run: Run, record: Recorder) -> None:
    assert record(a_group()) == "go"
    Run.objects.filter(pk=run.pk).update(wish="pause")
    assert record(a_group(index=1)) == "pause"
    Run.objects.filter(pk=run.pk).update(wish="stop")
    assert record(a_group(index=1)) == "stop"  # also when it was stored before


def test_progress_is_shown_but_no_event_and_not_too_often(run: Run, record: Recorder) -> None:
    for done in range(5):
        record(types.Progress(1, done, 5, "rollouts"))
    run.refresh_from_db()
    assert run.progress == {"what": "rollouts", "done": 0, "total": 5}
    assert seen(run) == []


def test_every_report_is_a_sign_of_life(run: Run, record: Recorder) -> None:
    for report in (types.Progress(1, 1, 5, "rollouts"), a_group(), types.Log("info", "A line.", "line")):
        Run.objects.filter(pk=run.pk).update(reported_at=None)
        record(report)
        run.refresh_from_db()
        assert run.reported_at is not None


def test_hostile_text_is_stored_as_harmless_text(run: Run, record: Recorder) -> None:
    record(a_group(answer="a\0b \ud800 <script>"))
    stored = Trajectory.objects.get(index=0)
    assert stored.answer == "a\N{REPLACEMENT CHARACTER}b ? <script>"
    assert stored.record.messages[1]["content"] == stored.answer


def test_the_parameters_of_a_tool_stay_in_order(run: Run, record: Recorder) -> None:
    """The endpoint shows them to the model as training did; Postgres would sort the keys of its jsonb."""
    record(a_group())
    (tool,) = Group.objects.get().tools
    assert list(tool) == ["name", "description", "parameters"]
    assert list(tool["parameters"]["properties"]) == ["column", "by", "value"]
    (through_a_query,) = Group.objects.values_list("tools", flat=True)
    assert json.dumps(through_a_query) == json.dumps([tool])


def test_it_works_inside_an_event_loop(run: Run, record: Recorder) -> None:
    async def loop() -> types.Wish:
        return record(a_group())

    assert asyncio.run(loop()) == "go"
    assert seen(run) == [(1, "group")]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="Only SQLite locks the whole database.")
def test_a_locked_database_only_makes_it_wait(run: Run, record: Recorder) -> None:
    holder = sqlite3.connect(settings.DATABASES["default"]["NAME"], check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    threading.Timer(0.5, holder.rollback).start()
    record(a_group())
    assert time.monotonic() - began >= 0.4
    assert seen(run) == [(1, "group")]


def test_the_headline_compares_the_same_scenarios(run: Run, record: Recorder) -> None:
    record(an_evaluation("baseline", *[True] * 8 + [False] * 12))
    record(an_evaluation("trained", *[True] * 19 + [False]))
    summary = types.Summary("done", 3, 48, 12.34, None, None, "cd" * 32)
    told = headline.of(run, summary)
    assert told["baseline"] == {"success": 0.4, "reward": 0.4, "n": 20}
    assert told["trained"]["success"] == 0.95
    assert 20 < told["difference"]["low"] < 55 < told["difference"]["high"] < 80
    assert (told["seconds"], told["steps"], told["trajectories"]) == (12.3, 3, 48)


def test_the_end_is_written_once_and_frees_the_run(run: Run, record: Recorder) -> None:
    record.end(Run.State.FAILED, "failed", "error", "The disk is full.", error="The disk is full.")
    run.refresh_from_db()
    assert (run.state, run.error, run.worker, run.lease_until) == ("failed", "The disk is full.", "", None)
    assert [event.payload for event in Event.objects.filter(run=run)] == [
        {"level": "error", "text": "The disk is full."},
        {"state": "failed"},
    ]


def test_ids_go_on_where_they_were_and_scores_and_tools_find_their_try(run: Run, record: Recorder) -> None:
    record(a_group())
    before = max(Trajectory.objects.values_list("pk", flat=True))
    Trajectory.objects.filter(pk=before).delete()
    record(a_group(index=1))
    made = list(Trajectory.objects.filter(pk__gt=before).order_by("pk"))
    assert [(one.index, one.run_id, one.label, one.scenario_key) for one in made] == [
        (0, run.pk, "train", "t1"),
        (1, run.pk, "train", "t1"),
    ]
    assert all(score.author is None and score.use == "" for score in Score.objects.all())
    assert [one.scores.count() for one in made] == [2, 2]


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda of: st.lists(of) | st.dictionaries(st.text(), of),
    )
)
def test_json_is_that_of_the_plain_value(value: object) -> None:
    assert json.loads(rows.as_json(value)) == rows.plain(value)
    rows.as_json(value).encode()


@given(st.lists(st.tuples(st.integers(0, 200_000), st.floats(), st.booleans()), max_size=30))
def test_a_segment_is_read_back_rounded_to_six_decimals(tokens: list[tuple[int, float, bool]]) -> None:
    segment = types.Segment(*zip(*tokens, strict=True)) if tokens else types.Segment((), (), ())
    one = dataclasses.replace(a_try(0), segments=(segment, segment))
    said = {
        "ids": list(segment.ids),
        "logprobs": [rows.plain(round(logprob, 6)) for logprob in segment.logprobs],
        "mask": [int(sampled) for sampled in segment.mask],
    }
    assert repr(json.loads(rows.record_row(7, one)[2])) == repr([said, said])


def test_a_nul_that_is_only_spelled_out_stays() -> None:
    assert json.loads(rows.as_json({"a": "\\u0000", "b": "\0"})) == {
        "a": "\\u0000",
        "b": "\N{REPLACEMENT CHARACTER}",
    }
