import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0011_several_benchmarks")]

    operations = [
        migrations.AlterField(
            "shard",
            "run_benchmark",
            models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="shards", to="runs.runbenchmark"),
        ),
        migrations.RemoveField("subject", "run_benchmark"),
        migrations.RemoveField("subject", "output_limit"),
    ]
