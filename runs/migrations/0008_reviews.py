import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import common.ids


class Migration(migrations.Migration):
    dependencies = [("runs", "0007_notices")]

    operations = [
        migrations.CreateModel(
            name="Note",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=common.ids.new_id, editable=False, unique=True)),
                ("author_label", models.CharField(max_length=260)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("text", models.TextField(max_length=4000)),
                ("edited_at", models.DateTimeField(null=True)),
                ("answer", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="notes", to="runs.sample")),
                ("api_key", models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="workspaces.apikey")),
                ("author", models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("run", models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="runs.run")),
                ("workspace", models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="workspaces.workspace")),
            ],
            options={
                "ordering": ["-id"],
                "abstract": False,
                "indexes": [models.Index(fields=["workspace", "-id"], name="notes_newest")],
            },
        ),
        migrations.CreateModel(
            name="VerdictOverride",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=common.ids.new_id, editable=False, unique=True)),
                ("author_label", models.CharField(max_length=260)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("correct", models.BooleanField()),
                ("score", models.FloatField()),
                ("reason", models.CharField(max_length=1000)),
                ("is_current", models.BooleanField(default=True)),
                ("withdrawn_at", models.DateTimeField(null=True)),
                ("withdrawn_by_label", models.CharField(blank=True, max_length=260)),
                ("answer", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="overrides", to="runs.sample")),
                ("api_key", models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="workspaces.apikey")),
                ("author", models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("run", models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="runs.run")),
                ("workspace", models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="workspaces.workspace")),
            ],
            options={
                "ordering": ["-id"],
                "abstract": False,
                "indexes": [models.Index(fields=["workspace", "-id"], name="overrides_newest")],
                "constraints": [
                    models.UniqueConstraint(condition=models.Q(("is_current", True)), fields=("answer",), name="override_current_once"),
                    models.CheckConstraint(condition=models.Q(("reason", ""), _negated=True), name="override_has_reason"),
                ],
            },
        ),
    ]
