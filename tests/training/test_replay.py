"""A try played again from one of its turns: with a real tiny model, fresh tables, and what was kept."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from gpu_worker.tools.tables import open_table
from gpu_worker.types import Job, Scenario, Tool, ToolSpec
from judging.spending import Purse
from tests import stories
from tests.tiny_model import build
from training import models
from training.authoring.office import errands, program
from training.authoring.studio.questions import QuestionTable, invent
from training.authoring.toolbox import tables
from training.models import Agent, Checkpoint, Errand, Replay, Run, Trajectory
from training.review.tries import replay, replay_playing
from training.runs import jobs, lease, services, versions, worker

pytestmark = pytest.mark.django_db(transaction=True)
KNOBS = {
    "steps": 1, "groups_per_step": 2, "group_size": 2, "sampling_budget": 1, "max_turns": 2, "max_tokens": 8,
    "max_context": 1024, "eval_every": 0, "eval_scenarios": 1, "lora_rank": 4, "samplers": 0,
}  # fmt: skip


@pytest.fixture
def authored(user: User, tmp_path: Path) -> Agent:
    """An agent whose tools come from one uploaded table, with a random tiny model."""
    model = build(tmp_path / "tiny-llama")
    agent = Agent.objects.create(
        owner=user, name="Desk", environment="authored", base_model=str(model), system_prompt="Look it up."
    )
    file = tmp_path / "orders.csv"
    lines = [f"{1000 + n},{('Lima', 'Oslo')[n % 2]},{n * 7 % 90}.50,open" for n in range(60)]
    file.write_text("\n".join(["order_id,city,total,status", *lines]))
    table = tables.add_table(agent, file, "orders.csv", hints={}, watch=lambda: None)
    stored = open_table(versions.table_path(table.sha256))
    for question in invent([QuestionTable(table.name, stored)], versions.plans_now(agent), count=12, seed=1):
        one = question.scenario
        models.Scenario.objects.create(
            agent=agent, key=one.id, split=one.split, messages=list(one.messages), expect=one.expect
        )
    return agent


@pytest.fixture
def trained(authored: Agent) -> Run:
    run = services.start_run(owner=authored.owner, agent=authored, name="r", config=KNOBS, request_id="r")
    claimed = lease.claim(run.pk)
    assert claimed is not None
    worker.work(claimed)
    run.refresh_from_db()
    assert run.state == Run.State.DONE, run.error
    return run


def asked(trajectory: Trajectory, **wishes: Any) -> Replay:
    wishes = {
        "message": replay.choices(trajectory).messages[0],
        "step": 0,
        "seed": 3,
        "temperature": 1.0,
    } | wishes
    return replay.start(trajectory, owner=trajectory.run.owner, **wishes)


def played(row: Replay) -> dict[str, Any]:
    """In this process, since that of the errand has the installation's database."""
    row = Replay.objects.get(pk=row.pk)
    job = jobs.job_for(row.trajectory.run)
    environment = replay_playing.environment_of(row, job, Purse())
    engine = replay_playing.engine_of(row, job)
    begun = replay_playing.begun(row)
    return asyncio.run(replay_playing.replayed(begun, replay_playing.as_asked(row, job), environment, engine))


@pytest.fixture(autouse=True)
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_playing, "tell", lambda **told: None)


def test_a_checkpoint_plays_on_from_a_turn_and_the_same_again(trained: Run) -> None:
    trajectory = Trajectory.objects.filter(run=trained, label="train").earliest("pk")
    assert replay.steps_of(trained) == [0, 1]
    row = asked(trajectory, step=1)
    first, again = played(row), played(row)
    assert first["messages"] == again["messages"]
    kept = trajectory.record.messages[: row.from_message]
    assert first["messages"][: row.from_message] == kept
    assert len(first["messages"]) > len(kept) and first["messages"][len(kept)]["role"] == "assistant"
    assert first["scores"][0][0] == "checks" and first["reward"] is not None
    other = played(asked(trajectory, step=1, seed=4))
    assert other["messages"] != first["messages"], "another seed says something else"


def test_the_desk_keeps_what_came_out(run: Run, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    stories.tell(run, iter([stories.judged(1, 0, skill=1.0)]))
    trajectory = Trajectory.objects.filter(run=run).earliest("pk")
    row = asked(trajectory)
    answered = {"role": "assistant", "content": "Nobody knows!"}
    said = [*trajectory.record.messages[: row.from_message], answered]
    result = {
        "messages": said, "ended": "answered", "note": "", "success": False,
        "scores": [["checks", 0.0, "“shipped” is missing."]], "reward": 0.0,
        "differing": [], "left": [], "seconds": 0.2,
    }  # fmt: skip

    def told_by(module: str, *arguments: str) -> Iterator[dict[str, Any]]:
        assert (module, arguments) == (replay.PROGRAM, (str(row.pk),))
        yield from ({"what": "loading"}, {}, {"what": "playing"}, {"result": result})

    monkeypatch.setattr(program, "told_by", told_by)
    errand = errands.take(row.errand_id)
    assert errand is not None
    errands.carry_out(errand, replay.play)
    row.refresh_from_db()
    assert row.errand.state == Errand.State.DONE and row.messages == said
    client.force_login(run.owner)
    page = client.get(f"/replays/{row.pk}/").content.decode()
    assert "Recorded and run again" in page and "untrained model" in page
    assert "Nobody knows!" in page and "shipped with DHL" in page and "is missing" in page
    assert 'value="4"' in page, "the next seed is offered"
    assert f"/replays/{row.pk}/" in client.get(f"/trajectories/{trajectory.pk}/").content.decode()


class Shelf:
    """Two tools of one try: what `put` leaves, `get` finds; and one that reaches outside."""

    system_prompt = ""

    def __init__(self) -> None:
        self.asked_outside = 0

    def tools(self, scenario: Scenario) -> list[Tool]:
        things: list[str] = []

        def put(arguments: dict[str, Any]) -> str:
            things.append(arguments["thing"])
            return f"{len(things)} there"

        def outside(arguments: dict[str, Any]) -> str:
            self.asked_outside += 1
            return "from outside"

        spec = {name: ToolSpec(name, "", {}) for name in ("put", "get", "ask")}
        return [
            Tool(spec["put"], put),
            Tool(spec["get"], lambda arguments: ", ".join(things)),
            Tool(spec["ask"], outside, waits=True),
        ]


def call(name: str, number: str, **arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "tool_calls": [{"id": number, "type": "function", "function": function}]}


def answer(number: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": number, "content": content}


def test_calls_of_the_kept_part_are_made_again_where_they_leave_something() -> None:
    kept = [
        {"role": "user", "content": "Put tea there."},
        call("put", "a", thing="tea"), answer("a", "1 there"),
        call("put", "b", thing="milk"), answer("b", "7 there"),
        call("ask", "c"), answer("c", "yes"),
        call("put", "d", thing="never answered"),
    ]  # fmt: skip
    shelf, scenario = Shelf(), Scenario("s", "train", ())
    resumed = replay_playing.Resumed(shelf, kept, scenario)  # type: ignore[arg-type]
    tools = {tool.spec.name: tool for tool in resumed.tools(scenario)}
    assert tools["get"].call({}) == "tea, milk"
    assert resumed.differing == [{"message": 3, "tool": "put", "then": "7 there", "now": "2 there"}]
    assert resumed.left == ["ask"] and shelf.asked_outside == 0


def test_turns_of_the_kept_part_count(run: Run) -> None:
    job = replace(Job(run="r", environment="order_desk"), max_turns=3)
    example = {"role": "assistant", "content": "Hello"}
    kept = [example, {"role": "user", "content": "?"}, call("put", "a"), answer("a", "")]
    assert replay_playing.turns_left(job, Scenario("s", "train", (example,)), kept) == 2
    assert replay_playing.turns_left(job, Scenario("s", "train", ()), kept * 4) == 1


def test_what_cannot_be_played_is_refused_in_words(run: Run) -> None:
    stories.tell(run, iter([stories.judged(1, 0, skill=1.0)]))
    trajectory = Trajectory.objects.filter(run=run).earliest("pk")
    wrong: list[dict[str, Any]] = [
        {"message": 0},
        {"message": 99},
        {"step": 7},
        {"seed": -1},
        {"temperature": 9.0},
        {"temperature": -1.0},
    ]
    for wishes in wrong:
        with pytest.raises(replay.NotPlayed):
            asked(trajectory, **wishes)
    Checkpoint.objects.create(run=run, step=7, directory="gone", sha256="0", bytes=1, kept=False)
    with pytest.raises(replay.NotPlayed, match="no longer kept"):
        asked(trajectory, step=7)
    assert not Replay.objects.exists() and not Errand.objects.exists()


def test_a_program_that_dies_is_told_with_its_last_words() -> None:
    with pytest.raises(program.Died, match="No module named"):
        list(program.told_by("training.no_such_program"))


def test_nobody_else_plays_or_reads_it(run: Run, other_user: User, client: Client) -> None:
    stories.tell(run, iter([stories.judged(1, 0, skill=1.0)]))
    row = asked(Trajectory.objects.filter(run=run).earliest("pk"))
    client.force_login(other_user)
    assert client.get(f"/replays/{row.pk}/").status_code == 404
    assert client.post(f"/trajectories/{row.trajectory_id}/replays/", {"message": 2}).status_code == 404


def test_what_was_said_in_a_replay_stays_text(run: Run, client: Client) -> None:
    text = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    stories.tell(run, iter([stories.judged(1, 0, skill=1.0)]))
    trajectory = Trajectory.objects.filter(run=run).earliest("pk")
    row = asked(trajectory)
    row.messages = [*trajectory.record.messages[: row.from_message], {"role": "assistant", "content": text}]
    row.scores, row.ended = [[text, 0.0, text]], text[:20]
    row.save()
    told = {"message": 2, "tool": text, "then": text, "now": text}
    result = {"success": False, "reward": 0, "note": text, "seconds": 1, "differing": [told], "left": [text]}
    Errand.objects.update(state="done", result=result)
    client.force_login(run.owner)
    page = client.get(f"/replays/{row.pk}/").content.decode()
    assert "<script>alert" not in page and "<img" not in page and page.count("&lt;script&gt;") >= 7
