"""What people add while they read: notes, tags, saved views, replays, measurements, comparisons."""

from django.conf import settings
from django.db import models

from training.models.agents import Agent
from training.models.errands import Errand
from training.models.runs import Run
from training.models.trajectories import Trajectory


class Note(models.Model):
    """A remark about a try, or about one of its messages."""

    trajectory = models.ForeignKey(Trajectory, on_delete=models.CASCADE, related_name="notes")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    message = models.PositiveIntegerField(null=True, help_text="Number of the message; empty: the whole try.")
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]


class TrajectoryTag(models.Model):
    trajectory = models.ForeignKey(Trajectory, on_delete=models.CASCADE, related_name="tags")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=40)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["trajectory", "name"], name="tag_once_per_trajectory")]
        indexes = [models.Index(fields=["run", "name", "-trajectory"])]
        ordering = ["name"]


class SavedView(models.Model):
    """Filters of the list of tries, saved under a name; `query` is the page's own query string."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views")
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=1000)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="view_name_per_owner")]
        ordering = ["name"]


class Replay(models.Model):
    """A try played again from one of its turns, by a checkpoint. The errand has how it went."""

    trajectory = models.ForeignKey(Trajectory, on_delete=models.CASCADE, related_name="replays")
    errand = models.OneToOneField(Errand, on_delete=models.CASCADE, related_name="replay")
    from_message = models.PositiveIntegerField(help_text="Messages before this one are kept as they were.")
    step = models.PositiveIntegerField(help_text="The checkpoint that played it.")
    seed = models.PositiveIntegerField(default=0)
    messages = models.JSONField(default=list)
    ended = models.CharField(max_length=20, blank=True)
    scores = models.JSONField(default=list, help_text="[[source, value, explanation], …]")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]


class Measurement(models.Model):
    """What a checkpoint makes of each sampled token of a try. The errand has how it went and a summary."""

    trajectory = models.ForeignKey(Trajectory, on_delete=models.CASCADE, related_name="measurements")
    errand = models.OneToOneField(Errand, on_delete=models.CASCADE, related_name="measurement")
    step = models.PositiveIntegerField(help_text="The checkpoint that was asked; 0 is the untrained model.")
    segments = models.JSONField(
        default=list,
        help_text='[{"logprobs": […], "entropies": […]}, …] in nats, null where nothing was drawn.',
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]


class Comparison(models.Model):
    """Contenders on the same held-out scenarios: checkpoints, the base model, models of any provider."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="comparisons")
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="comparisons")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="comparisons")
    name = models.CharField(max_length=120)
    split = models.CharField(max_length=8)
    scenario_keys = models.JSONField(default=list)
    contenders = models.JSONField(help_text="[{key, kind: base|checkpoint|model, title, step, model}, …]")
    errand = models.OneToOneField(Errand, null=True, on_delete=models.SET_NULL, related_name="comparison")
    request_id = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]


class ComparisonTry(models.Model):
    """One contender's try at one scenario; a missing one is not a passing one."""

    comparison = models.ForeignKey(Comparison, on_delete=models.CASCADE, related_name="tries")
    contender = models.CharField(max_length=60, help_text="Its key.")
    scenario_key = models.CharField(max_length=80)
    success = models.BooleanField(default=False)
    reward = models.FloatField(default=0.0)
    ended = models.CharField(max_length=20, blank=True)
    turns = models.PositiveIntegerField(default=0)
    tokens = models.PositiveIntegerField(default=0, help_text="Tokens the contender wrote.")
    seconds = models.FloatField(default=0.0)
    cost = models.FloatField(null=True, help_text="Dollars; empty where nobody knows the price.")
    messages = models.JSONField(default=list)
    scores = models.JSONField(default=list, help_text="[[source, value, explanation], …]")
    error = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["comparison", "contender", "scenario_key"], name="try_once_per_comparison"
            )
        ]


class BlindVote(models.Model):
    """Which of two contenders' tries at a scenario somebody found better, not knowing whose they were."""

    class Choice(models.TextChoices):
        LEFT = "left"
        TIE = "tie"
        RIGHT = "right"
        SKIP = "skip"

    comparison = models.ForeignKey(
        Comparison, on_delete=models.CASCADE, related_name="blind_votes", db_index=False
    )
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    scenario_key = models.CharField(max_length=80)
    left = models.CharField(max_length=60, help_text="Key of the contender that stood left.")
    right = models.CharField(max_length=60)
    choice = models.CharField(max_length=8, choices=Choice.choices)
    given_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["comparison", "author", "scenario_key", "left", "right"],
                name="blind_vote_once_per_pair",
            )
        ]
        ordering = ["-given_at", "-id"]
