"""Groups of tries and their scores. Large columns live in their own table, kept out of list queries."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from training.models.fields import OrderedJSONField
from training.models.runs import Run


class Group(models.Model):
    """The tries at one scenario in one step. Held-out tries are groups of one, told apart by `label`."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="groups", db_index=False)
    label = models.CharField(max_length=12, help_text="train, baseline, validation or trained")
    split = models.CharField(max_length=8)
    step = models.PositiveIntegerField()
    index = models.PositiveIntegerField()
    scenario_key = models.CharField(max_length=80)
    prompt = models.TextField(help_text="What the user asked, for lists.")
    tools = OrderedJSONField(default=list)
    judge = models.CharField(max_length=200, blank=True)
    judging = models.JSONField(default=dict, help_text="gpu_worker.types.Judging: calls, seconds, cost, …")
    rubric = models.TextField(blank=True, help_text="The scenario's own rubric, where it has one.")
    tries = models.PositiveIntegerField()
    successes = models.PositiveIntegerField()
    mean_reward = models.FloatField()
    best_reward = models.FloatField()
    tied = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    drawn: list["Trajectory"]
    """Its tries with what a card draws of them, where `runs.queries` has read it for one."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "label", "step", "index"], name="group_place_in_run")
        ]
        indexes = [
            models.Index(fields=["run", "label", "-step", "-index"]),
            models.Index(fields=["run", "scenario_key", "step"]),
        ]


class Trajectory(models.Model):
    """Narrow, for lists: what a list filters by stands here too, copied from the group when it is written."""

    # The indexes of both begin those below; others would only be written.
    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="trajectories", db_index=False)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="trajectories", db_index=False)
    label = models.CharField(max_length=12)
    step = models.PositiveIntegerField()
    scenario_key = models.CharField(max_length=80)
    index = models.PositiveIntegerField()
    ended = models.CharField(max_length=20)
    note = models.TextField(blank=True)
    turns = models.PositiveIntegerField()
    sampled_tokens = models.PositiveIntegerField()
    calls = models.PositiveIntegerField(default=0, help_text="Tool calls.")
    failed_calls = models.PositiveIntegerField(default=0, help_text="Tool calls that came back as an error.")
    reward = models.FloatField(help_text="As it was judged in the run; a person's score never changes it.")
    human = models.FloatField(null=True, help_text="The newest person's score that was not withdrawn.")
    success = models.BooleanField()
    advantage = models.FloatField(null=True, help_text="Empty for tries that were not trained on.")
    answer = models.TextField(blank=True, help_text="The last thing the agent said, for lists.")
    policy_step = models.PositiveIntegerField(
        null=True, help_text="Training steps behind the weights that sampled it; empty where nobody noted it."
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["group", "index"], name="trajectory_place_in_group")]
        indexes = [  # of the list of tries: each has the tries of a run in an order, or those that are rare
            models.Index(fields=["run", "id"], name="tries_newest"),
            models.Index(fields=["run", "label", "id"], name="tries_label"),
            models.Index(fields=["run", "success", "id"], name="tries_success"),
            models.Index(fields=["run", "scenario_key", "id"], name="tries_scenario"),
            models.Index(fields=["run", "step", "id"], name="tries_step"),
            models.Index(fields=["run", "reward", "id"], name="tries_reward"),
            models.Index(fields=["run", "success", "reward", "id"], name="tries_success_reward"),
            models.Index(fields=["run", "turns", "id"], name="tries_turns"),
            models.Index(
                fields=["run", "advantage", "id"],
                name="tries_advantage",
                condition=models.Q(advantage__isnull=False),
            ),
            models.Index(
                fields=["run", "id", "ended"], name="tries_unfinished", condition=~models.Q(ended="answered")
            ),
            models.Index(
                fields=["run", "id", "failed_calls"],
                name="tries_failed_calls",
                condition=models.Q(failed_calls__gt=0),
            ),
            models.Index(
                fields=["run", "id", "human"],
                name="tries_human",
                condition=models.Q(human__isnull=False),
            ),
        ]
        ordering = ["index"]
        verbose_name_plural = "trajectories"


class TrajectoryRecord(models.Model):
    """segments is [{"ids": […], "logprobs": […], "mask": […]}, …]; messages are OpenAI chat messages."""

    trajectory = models.OneToOneField(
        Trajectory, on_delete=models.CASCADE, primary_key=True, related_name="record"
    )
    messages = models.JSONField()
    segments = models.JSONField()


class TrajectoryTool(models.Model):
    """Which tools a try called, for the filter of the list; as often as it called them is not kept."""

    trajectory = models.ForeignKey(
        Trajectory, on_delete=models.CASCADE, related_name="tools_called", db_index=False
    )
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+", db_index=False)
    tool = models.CharField(max_length=80)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["trajectory", "tool"], name="tool_once_per_trajectory")
        ]
        indexes = [models.Index(fields=["run", "tool", "trajectory"], name="tools_of_run")]


class Score(models.Model):
    """Scores are only ever added. A person's may be withdrawn, and says what it is for."""

    class Use(models.TextChoices):
        REWARD = "reward", _("reward: the agent learns from it")
        CALIBRATION = "calibration", _("calibration only")

    trajectory = models.ForeignKey(
        Trajectory, on_delete=models.CASCADE, related_name="scores", db_index=False
    )
    source = models.CharField(max_length=12)
    value = models.FloatField()
    explanation = models.TextField(blank=True)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, db_index=False)
    use = models.CharField(max_length=12, choices=Use.choices, blank=True, help_text="Of a person's score.")
    withdrawn_at = models.DateTimeField(null=True)
    learned_step = models.PositiveIntegerField(null=True, help_text="The step that learned from it.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["trajectory", "source"])]
