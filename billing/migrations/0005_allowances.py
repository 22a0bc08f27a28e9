from typing import Any

from django.db import migrations, models


def carry_over(apps: Any, schema_editor: Any) -> None:
    """A budget counts against all allowances in one list, where it had one place for its key's and one for the month's."""
    budgets = apps.get_model("billing", "Budget").objects
    through = apps.get_model("billing", "Budget").allowances.through
    for side in ("key_allowance_id", "workspace_allowance_id"):
        rows = budgets.exclude(**{side: None}).values_list("pk", side).iterator()
        through.objects.bulk_create((through(budget_id=budget, allowance_id=allowance) for budget, allowance in rows), batch_size=1_000)


class Migration(migrations.Migration):
    dependencies = [("billing", "0004_payments")]

    operations = [
        migrations.AddField("budget", "allowances", models.ManyToManyField(related_name="budgets", to="billing.allowance")),
        migrations.RunPython(carry_over, migrations.RunPython.noop),
        migrations.RemoveField("budget", "key_allowance"),
        migrations.RemoveField("budget", "workspace_allowance"),
    ]
