"""What checkpoints make of the tokens of tries, measured when somebody asks."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("training", "0012_without_double_indexes"),
    ]

    operations = [
        migrations.CreateModel(
            name="Measurement",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "step",
                    models.PositiveIntegerField(
                        help_text="The checkpoint that was asked; 0 is the untrained model."
                    ),
                ),
                (
                    "segments",
                    models.JSONField(
                        default=list,
                        help_text='[{"logprobs": […], "entropies": […]}, …] in nats, null where nothing was drawn.',
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "errand",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="measurement",
                        to="training.errand",
                    ),
                ),
                (
                    "trajectory",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="measurements",
                        to="training.trajectory",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
    ]
