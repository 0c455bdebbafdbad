"""Tools that tries called, by rising id of the try: new ones then go to the end of the index."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("training", "0013_measurements"),
    ]

    operations = [
        migrations.RemoveIndex(model_name="trajectorytool", name="training_tr_run_id_d834c1_idx"),
        migrations.AddIndex(
            model_name="trajectorytool",
            index=models.Index(fields=["run", "tool", "trajectory"], name="tools_of_run"),
        ),
    ]
