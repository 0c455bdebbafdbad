"""Groups of tries and their scores. Large columns live in their own table, kept out of list queries."""

from django.conf import settings
from django.db import models

from training.models.fields import OrderedJSONField
from training.models.runs import Run


class Group(models.Model):
    """The tries at one scenario in one step. Held-out tries are groups of one, told apart by `label`."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="groups")
    label = models.CharField(max_length=12, help_text="train, baseline, validation or trained")
    split = models.CharField(max_length=8)
    step = models.PositiveIntegerField()
    index = models.PositiveIntegerField()
    scenario_key = models.CharField(max_length=80)
    prompt = models.TextField(help_text="What the user asked, for lists.")
    tools = OrderedJSONField(default=list)
    judge = models.CharField(max_length=200, blank=True)
    tries = models.PositiveIntegerField()
    successes = models.PositiveIntegerField()
    mean_reward = models.FloatField()
    best_reward = models.FloatField()
    tied = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "label", "step", "index"], name="group_place_in_run")
        ]
        indexes = [models.Index(fields=["run", "label", "-step", "-index"])]


class Trajectory(models.Model):
    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="trajectories")
    index = models.PositiveIntegerField()
    ended = models.CharField(max_length=20)
    note = models.TextField(blank=True)
    turns = models.PositiveIntegerField()
    sampled_tokens = models.PositiveIntegerField()
    reward = models.FloatField()
    success = models.BooleanField()
    advantage = models.FloatField(null=True, help_text="Empty for tries that were not trained on.")
    answer = models.TextField(blank=True, help_text="The last thing the agent said, for lists.")
    policy_step = models.PositiveIntegerField(
        null=True, help_text="Training steps behind the weights that sampled it; empty where nobody noted it."
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["group", "index"], name="trajectory_place_in_group")]
        ordering = ["index"]
        verbose_name_plural = "trajectories"


class TrajectoryRecord(models.Model):
    """segments is [{"ids": […], "logprobs": […], "mask": […]}, …]; messages are OpenAI chat messages."""

    trajectory = models.OneToOneField(
        Trajectory, on_delete=models.CASCADE, primary_key=True, related_name="record"
    )
    messages = models.JSONField()
    segments = models.JSONField()


class Score(models.Model):
    trajectory = models.ForeignKey(Trajectory, on_delete=models.CASCADE, related_name="scores")
    source = models.CharField(max_length=12)
    value = models.FloatField()
    explanation = models.TextField(blank=True)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["trajectory", "source"])]
