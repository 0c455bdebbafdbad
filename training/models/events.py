"""What happened in a run, in order. A browser that knows the last `seq` it saw misses nothing."""

from django.db import models

from training.models.runs import Run


class Event(models.Model):
    """`key` is the same when a killed step is played again, so an event is written once."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="events", db_index=False)
    seq = models.PositiveIntegerField()
    kind = models.CharField(max_length=16)
    key = models.CharField(max_length=120)
    payload = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "seq"], name="event_seq_per_run"),
            models.UniqueConstraint(fields=["run", "key"], name="event_key_per_run"),
        ]
        ordering = ["seq"]
