"""A run (one training of one agent) and what it leaves behind: metrics, evaluations, checkpoints."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from training.models.agents import Agent, AgentVersion


class Run(models.Model):
    """The row is the truth about a run; a queue message only says "look at it".

    `worker`, `epoch` and `lease_until` say who owns it: a worker writes only under the epoch it
    claimed, so a run never has two owners. `wish` is what the person asked for, read between steps.
    """

    class State(models.TextChoices):
        DRAFT = "draft", _("Draft")
        QUEUED = "queued", _("Queued")
        PREPARING = "preparing", _("Preparing")
        BASELINE = "baseline", _("Baseline evaluation")
        TRAINING = "training", _("Training")
        PAUSED = "paused", _("Paused")
        EVALUATING = "evaluating", _("Evaluating")
        DONE = "done", _("Done")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Cancelled")

    ACTIVE = (State.PREPARING, State.BASELINE, State.TRAINING, State.EVALUATING)
    OVER = (State.DONE, State.FAILED, State.CANCELLED)

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="runs")
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="runs")
    version = models.ForeignKey(
        AgentVersion, null=True, on_delete=models.PROTECT, related_name="runs", help_text="What it trains."
    )
    name = models.CharField(max_length=80)
    state = models.CharField(max_length=12, choices=State.choices, default=State.DRAFT, db_index=True)
    wish = models.CharField(max_length=8, blank=True)
    config = models.JSONField(default=dict, help_text="The knobs of gpu_worker.types.Job, frozen at start.")
    request_id = models.CharField(max_length=64, unique=True, help_text="Makes starting a run idempotent.")

    step = models.PositiveIntegerField(default=0)
    steps = models.PositiveIntegerField(default=0)
    progress = models.JSONField(default=dict, help_text="{what, done, total} of the present phase.")
    last_seq = models.PositiveIntegerField(default=0)
    summary = models.JSONField(default=dict, help_text="Set when done: baseline, trained, seconds, interval…")
    error = models.TextField(blank=True, help_text="Why it failed, in words a person can act on.")
    estimate = models.JSONField(default=dict, help_text="What was foretold at the start.")

    worker = models.CharField(max_length=120, blank=True)
    epoch = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    reported_at = models.DateTimeField(null=True, help_text="When the trainer last had something to report.")
    attempts = models.PositiveIntegerField(default=0, help_text="Claims since a step was last finished.")
    queued_at = models.DateTimeField(null=True)

    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="run_name_per_owner")]
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.name


class StepMetrics(models.Model):
    """The numbers of one finished step: reward, success, loss, entropy, seconds, tokens…"""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="step_metrics")
    step = models.PositiveIntegerField()
    values = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "step"], name="metrics_per_step")]
        ordering = ["step"]


class Evaluation(models.Model):
    """One pass over held-out scenarios. `outcomes` is [[scenario key, success, reward], …]."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="evaluations")
    label = models.CharField(max_length=12)
    step = models.PositiveIntegerField()
    split = models.CharField(max_length=8)
    success = models.FloatField()
    reward = models.FloatField()
    count = models.PositiveIntegerField()
    low = models.FloatField(help_text="Lower end of the 95 % interval of success.")
    high = models.FloatField(help_text="Upper end of the 95 % interval of success.")
    outcomes = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "label", "step"], name="evaluation_per_step")]
        ordering = ["step"]


class Checkpoint(models.Model):
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="checkpoints")
    step = models.PositiveIntegerField()
    directory = models.CharField(max_length=300)
    sha256 = models.CharField(max_length=64)
    bytes = models.PositiveBigIntegerField()
    kept = models.BooleanField(default=True, help_text="False once retention removed the files.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "step"], name="checkpoint_per_step")]
        ordering = ["step"]


class RunScenarios(models.Model):
    """The scenarios as they were when the run was started, so that a resumed run plays the very same ones."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, primary_key=True, related_name="scenarios")
    values = models.JSONField(help_text="[{id, split, messages, expect, tags}, …]")
