"""Which weights sampled a try, when a trainer last reported, and the knob that replaced refill_rounds."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

MOST = 8


def budget_instead_of_rounds(apps: Apps, schema: BaseDatabaseSchemaEditor) -> None:
    """A step of n refill rounds played at most 1 + n times its groups, which is what the budget says."""
    run_model = apps.get_model("training", "Run")
    for run in run_model.objects.filter(config__has_key="refill_rounds").only("config"):
        rounds = run.config.pop("refill_rounds")
        run.config.setdefault("sampling_budget", min(MOST, 1 + rounds))
        run.save(update_fields=["config"])


class Migration(migrations.Migration):
    dependencies = [
        ("training", "0001_tables"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="reported_at",
            field=models.DateTimeField(help_text="When the trainer last had something to report.", null=True),
        ),
        migrations.AddField(
            model_name="trajectory",
            name="policy_step",
            field=models.PositiveIntegerField(
                help_text="Training steps behind the weights that sampled it; empty where nobody noted it.",
                null=True,
            ),
        ),
        migrations.RunPython(budget_instead_of_rounds, migrations.RunPython.noop),
    ]
