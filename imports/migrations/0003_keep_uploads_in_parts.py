from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("imports", "0002_checks_that_create"),
    ]

    operations = [
        migrations.AddField(
            model_name="uploadfile",
            name="parts",
            field=models.JSONField(default=list),
        ),
    ]
