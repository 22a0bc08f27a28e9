"""The ledger is append-only also for whoever reaches the database past our code."""

import pytest
from django.db import IntegrityError, connection, transaction

from billing.models import LedgerEntry
from tests.factories import make_workspace
from workspaces.models import Workspace


@pytest.mark.parametrize("column", [field.column for field in LedgerEntry._meta.concrete_fields])
def test_update_of_any_column_is_refused_by_the_database(workspace: Workspace, column: str) -> None:
    with pytest.raises(IntegrityError, match="never changed or deleted"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"UPDATE billing_ledgerentry SET {column} = {column}")  # even to what it is


def test_delete_is_refused_by_the_database(workspace: Workspace) -> None:
    with pytest.raises(IntegrityError, match="never changed or deleted"), transaction.atomic():
        LedgerEntry.objects.all().delete()
    assert LedgerEntry.objects.count() == 1


def test_entry_that_is_saved_again_is_refused(workspace: Workspace) -> None:
    entry = LedgerEntry.objects.get()
    entry.amount_microusd += 1
    with pytest.raises(IntegrityError), transaction.atomic():
        entry.save()
    assert LedgerEntry.objects.get().amount_microusd == 10_000_000


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("turn", [1, 2])
def test_tables_are_emptied_between_tests(turn: int) -> None:
    """Tests that commit are cleaned up by emptying every table, the ledger's too (`tests.conftest` for SQLite)."""
    assert LedgerEntry.objects.count() == 0
    make_workspace(credit=1)
