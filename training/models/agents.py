"""An agent (prompt, tools, base model, judge), its frozen versions, and the scenarios it practises on."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from training.models.fields import OrderedJSONField


class Agent(models.Model):
    """What a person edits in the wizard. A run trains one `AgentVersion`, which never changes."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="agents")
    name = models.CharField(max_length=80)
    description = models.TextField(blank=True, help_text="The task in the person's own words.")
    language = models.CharField(max_length=8, default="en", help_text="Of the questions it will be asked.")
    template = models.CharField(max_length=40, blank=True, help_text="The gallery's template it began with.")
    environment = models.CharField(max_length=80, help_text="authored, or one that comes with ArtWeb.")
    system_prompt = models.TextField(blank=True)
    base_model = models.CharField(max_length=300, default="embedded")
    judge_model = models.CharField(max_length=200, default="artweb/offline")
    rubric = models.TextField(blank=True)
    config = models.JSONField(default=dict, help_text="Knobs of gpu_worker.types.Job the person changed.")
    suggested = models.JSONField(
        default=list, help_text="Names of fields that were filled for the person and not looked at yet."
    )
    edits = models.PositiveIntegerField(default=0, help_text="Rises with every save; shows conflicts.")
    edited_at = models.DateTimeField(auto_now=True)
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="agent_name_per_owner")]

    def __str__(self) -> str:
        return self.name


class AgentVersion(models.Model):
    """An agent as it was when a run was started: everything but the scenarios, which are the run's own."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    content = OrderedJSONField(help_text="{description, language, environment, system_prompt, …, config}")
    tools = OrderedJSONField(default=list, help_text="[{name, description, parameters, kind, settings, …}]")
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "number"], name="version_number_per_agent")]
        ordering = ["number"]


class Scenario(models.Model):
    """One practice input. `expect` is what checks verify (see gpu_worker.types.Scenario)."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="scenarios")
    key = models.CharField(max_length=80)
    split = models.CharField(max_length=8)
    messages = models.JSONField()
    expect = models.JSONField(default=dict)
    tags = models.JSONField(default=list)
    kind = models.CharField(max_length=24, blank=True, help_text="single, filter, count, … or empty")
    rows = models.JSONField(default=list, help_text="Table rows it rests on, as table:row.")
    rubric = models.TextField(blank=True, help_text="What the judge looks at here; empty: the agent's.")
    source = models.CharField(max_length=12, default="template", help_text="written, generated, imported…")
    created_at = models.DateTimeField(auto_now_add=True, null=True)
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "key"], name="scenario_key_per_agent")]
        indexes = [models.Index(fields=["agent", "split"])]

    def __str__(self) -> str:
        return self.key


LIVING = Q(deleted_at=None)
"""Rows that were not put in the bin."""
