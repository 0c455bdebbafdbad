import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("training", "0005_trajectories_filled")]

    operations = [
        migrations.AlterField(
            model_name="trajectory",
            name="run",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="trajectories", to="training.run"
            ),
        ),
        migrations.AlterField("trajectory", "label", models.CharField(max_length=12)),
        migrations.AlterField("trajectory", "step", models.PositiveIntegerField()),
        migrations.AlterField("trajectory", "scenario_key", models.CharField(max_length=80)),
    ]
