"""Indexes of the list of tries, and the index that transcripts are searched by."""

import django.db.models.deletion
from django.db import migrations, models


def add_search(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        # No texts and no places: what is found is read in the transcripts themselves.
        schema_editor.execute(
            "CREATE VIRTUAL TABLE training_said USING fts5(text, content='', detail=none, tokenize='trigram')"
        )
    else:
        schema_editor.execute("CREATE TABLE training_said (id bigint PRIMARY KEY, grams int[] NOT NULL)")
        schema_editor.execute("CREATE INDEX training_said_grams ON training_said USING gin (grams)")


def drop_search(apps, schema_editor):
    schema_editor.execute("DROP TABLE training_said")


class Migration(migrations.Migration):
    dependencies = [
        ("training", "0006_trajectories_of_runs"),
    ]

    operations = [
        migrations.AlterField(
            model_name="score",
            name="trajectory",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="scores",
                to="training.trajectory",
            ),
        ),
        migrations.AlterField(
            model_name="trajectory",
            name="group",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="trajectories",
                to="training.group",
            ),
        ),
        migrations.AlterField(
            model_name="trajectory",
            name="run",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="trajectories",
                to="training.run",
            ),
        ),
        migrations.AlterField(
            model_name="trajectorytool",
            name="run",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="training.run",
            ),
        ),
        migrations.AlterField(
            model_name="trajectorytool",
            name="trajectory",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="tools_called",
                to="training.trajectory",
            ),
        ),
        migrations.AddIndex(
            model_name="trajectory",
            index=models.Index(fields=["run", "id"], name="tries_newest"),
        ),
        migrations.AddIndex(
            model_name="trajectory",
            index=models.Index(fields=["run", "label", "id"], name="tries_label"),
        ),
        migrations.AddIndex(
            model_name="trajectory",
            index=models.Index(fields=["run", "success", "id"], name="tries_success"),
        ),
        migrations.AddIndex(
            model_name="trajectory",
            index=models.Index(fields=["run", "scenario_key", "id"], name="tries_scenario"),
        ),
        migrations.AddIndex(
            model_name="trajectory",
            index=models.Index(fields=["run", "step", "id"], name="tries_step"),
        ),
        migrations.AddIndex(
            model_name="trajectory",
            index=models.Index(fields=["run", "reward", "id"], name="tries_reward"),
        ),
        migrations.AddIndex(
            model_name="trajectory",
            index=models.Index(fields=["run", "success", "reward", "id"], name="tries_success_reward"),
        ),
        migrations.AddIndex(
            model_name="trajectory",
            index=models.Index(fields=["run", "turns", "id"], name="tries_turns"),
        ),
        migrations.AddIndex(
            model_name="trajectory",
            index=models.Index(
                condition=models.Q(("advantage__isnull", False)),
                fields=["run", "advantage", "id"],
                name="tries_advantage",
            ),
        ),
        migrations.AddIndex(
            model_name="trajectory",
            index=models.Index(
                condition=models.Q(("ended", "answered"), _negated=True),
                fields=["run", "id", "ended"],
                name="tries_unfinished",
            ),
        ),
        migrations.AddIndex(
            model_name="trajectory",
            index=models.Index(
                condition=models.Q(("failed_calls__gt", 0)),
                fields=["run", "id", "failed_calls"],
                name="tries_failed_calls",
            ),
        ),
        migrations.AddIndex(
            model_name="trajectory",
            index=models.Index(
                condition=models.Q(("human__isnull", False)),
                fields=["run", "id", "human"],
                name="tries_human",
            ),
        ),
        migrations.RunPython(add_search, drop_search),
    ]
