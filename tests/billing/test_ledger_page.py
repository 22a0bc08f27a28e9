"""Looking for entries in the ledger, and the ledger as a file."""

import csv
import io
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from django.test import Client

from billing.enums import EntryKind
from billing.models import LedgerEntry
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]
PATH = "/settings/billing"
RUN = "0198c0de-0000-7000-8000-0000000000aa"


def enter(workspace: Workspace, kind: EntryKind, amount: int, at: str, *, source: str = "", note: str = "") -> LedgerEntry:
    """An entry of that moment (UTC), written after those before it."""
    wallet = workspace.wallet
    wallet.balance_microusd += amount
    wallet.save(update_fields=["balance_microusd"])
    return LedgerEntry.objects.create(
        wallet=wallet,
        kind=kind,
        amount_microusd=amount,
        balance_after_microusd=wallet.balance_microusd,
        source=source,
        note=note,
        idempotency_key=f"{at}:{note}:{kind}",
        created_at=datetime.fromisoformat(at).replace(tzinfo=UTC),
    )


@pytest.fixture
def ledger(workspace: Workspace) -> Workspace:
    """Four entries after the first: two of a run, and one on either side of a day."""
    enter(workspace, EntryKind.ADJUSTMENT, 5, "2025-11-02T23:59:59.999999", note="before")
    enter(workspace, EntryKind.USAGE, -1_000_250, "2025-11-03T00:00:00", source=f"run:{RUN}", note="example/large")
    enter(workspace, EntryKind.PLATFORM_FEE, -50_013, "2025-11-03T23:59:59.999999", source=f"run:{RUN}", note="example/large")
    enter(workspace, EntryKind.ADJUSTMENT, 7, "2025-11-04T00:00:00", note="after")
    return workspace


@pytest.mark.parametrize(
    ("wanted", "notes"),
    [
        ({}, ["after", "example/large", "example/large", "before", ""]),
        ({"kind": "usage"}, ["example/large"]),
        ({"kind": "refund"}, []),
        ({"start": "2025-11-03", "end": "2025-11-03"}, ["example/large", "example/large"]),
        ({"start": "2025-11-04", "end": "2025-11-04"}, ["after"]),
        ({"end": "2025-11-02"}, ["before"]),
        ({"run": RUN}, ["example/large", "example/large"]),
        ({"run": f" https://example.org/evaluations/{RUN.upper()}/samples "}, ["example/large", "example/large"]),
        ({"run": RUN.replace("aa", "ab")}, []),
        ({"run": RUN, "kind": "platform_fee"}, ["example/large"]),
    ],
)
def test_entries_are_found_by_kind_days_and_run(
    ledger: Workspace, viewer: User, sign_in: SignIn, wanted: dict[str, str], notes: list[str]
) -> None:
    """On the page, in the fragment and in the file alike."""
    client = sign_in(viewer)
    page, fragment = client.get(PATH, wanted), client.get(PATH, wanted, headers={"HX-Request": "true"})
    assert [[entry.note for entry in response.context["entries"].rows] for response in (page, fragment)] == [notes, notes]
    assert (page.content.count(b"<html"), fragment.content.count(b"<html")) == (1, 0)
    assert [row["note"] for row in read(client, wanted)] == notes


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"kind": "gift"}, "kind"),
        ({"start": "yesterday"}, "start"),
        ({"end": "2025-02-30"}, "end"),
        ({"end": "9999-12-31"}, "end"),
        ({"start": "2025-11-04", "end": "2025-11-03"}, "end"),
        ({"run": "the last one"}, "run"),
    ],
)
def test_what_cannot_be_looked_for_is_422(ledger: Workspace, viewer: User, sign_in: SignIn, wanted: dict[str, str], field: str) -> None:
    for path in (PATH, f"{PATH}/ledger.csv"):
        response = sign_in(viewer).get(path, wanted)
        assert (response.status_code, list(response.context["filters"].errors)) == (422, [field])


def test_file_has_whole_amounts_and_usd(ledger: Workspace, viewer: User, sign_in: SignIn) -> None:
    row = read(sign_in(viewer), {"kind": "usage"})[0]
    assert row == {
        "id": str(LedgerEntry.objects.get(kind=EntryKind.USAGE).public_id),
        "created_at": "2025-11-03T00:00:00.000000Z",
        "kind": "usage",
        "amount_microusd": "-1000250",
        "amount_usd": "-1.000250",
        "balance_after_microusd": "8999755",
        "balance_after_usd": "8.999755",
        "source": f"run:{RUN}",
        "note": "example/large",
    }


def test_no_text_of_the_file_begins_a_formula(workspace: Workspace, viewer: User, sign_in: SignIn) -> None:
    enter(workspace, EntryKind.ADJUSTMENT, 1, "2025-11-03T00:00:00", source="=1", note='=HYPERLINK("http://example.org")')
    row = read(sign_in(viewer), {})[0]
    assert (row["note"], row["source"]) == ('\'=HYPERLINK("http://example.org")', "'=1")


def test_file_is_one_query_however_long(
    workspace: Workspace, viewer: User, sign_in: SignIn, django_assert_num_queries: Callable[..., object]
) -> None:
    balance = workspace.wallet.balance_microusd
    LedgerEntry.objects.bulk_create(
        LedgerEntry(
            wallet=workspace.wallet,
            kind=EntryKind.ADJUSTMENT,
            amount_microusd=0,
            balance_after_microusd=balance,
            idempotency_key=f"many:{number}",
        )
        for number in range(2_500)
    )
    response = sign_in(viewer).get(f"{PATH}/ledger.csv")
    with django_assert_num_queries(1):  # type: ignore[attr-defined]
        parts = list(response.streaming_content)
    assert (len(parts), sum(part.count(b"\r\n") for part in parts)) == (4, 2_502)


def read(client: Client, wanted: dict[str, str]) -> list[dict[str, str]]:
    response = client.get(f"{PATH}/ledger.csv", wanted)
    assert (response.status_code, response["Content-Type"]) == (200, "text/csv; charset=utf-8")
    return list(csv.DictReader(io.StringIO(response.getvalue().decode())))
