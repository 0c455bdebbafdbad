"""Whatever is said, and whatever number comes out: it is stored, and every page shows it."""

import dataclasses
import math
import random

import pytest
from django.contrib.auth.models import User
from django.test import Client

from gpu_worker import types
from tests import stories
from training.models import Group, Run, Trajectory
from training.runs import frames, lease
from training.runs.recorder import Recorder

pytestmark = pytest.mark.django_db(transaction=True)

NASTY = "a\0\ud800</script><img src=x onerror=alert(1)>\u202e\x1b[2J\u2028"
METRICS = (
    "reward", "reward_std", "success", "tied_groups", "dropped_groups", "groups", "loss", "grad_norm",
    "entropy", "clip_fraction", "kl", "tokens_sampled", "tokens_trained", "seconds", "sample_seconds",
    "judge_seconds", "learn_seconds",
)  # fmt: skip
LONG = NASTY + "x" * 1_000_000


def a_call(arguments: str) -> dict[str, object]:
    return {"id": NASTY, "type": "function", "function": {"name": NASTY, "arguments": arguments}}


def a_try(task: types.Scenario, index: int) -> types.Trajectory:
    nested = a_call('{"a": ' + "[" * 900 + "]" * 900 + "}")
    many = a_call("{" + ", ".join(f'"k{n}": 1' for n in range(5000)) + "}")
    calls = [a_call(LONG), a_call("[" * 50_000), nested, many]
    said = (
        {"role": "assistant", "content": LONG, "tool_calls": calls},
        {"role": "tool", "tool_call_id": NASTY, "content": LONG},
    )
    return dataclasses.replace(
        stories.trajectory(task, index, True, random.Random(1)),
        messages=(*task.messages, *said),
        segments=(types.Segment((5, 6, 7), (math.nan, -math.inf, -0.5), (True, True, False)),),
        note=LONG,
        reward=math.nan,
        scores=(types.Score("ruler", math.inf, LONG),),
    )


def a_group() -> types.GroupJudged:
    task = dataclasses.replace(stories.scenario(1), messages=({"role": "user", "content": LONG},))
    tools = (types.ToolSpec(NASTY, LONG, {"type": "object", NASTY: math.nan}),)
    tries = (a_try(task, 0), a_try(task, 1))
    return types.GroupJudged(types.Group(1, 0, task, tools, tries, NASTY), "train", "train", tied=False)


def a_step(step: int) -> types.StepDone:
    metrics = dict.fromkeys(METRICS, math.nan)
    file = types.CheckpointFile(step, "/nowhere", "ab" * 32, 1)
    return types.StepDone(step, metrics, {0: (math.nan, 1.0)}, file)


@pytest.fixture
def told(run: Run) -> Run:
    claimed = lease.claim(run.pk)
    assert claimed is not None
    with Recorder(claimed) as record:
        record(types.PhaseChanged("training", 0))
        record(a_group())
        record(types.Log("warning", LONG, "nasty"))
        record(types.GroupDropped(1, 1, NASTY, LONG))
        for step in (1, 2, 3, 4):
            record(a_step(step))
    run.refresh_from_db()
    return run


def test_it_is_stored_and_every_page_shows_it(told: Run, user: User, client: Client) -> None:
    client.force_login(user)
    group, trajectory = Group.objects.get(), Trajectory.objects.all()[0]
    pages = ["/", f"/runs/{told.pk}/", f"/runs/{told.pk}/groups/", f"/groups/{group.pk}/"]
    views = [
        f"/trajectories/{trajectory.pk}/?view={v}" for v in ("", "timeline", "tokens", "tokens&table", "raw")
    ]
    for address in [*pages, *views]:
        answer = client.get(address)
        assert answer.status_code == 200, address
        assert b"<img src=x" not in answer.content and len(answer.content) < 1_000_000, address
    raw = client.get(f"/trajectories/{trajectory.pk}/raw.json")
    assert raw["Content-Type"] == "application/json" and raw.json()["reward"] == 0
    assert raw.json()["tools"][0]["parameters"]["type"] == "object"


def test_frames_carry_it(told: Run) -> None:
    for seq in (0, 1, -600):
        frame = frames.frame_from(told, frames.Place(seq, None, "en"))
        assert frame is not None
        assert "<img src=x" not in frame.text and len(frame.text.encode()) < 100_000
