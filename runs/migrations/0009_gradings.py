import common.ids
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0008_reviews"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.CreateModel(
            name="Grading",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=common.ids.new_id, editable=False, unique=True)),
                ("number", models.PositiveIntegerField()),
                ("created_by_label", models.CharField(max_length=260)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("versions", models.JSONField()),
                ("claimed_until", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("problem", models.CharField(blank=True, max_length=400)),
                ("graded", models.PositiveIntegerField(default=0)),
                ("flips", models.PositiveIntegerField(default=0)),
                ("moves_ranking", models.BooleanField(null=True)),
                ("document", models.TextField(blank=True)),
                ("sha256", models.CharField(blank=True, max_length=64)),
                ("comparison", models.TextField(blank=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("run", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="gradings", to="runs.run")),
            ],
            options={
                "ordering": ["run_id", "number"],
            },
        ),
        migrations.CreateModel(
            name="Regrade",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("correct", models.BooleanField(null=True)),
                ("score", models.FloatField(null=True)),
                ("extracted", models.CharField(blank=True, max_length=500)),
                ("reason", models.CharField(blank=True, max_length=200)),
                ("is_unreadable", models.BooleanField(default=False)),
                ("is_flip", models.BooleanField(default=False)),
                ("grading", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="regrades", to="runs.grading")),
                ("sample", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="regrades", to="runs.sample")),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.AddConstraint(
            model_name="grading",
            constraint=models.UniqueConstraint(fields=("run", "number"), name="grading_once"),
        ),
        migrations.AddIndex(
            model_name="regrade",
            index=models.Index(condition=models.Q(("is_flip", True)), fields=["grading", "id"], name="regrade_flips"),
        ),
        migrations.AddConstraint(
            model_name="regrade",
            constraint=models.UniqueConstraint(fields=("grading", "sample"), name="regrade_once"),
        ),
    ]
