"""`manage.py train NAME`: one training in the foreground, recorded like any other run."""

import json
import resource
import sys
import time
import uuid
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from artweb import database
from artweb.progress import ProgressBar
from gpu_worker.environments import ENVIRONMENTS
from training import access
from training.models import Run
from training.runs import lease, services


class Command(BaseCommand):
    help = "Train an agent on one of the environments that come with ArtWeb, here and now."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the environment, such as order-desk")
        parser.add_argument("--steps", type=int, help="training steps")
        parser.add_argument("--seed", type=int, help="every random choice follows from it")
        parser.add_argument("--base-model", help="embedded, a model directory or a hub id")
        parser.add_argument("--set", action="append", default=[], metavar="KNOB=VALUE", help="any other knob")
        parser.add_argument("--json", action="store_true", help="print one JSON object last")

    def handle(self, *, name: str, **options: Any) -> None:
        environment = name.replace("-", "_")
        if environment not in ENVIRONMENTS:
            known = ", ".join(sorted(ENVIRONMENTS)).replace("_", "-")
            raise CommandError(f"There is no environment {name}; there are {known}.")
        database.prepare()
        named = {knob: options[knob] for knob in ("steps", "seed", "base_model") if options[knob] is not None}
        run, claimed = start(environment, dict(map(knob_and_value, options["set"])) | named)
        began = time.monotonic()
        try:
            self.train(run, claimed, quiet=options["json"])
        except KeyboardInterrupt:
            raise CommandError(f"{run.name} is paused; resume it on its page.", returncode=130) from None
        run.refresh_from_db()
        if run.state != Run.State.DONE:
            raise CommandError(run.error or f"{run.name} is {run.get_state_display().lower()}.")
        self.stderr.write(sentence(run))
        if options["json"]:
            self.stdout.write(json.dumps(result(run, time.monotonic() - began)))

    def train(self, run: Run, claimed: lease.Lease, *, quiet: bool) -> None:
        with ProgressBar(run.name, run.steps, shown=sys.stderr.isatty() or not quiet) as bar:
            bar.note("Loading")
            from training.runs import worker  # loads torch, which `manage.py` does not need otherwise

            worker.work(claimed, watch=bar.watch)


def knob_and_value(setting: str) -> tuple[str, Any]:
    """`group_size=4` as ("group_size", 4); what is not JSON is text."""
    knob, equals, value = setting.partition("=")
    if not equals:
        raise CommandError(f"--set {setting}: give KNOB=VALUE, such as --set group_size=4.")
    try:
        return knob.strip(), json.loads(value)
    except ValueError:
        return knob.strip(), value


def start(environment: str, config: dict[str, Any]) -> tuple[Run, lease.Lease]:
    """A new run that is ours from its first instant, so that no worker takes it."""
    owner = access.operator()
    try:
        with transaction.atomic():
            agent = services.agent_for(owner=owner, environment=environment)
            run = services.start_run(
                owner=owner,
                agent=agent,
                name=services.free_name(owner, environment.replace("_", "-")),
                config=config,
                request_id=uuid.uuid4().hex,
            )
            claimed = lease.claim(run.pk)
    except services.Refused as refused:
        raise CommandError(str(refused)) from None
    assert claimed is not None  # nobody else has seen it yet
    return run, claimed


def sentence(run: Run) -> str:
    """The run's headline, in words."""
    summary = run.summary
    before, after, difference = summary["baseline"], summary["trained"], summary["difference"]
    if not (before and after and difference):
        return f"{run.name} is done after {summary['steps']} steps."
    return (
        f"success {before['success']:.0%} → {after['success']:.0%} on {after['n']} unseen scenarios "
        f"(95 % CI {difference['low']:+.0f}…{difference['high']:+.0f}), "
        f"{summary['steps']} steps in {summary['seconds']:.0f} s"
    )


def result(run: Run, seconds: float) -> dict[str, Any]:
    """What --json prints."""
    told = ("baseline", "trained", "difference", "steps", "trajectories", "weights_sha256")
    return {
        "run": run.name,
        **{name: run.summary[name] for name in told},
        "seconds": round(seconds, 1),
        "peak_rss_mb": round(peak_rss_mb()),
    }


def peak_rss_mb() -> float:
    """The most memory this process and its largest child ever held."""
    unit = 1 if sys.platform == "darwin" else 1024
    peaks = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(peaks) * unit / 1e6
