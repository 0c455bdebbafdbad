"""Judges: where language models answer, the rubrics they were given, and what was found out about them."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from training.models.agents import Agent
from training.models.trajectories import Group


class Provider(models.Model):
    """Where language models answer. The key is sealed as training.secrets seals, and never shown again."""

    class Kind(models.TextChoices):
        HOSTED = "hosted", _("a hosted provider that litellm knows")
        URL = "url", _("any OpenAI-compatible address")
        OWN = "own", _("a checkpoint of my own")

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="providers")
    kind = models.CharField(max_length=8, choices=Kind.choices)
    name = models.SlugField(max_length=40, help_text="Models are called name:model.")
    litellm = models.CharField(
        max_length=40, blank=True, help_text="openai, anthropic, … where it is hosted."
    )
    api_base = models.CharField(max_length=300, blank=True)
    offers = models.JSONField(default=list, help_text="Names of its models that are offered in forms.")
    sealed = models.TextField(blank=True)
    last4 = models.CharField(max_length=4, blank=True)
    at_once = models.PositiveIntegerField(default=16, help_text="Questions that may be out at a time.")
    prices = models.JSONField(
        default=dict, help_text="{model: [dollars per million tokens of question, of answer]}"
    )
    test = models.JSONField(default=dict, help_text="{ok, said, model, seconds} of the newest test.")
    tested_at = models.DateTimeField(null=True)
    used_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="provider_name_per_owner")]
        ordering = ["name"]


class RubricVersion(models.Model):
    """A rubric as it was saved. The agent's own text is the newest; the default is not kept as a row."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="rubrics")
    number = models.PositiveIntegerField()
    text = models.TextField()
    note = models.CharField(max_length=200, blank=True)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "number"], name="rubric_number_per_agent")]
        ordering = ["-number"]


class JudgeTrial(models.Model):
    """One judgement of a group in the judge lab. Nothing of it touches the run.

    `positions` is a list of panels, each the indexes of its tries in the order they were shown: one panel
    for a small group; the panels of a large one share tries.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="judge_trials")
    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="trials")
    judge_model = models.CharField(max_length=200)
    rubric = models.TextField(blank=True, help_text="Empty is the default rubric.")
    rubric_sha256 = models.CharField(max_length=64)
    order = models.CharField(max_length=12, help_text="seeded, or flipped: its reverse")
    repeat = models.PositiveIntegerField(default=0)
    positions = models.JSONField(default=list, help_text="Indexes of the tries in the order they were shown.")
    scores = models.JSONField(default=dict, help_text="{index of the try: [score, explanation]}")
    judging = models.JSONField(default=dict, help_text="gpu_worker.types.Judging")
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["group", "judge_model", "rubric_sha256"])]
        ordering = ["id"]


class Ranking(models.Model):
    """A group ranked by hand. The newest that was not withdrawn counts."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="rankings")
    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="rankings")
    places = models.JSONField(help_text="Lists of indexes of tries, best first; those in one list are equal.")
    reason = models.TextField(blank=True)
    withdrawn_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
