"""Starting, pausing, stopping and resuming runs, and what is refused."""

import json
from importlib import import_module
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints
from unittest.mock import patch

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import connection
from pytest_django import Settings

from gpu_worker.types import Job
from tests.conftest import MakeRun
from training.models import Agent, Event, Run
from training.runs import jobs, lease, services, tasks

pytestmark = pytest.mark.django_db
learner = import_module("training.migrations.0002_learner")


def start(agent: Agent, **changes: object) -> Run:
    arguments = {"owner": agent.owner, "agent": agent, "name": "first", "config": {}, "request_id": "1"}
    return services.start_run(**(arguments | changes))  # type: ignore[arg-type]


def states(run: Run) -> list[str]:
    return [event.payload["state"] for event in Event.objects.filter(run=run, kind="state")]


def test_a_started_run_is_queued_with_every_knob_frozen(agent: Agent) -> None:
    run = start(agent, config={"steps": 7, "seed": 3})
    assert (run.state, run.steps, states(run)) == ("queued", 7, ["queued"])
    agent.scenarios.all().delete()
    Agent.objects.update(system_prompt="changed later", environment="yes_no_maybe")
    job = jobs.job_for(Run.objects.get(pk=run.pk))
    assert (job.steps, job.seed, job.environment, job.system_prompt) == (7, 3, "order_desk", "")
    assert [scenario.id for scenario in job.scenarios] == ["t1", "t2", "v1", "e1", "e2"]
    assert job.scenarios[0].expect == {"answer_has": [["shipped"]]}
    assert job.directory.endswith(f"runs/{run.pk}/checkpoints")


def test_two_runs_of_the_same_knobs_are_the_same_training(agent: Agent) -> None:
    first, second = start(agent), start(agent, name="second", request_id="2")
    one, other = jobs.job_for(first), jobs.job_for(second)
    assert one.run == other.run
    assert (one.seed, one.scenarios) == (other.seed, other.scenarios)


def test_the_same_request_that_overtakes_itself_starts_one_run(agent: Agent) -> None:
    looks, faster = services._refuse_if_unfit, []

    def overtaken(*arguments: object) -> None:
        if not faster:
            faster.append(None)
            faster[0] = start(agent)  # the other request, between our look for it and our look at the name
        looks(*arguments)  # type: ignore[arg-type]

    with patch.object(services, "_refuse_if_unfit", overtaken):
        run = start(agent)
    assert [run] == faster == list(Run.objects.all())


def test_the_same_request_twice_starts_one_run(agent: Agent) -> None:
    assert start(agent) == start(agent, name="other") == Run.objects.get()


def test_the_request_of_another_person_is_another_request(agent: Agent, other_user: User) -> None:
    theirs = Agent.objects.create(owner=other_user, name="Mine", environment="order_desk")
    theirs.scenarios.set([s for s in agent.scenarios.all()])
    agent_again = Agent.objects.get(pk=agent.pk)
    first = start(theirs)
    theirs.scenarios.update(agent=agent)
    assert start(agent_again) != first


def test_a_taken_name_is_refused(agent: Agent) -> None:
    start(agent)
    with pytest.raises(services.Refused, match="A run named first exists already."):
        start(agent, request_id="2")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"steps": 0}, "steps must be a whole number from 1 to 10000; it is 0"),
        ({"group_size": 2.5}, "group_size must be a whole number"),
        ({"learning_rate": float("nan")}, "learning_rate must be a number from"),
        ({"temperature": True}, "temperature must be a number"),
        ({"reward": "vibes"}, "reward must be one of ruler, checks, environment"),
        ({"loss": "reinforce"}, "loss must be one of cispo, ppo, gspo; it is 'reinforce'"),
        ({"sampler_dtype": ["float32"]}, "sampler_dtype must be one of float32, bfloat16"),
        ({"curriculum": 1}, "curriculum is true or false; it is 1."),
        ({"sampling_budget": 9}, "sampling_budget must be a number from 1 to 8"),
        ({"samplers": 17}, "samplers must be a whole number from 0 to 16"),
        ({"off_policy_steps": 2}, "off_policy_steps must be a whole number from 0 to 1"),
        ({"importance_cap": 0.5}, "importance_cap must be a number from 1 to 100"),
        ({"clip_low": -0.1}, "clip_low must be a number from 0 to 1"),
        ({"learning_rate": None}, "learning_rate must be a number"),
        ({"loss": "gspo", "importance": "mask"}, "gspo weighs whole tries"),
        ({"loss": "ppo", "clip_low": 0}, "clip_low and clip_high must both be above 0 with ppo"),
        ({"kl_in": "advantage"}, "kl_coefficient is 0, so there is no penalty"),
        ({"rubric": 3}, "rubric must be a text"),
        ({"rubric": "a\0b"}, "rubric holds NUL or half of a surrogate pair"),
        ({"system_prompt": "\ud800"}, "system_prompt holds NUL or half of a surrogate pair"),
        ({"directory": "/etc"}, "There is no knob 'directory'"),
        ({"max_tokens": 512, "max_context": 128}, "max_tokens must not be larger"),
        ({"base_model": "/no/such/model"}, "There is no model directory /no/such/model"),
        ({"base_model": "a" * 300}, "There is no model directory aaa"),
        ({"base_model": "~nobody-of-that-name/x"}, "There is no model directory ~nobody"),
        ({"base_model": ""}, "There is no model directory"),
    ],
)
def test_a_bad_value_is_refused_by_name(agent: Agent, config: dict[str, object], words: str) -> None:
    with pytest.raises(services.Refused, match=words):
        start(agent, config=config)
    assert not Run.objects.exists()


def test_every_knob_of_a_job_has_its_values() -> None:
    kinds = get_type_hints(Job)
    weights = {name for name, kind in kinds.items() if get_origin(kind) is dict}
    numbers = {n for n, kind in kinds.items() if {int, float} & {kind, *get_args(kind)}} - weights
    named = {name: get_args(kind) for name, kind in kinds.items() if get_origin(kind) is Literal}
    assert numbers == set(jobs.RANGES)
    assert {name for name, kind in kinds.items() if kind is bool} == set(jobs.SWITCHES)
    assert named.keys() == jobs.CHOICES.keys()
    assert all(set(jobs.CHOICES[name]) <= set(values) for name, values in named.items())
    assert all(set(jobs.CHOICES[name]) == set(values) for name, values in named.items() if name != "reward")
    assert weights == {"mix"}
    assert jobs.complaint({name: getattr(Job, name) for name in {*numbers, *jobs.SWITCHES, *named}}) is None


def test_an_empty_clip_is_kept_empty_so_that_the_loss_takes_its_own(agent: Agent) -> None:
    job = jobs.job_for(start(agent, config={"loss": "ppo", "clip_low": None, "clip_high": 0.28}))
    assert (job.loss, job.clip_low, job.clip_high) == ("ppo", None, 0.28)


def test_a_run_of_before_keeps_its_refill_as_a_budget(agent: Agent) -> None:
    run = start(agent)
    run.config.pop("sampling_budget")
    run.config["refill_rounds"] = 3
    run.save()
    learner.budget_instead_of_rounds(apps, connection.schema_editor())
    assert jobs.job_for(Run.objects.get(pk=run.pk)).sampling_budget == 4


def test_a_model_directory_is_looked_at_before_the_run_starts(
    agent: Agent, tmp_path: Path, settings: Settings
) -> None:
    def refusal() -> str:
        with pytest.raises(services.Refused) as refused:
            start(agent, config={"base_model": str(tmp_path)})
        return str(refused.value)

    settings.MODEL_DIRS = [tmp_path / "models"]
    assert "outside the directories that models are used from" in refusal()
    settings.MODEL_DIRS = [tmp_path.parent]
    assert "has no config.json" in refusal()
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    assert "has no *.safetensors" in refusal()
    (tmp_path / "model.safetensors").touch()
    (tmp_path / "tokenizer.json").touch()
    assert "of the family gpt2" in refusal()
    (tmp_path / "config.json").unlink()
    (tmp_path / "config.json").mkdir()
    assert "is no model configuration" in refusal()
    (tmp_path / "config.json").rmdir()
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "qwen3"}))
    assert "has no chat template" in refusal()
    (tmp_path / "chat_template.jinja").write_text("{{ messages }}")
    assert start(agent, config={"base_model": str(tmp_path)}).config["base_model"] == str(tmp_path)


def test_an_agent_of_somebody_else_does_not_exist(agent: Agent, other_user: User) -> None:
    with pytest.raises(services.Refused, match="There is no such agent"):
        start(agent, owner=other_user)


def test_an_agent_without_scenarios_cannot_be_trained(user: User) -> None:
    bare = Agent.objects.create(owner=user, name="Bare", environment="order_desk")
    with pytest.raises(services.Refused, match="no train scenarios"):
        start(bare)


def test_the_demo_makes_its_agent_once_and_counts_its_runs(user: User) -> None:
    first, second = services.start_demo(owner=user), services.start_demo(owner=user)
    assert (first.name, second.name) == ("order-desk-1", "order-desk-2")
    assert first.agent == second.agent
    counts = {split: first.agent.scenarios.filter(split=split).count() for split in services.COUNTS}
    assert counts == services.COUNTS


def test_the_message_is_sent_after_the_row_is_there(
    agent: Agent, django_capture_on_commit_callbacks: object
) -> None:
    with patch.object(tasks, "send") as send:
        with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
            run = start(agent)
            send.assert_not_called()
        send.assert_called_once_with(run.pk)


def test_without_a_queue_a_run_still_starts(agent: Agent) -> None:
    tasks.send(start(agent).pk)
    assert lease.waiting() == [Run.objects.get().pk]


def test_a_queued_run_pauses_resumes_and_stops_at_once(run: Run) -> None:
    services.pause_run(run)
    assert run.state == "paused" and lease.claim(run.pk) is None
    services.pause_run(run)
    services.resume_run(run)
    assert run.state == "queued"
    services.stop_run(run)
    assert (run.state, bool(run.finished_at)) == ("cancelled", True)
    services.stop_run(run)
    assert states(run) == ["paused", "queued", "cancelled"]


def test_a_running_run_is_asked(run: Run) -> None:
    lease.claim(run.pk)
    services.pause_run(run)
    assert (run.state, run.wish) == ("preparing", "pause")
    services.resume_run(run)
    run.refresh_from_db()
    assert run.wish == ""
    services.stop_run(run)
    assert run.wish == "stop"


def test_a_run_without_a_living_worker_stops_at_once_and_shuts_the_old_one_out(run: Run) -> None:
    claimed = lease.claim(run.pk)
    assert claimed
    Run.objects.filter(pk=run.pk).update(lease_until=None)
    services.stop_run(run)
    assert run.state == "cancelled"
    assert not lease.renew(claimed)


@pytest.mark.parametrize("state", ["done", "cancelled", "failed"])
def test_what_is_over_cannot_be_paused(make_run: MakeRun, state: str) -> None:
    with pytest.raises(services.Refused, match="Too late"):
        services.pause_run(make_run(state=state))


def test_a_failed_run_goes_on_when_asked(make_run: MakeRun) -> None:
    run = make_run(state="failed", error="The disk is full.", attempts=3)
    services.resume_run(run)
    assert (run.state, run.error, run.attempts) == ("queued", "", 0)
    with pytest.raises(services.Refused, match="Too late: the state of over is “Done”"):
        services.resume_run(make_run("over", state="done"))


def test_the_demo_takes_no_agent_that_a_person_named_alike(user: User) -> None:
    theirs = Agent.objects.create(owner=user, name="Order desk", environment="authored", template="blank")
    demo = services.agent_for(owner=user, environment="order_desk")
    assert (demo.name, demo.environment) == ("Order desk 2", "order_desk")
    assert services.agent_for(owner=user, environment="order_desk") == demo != theirs
