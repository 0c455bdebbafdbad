"""Work that a page asked for and that takes a while: reading a file, inventing scenarios, a call by hand."""

from django.conf import settings
from django.db import models

from training.models.agents import Agent


class Errand(models.Model):
    """The row is the truth; a queue message only says "look at it". Pages show what stands here."""

    class State(models.TextChoices):
        WAITING = "waiting"
        WORKING = "working"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    OVER = (State.DONE, State.FAILED, State.CANCELLED)

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="errands")
    agent = models.ForeignKey(Agent, null=True, on_delete=models.CASCADE, related_name="errands")
    kind = models.CharField(max_length=24)
    arguments = models.JSONField(default=dict)
    state = models.CharField(max_length=12, choices=State.choices, default=State.WAITING, db_index=True)
    wish = models.CharField(max_length=8, blank=True, help_text="cancel, or empty")
    what = models.CharField(max_length=200, blank=True, help_text="What is being done, in words.")
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    cost = models.FloatField(default=0.0, help_text="Dollars.")
    result = models.JSONField(default=dict)
    error = models.TextField(blank=True, help_text="Why it failed, in words a person can act on.")
    attempts = models.PositiveIntegerField(default=0)
    beat_at = models.DateTimeField(null=True, help_text="When the worker last gave a sign of life.")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]


class Preset(models.Model):
    """Knobs saved under a name, to start other runs with."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="presets")
    name = models.CharField(max_length=80)
    config = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="preset_name_per_owner")]
        ordering = ["name"]
