"""What lists filter by stands in the trajectory's own row from now on. Alone, so that Postgres may alter after."""

from django.db import migrations, models


def copied_from_groups(apps, schema_editor):
    group = apps.get_model("training", "Group").objects.filter(pk=models.OuterRef("group"))
    columns = ("run", "label", "step", "scenario_key")
    apps.get_model("training", "Trajectory").objects.update(
        **{name: models.Subquery(group.values(name)) for name in columns}
    )


class Migration(migrations.Migration):
    dependencies = [("training", "0004_judges_and_review")]

    operations = [migrations.RunPython(copied_from_groups, migrations.RunPython.noop)]
