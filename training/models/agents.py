"""An agent (system prompt, tools, base model, judge) and the scenarios it practises on."""

from django.conf import settings
from django.db import models


class Agent(models.Model):
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="agents")
    name = models.CharField(max_length=80)
    environment = models.CharField(max_length=80)
    system_prompt = models.TextField(blank=True)
    base_model = models.CharField(max_length=300, default="embedded")
    judge_model = models.CharField(max_length=200, default="artweb/offline")
    rubric = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="agent_name_per_owner")]

    def __str__(self) -> str:
        return self.name


class Scenario(models.Model):
    """One practice input. `expect` is what checks verify (see gpu_worker.types.Scenario)."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="scenarios")
    key = models.CharField(max_length=80)
    split = models.CharField(max_length=8)
    messages = models.JSONField()
    expect = models.JSONField(default=dict)
    tags = models.JSONField(default=list)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "key"], name="scenario_key_per_agent")]
        indexes = [models.Index(fields=["agent", "split"])]

    def __str__(self) -> str:
        return self.key
