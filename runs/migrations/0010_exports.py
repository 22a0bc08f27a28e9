import common.ids
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0009_gradings")]

    operations = [
        migrations.CreateModel(
            name="Export",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=common.ids.new_id, editable=False, unique=True)),
                ("format", models.CharField(max_length=12)),
                ("has_answers", models.BooleanField()),
                ("storage_key", models.CharField(max_length=200)),
                ("sha256", models.CharField(blank=True, max_length=64)),
                ("bytes", models.PositiveBigIntegerField(default=0)),
                ("claim", models.UUIDField(default=common.ids.new_id)),
                ("claimed_until", models.DateTimeField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("made_at", models.DateTimeField(null=True)),
                (
                    "result",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="exports", to="runs.resultversion"),
                ),
            ],
            options={"constraints": [models.UniqueConstraint(fields=["result", "format"], name="export_once")]},
        ),
    ]
