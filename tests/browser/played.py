"""A run with one group that the embedded model really played, in the site's database: to be played again.

`python -m tests.browser.played USER`; prints JSON: {run, trajectories, key}. A process of its own, since
the stage never loads torch.
"""

import asyncio
import json
import os
import sys
import uuid

os.environ["DJANGO_SETTINGS_MODULE"] = "artweb.settings"

import django  # noqa: E402

django.setup()

from dataclasses import replace  # noqa: E402

import torch  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402

from gpu_worker.engines.embedded.directory import locate  # noqa: E402
from gpu_worker.engines.embedded.engine import EmbeddedEngine  # noqa: E402
from gpu_worker.environments import ENVIRONMENTS  # noqa: E402
from gpu_worker.rollout import play_group  # noqa: E402
from gpu_worker.types import GroupJudged, Job, Place  # noqa: E402
from judging.judge import verify  # noqa: E402
from training.models import Agent, Run, RunScenarios, Trajectory  # noqa: E402
from training.runs import jobs, lease, recorder  # noqa: E402


def main(user: str) -> None:
    torch.set_num_threads(1)
    owner = User.objects.get_or_create(username=user)[0]
    agent = Agent.objects.get_or_create(owner=owner, name="Played desk", environment="order_desk")[0]
    environment = ENVIRONMENTS["order_desk"]
    task = environment.scenarios("train", 1, 0)[0]
    name = f"played-{uuid.uuid4().hex[:6]}"
    config = jobs.frozen_config(agent, {"samplers": 0, "reward": "checks"})
    run = Run.objects.create(
        owner=owner, agent=agent, name=name, state=Run.State.QUEUED, steps=1, config=config, request_id=name
    )
    value = {"id": task.id, "split": "train", "messages": list(task.messages), "expect": task.expect}
    RunScenarios.objects.create(run=run, values=[{**value, "tags": list(task.tags)}])
    job = Job(run="played", **config)
    engine = EmbeddedEngine(locate(job.base_model), max_context=job.max_context)
    group = asyncio.run(play_group(engine, environment, job, task, Place("train", 1, 0), tries=2))
    tries = tuple(verify(task, one, environment) for one in group.trajectories)
    held = lease.claim(run.pk)
    assert held is not None
    with recorder.Recorder(held) as record:
        record(GroupJudged(replace(group, trajectories=tries, judge="checks"), "train", "train", tied=False))
    found = list(Trajectory.objects.filter(run=run).order_by("index").values_list("pk", flat=True))
    print(json.dumps({"run": run.pk, "trajectories": found, "key": task.id}))


if __name__ == "__main__":
    main(sys.argv[1])
