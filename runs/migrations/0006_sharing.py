"""Links to results, and results published on a benchmark's page."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import common.ids


class Migration(migrations.Migration):
    dependencies = [("runs", "0005_groups")]

    operations = [
        migrations.CreateModel(
            name="Share",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=common.ids.new_id, editable=False, unique=True)),
                ("token_sha256", models.CharField(max_length=64, unique=True)),
                ("secret", models.TextField()),
                ("title", models.CharField(blank=True, max_length=160)),
                ("labels", models.JSONField(default=dict)),
                ("shows_samples", models.BooleanField(default=False)),
                ("shows_cost", models.BooleanField(default=False)),
                ("shows_workspace", models.BooleanField(default=False)),
                ("created_by_label", models.CharField(max_length=260)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField(null=True)),
                ("revoked_at", models.DateTimeField(null=True)),
                ("revoked_by_label", models.CharField(blank=True, max_length=260)),
                ("opened_count", models.PositiveIntegerField(default=0)),
                ("last_opened_at", models.DateTimeField(null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("result", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="runs.resultversion")),
                ("run", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="shares", to="runs.run")),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="Publication",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=common.ids.new_id, editable=False, unique=True)),
                ("publisher", models.CharField(max_length=120)),
                ("label", models.CharField(max_length=200)),
                ("model", models.CharField(max_length=300)),
                ("protocol", models.TextField()),
                ("protocol_sha256", models.CharField(max_length=64)),
                ("figures", models.JSONField()),
                ("scores", models.BinaryField()),
                ("published_by_label", models.CharField(max_length=260)),
                ("published_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("withdrawn_at", models.DateTimeField(null=True)),
                ("withdrawn_by_label", models.CharField(blank=True, max_length=260)),
                ("hidden_at", models.DateTimeField(null=True)),
                ("hidden_by_label", models.CharField(blank=True, max_length=260)),
                ("hidden_reason", models.CharField(blank=True, max_length=300)),
                (
                    "published_by",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "result",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="publications", to="runs.resultversion"),
                ),
                ("subject", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="runs.subject")),
                (
                    "version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="publications", to="catalog.benchmarkversion"
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="publications", to="workspaces.workspace"),
                ),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("hidden_at__isnull", True), ("withdrawn_at__isnull", True)),
                        fields=["version", "-id"],
                        name="publication_shown",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("withdrawn_at__isnull", True)), fields=("result", "subject", "version"), name="published_once"
                    )
                ],
            },
        ),
    ]
