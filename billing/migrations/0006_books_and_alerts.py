import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("billing", "0005_allowances"),
    ]

    operations = [
        migrations.CreateModel(
            name="BookCheck",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField(unique=True)),
                ("started_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                ("found", models.PositiveIntegerField(default=0)),
                ("listing", models.TextField(blank=True)),
            ],
            options={"ordering": ["-day"]},
        ),
        migrations.AddField(
            model_name="spendalert",
            name="mailed_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
