import django.db.models.deletion
from django.db import migrations, models
from django.db.models import OuterRef, Subquery


def name_benchmarks(apps, schema_editor):
    """Shards take their subject's benchmark: until now a run had one."""
    shard, subject = apps.get_model("runs", "Shard"), apps.get_model("runs", "Subject")
    found = subject.objects.filter(pk=OuterRef("subject_id")).values("run_benchmark_id")[:1]
    shard.objects.update(run_benchmark=Subquery(found))


class Migration(migrations.Migration):
    dependencies = [("runs", "0010_exports")]

    operations = [
        migrations.AddField(
            "quote",
            "reused_run",
            models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="runs.run"),
        ),
        migrations.AddField("run", "attempts", models.PositiveSmallIntegerField(default=1)),
        migrations.AddField("runbenchmark", "first_position", models.PositiveIntegerField(default=0)),
        migrations.AddField("subject", "tallies", models.JSONField(default=dict)),
        migrations.AddField(
            "shard",
            "run_benchmark",
            models.ForeignKey(
                db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name="shards", to="runs.runbenchmark"
            ),
        ),
        migrations.AlterModelOptions("runbenchmark", options={"ordering": ["run_id", "index"]}),
        migrations.RunPython(name_benchmarks, migrations.RunPython.noop),
    ]
