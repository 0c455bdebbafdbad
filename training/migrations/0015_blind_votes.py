"""What people say of two tries of a comparison without knowing whose they are."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("training", "0014_tools_rising"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="BlindVote",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("scenario_key", models.CharField(max_length=80)),
                ("left", models.CharField(help_text="Key of the contender that stood left.", max_length=60)),
                ("right", models.CharField(max_length=60)),
                (
                    "choice",
                    models.CharField(
                        choices=[("left", "Left"), ("tie", "Tie"), ("right", "Right"), ("skip", "Skip")],
                        max_length=8,
                    ),
                ),
                ("given_at", models.DateTimeField(auto_now=True)),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "comparison",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="blind_votes",
                        to="training.comparison",
                    ),
                ),
            ],
            options={
                "ordering": ["-given_at", "-id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("comparison", "author", "scenario_key", "left", "right"),
                        name="blind_vote_once_per_pair",
                    )
                ],
            },
        ),
    ]
