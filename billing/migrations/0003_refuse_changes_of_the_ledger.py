"""The database itself refuses to change or delete ledger entries.

SQLite drops a table's triggers when a later migration rebuilds the table: such a migration must put them back (`refuse_changes`).
`tests/billing/test_append_only.py` fails where that was forgotten.
"""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

MESSAGE = "ledger entries are never changed or deleted; write another entry"

SQLITE = {
    f"ledger_refuses_{verb}": f"CREATE TRIGGER ledger_refuses_{verb} BEFORE {verb.upper()} ON billing_ledgerentry "
    f"BEGIN SELECT RAISE(ABORT, '{MESSAGE}'); END"
    for verb in ("update", "delete")
}

# 23001 (restrict_violation) arrives as Django's IntegrityError, as SQLite's RAISE does. A row trigger lets TRUNCATE pass.
POSTGRESQL = f"""
CREATE FUNCTION ledger_refuses_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '{MESSAGE}' USING ERRCODE = '23001';
END $$;
CREATE TRIGGER ledger_refuses_changes BEFORE UPDATE OR DELETE ON billing_ledgerentry
    FOR EACH ROW EXECUTE FUNCTION ledger_refuses_changes();
"""


def refuse_changes(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    vendor = schema_editor.connection.vendor
    if vendor == "sqlite":
        for statement in SQLITE.values():
            schema_editor.execute(statement)
    elif vendor == "postgresql":
        schema_editor.execute(POSTGRESQL)
    else:
        raise NotImplementedError(f"no trigger is written for {vendor}: the ledger would not be append-only")


def allow_changes(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if schema_editor.connection.vendor == "sqlite":
        for name in SQLITE:
            schema_editor.execute(f"DROP TRIGGER {name}")
    else:
        schema_editor.execute("DROP TRIGGER ledger_refuses_changes ON billing_ledgerentry; DROP FUNCTION ledger_refuses_changes();")


class Migration(migrations.Migration):
    dependencies = [("billing", "0002_initial")]

    operations = [migrations.RunPython(refuse_changes, allow_changes)]
