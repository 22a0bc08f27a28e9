from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("runs", "0004_recorded_subjects")]

    operations = []
