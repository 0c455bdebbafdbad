"""The tools of an agent, the tables they look into, the calls made by hand, and secrets they refer to."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from training.models.agents import Agent
from training.models.fields import OrderedJSONField


class TableFile(models.Model):
    """An uploaded table, checked and stored by content: `tables/<sha256>.sqlite` in the data directory.

    A changed table is a new row and a new file, so the version a run trained keeps its own.
    """

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="tables")
    name = models.CharField(max_length=60, help_text="As tools call it: letters, digits, underscores.")
    filename = models.CharField(max_length=200)
    format = models.CharField(max_length=8, help_text="csv, jsonl, xlsx or parquet")
    sha256 = models.CharField(max_length=64)
    bytes = models.PositiveBigIntegerField()
    rows = models.PositiveIntegerField()
    columns = OrderedJSONField(help_text="[{name, type, distinct, empty, longest, examples}, …]")
    reading = OrderedJSONField(default=dict, help_text="How it was read: encoding, delimiter, sheet…")
    problems = models.JSONField(default=list, help_text="Sentences with row and column.")
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True)


class Tool(models.Model):
    """What the agent may call. `settings` depends on the kind (see gpu_worker.types.ToolPlan)."""

    class Kind(models.TextChoices):
        TABLE = "table"
        HTTP = "http"
        PYTHON = "python"
        MCP = "mcp"
        SIMULATED = "simulated"

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="tools")
    position = models.PositiveIntegerField(default=0)
    name = models.CharField(max_length=64)
    description = models.TextField(blank=True)
    parameters = OrderedJSONField(default=dict)
    kind = models.CharField(max_length=12, choices=Kind.choices)
    settings = OrderedJSONField(default=dict)
    faults = models.JSONField(default=dict, help_text="{timeout, error, empty: share of calls} in training.")
    table = models.ForeignKey(TableFile, null=True, on_delete=models.CASCADE, related_name="tools")
    suggested = models.BooleanField(default=False, help_text="Made for the person and not looked at yet.")
    edited_at = models.DateTimeField(auto_now_add=True, help_text="When it last changed what it does.")
    tested_at = models.DateTimeField(null=True, help_text="When a call by hand last worked.")
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["agent", "name"], condition=Q(deleted_at=None), name="tool_name_per_agent"
            )
        ]
        ordering = ["position", "id"]

    def __str__(self) -> str:
        return self.name


class ToolCall(models.Model):
    """A call made by hand in the console; `kept` makes it an example or a test of the tool."""

    tool = models.ForeignKey(Tool, on_delete=models.CASCADE, related_name="calls")
    arguments = OrderedJSONField()
    result = models.TextField(help_text="The text the agent would see.")
    ok = models.BooleanField()
    seconds = models.FloatField()
    fault = models.CharField(max_length=12, blank=True)
    kept = models.CharField(max_length=8, blank=True, help_text="example, test or empty")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]


class Secret(models.Model):
    """A value tools and judges refer to by name. It is written, never shown again."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="secrets")
    name = models.CharField(max_length=60)
    sealed = models.TextField(help_text="Encrypted with the key in the secrets file.")
    last4 = models.CharField(max_length=4)
    created_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="secret_name_per_owner")]
        ordering = ["name"]
