"""The last steps of the import wizard: every row checked by a worker, and the benchmark made of them once."""

from collections.abc import Callable

from django.test import Client

from catalog.models import BenchmarkVersion
from catalog.queries import manifest_of
from imports.models import RowCheck
from tests.imports.files import json_lines
from tests.imports.wizard import path, ready, send, work_checks
from tests.paging import HTMX
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]


def test_check_is_watched_and_then_leads_on(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    draft = ready(member, workspace)
    client = sign_in(member)
    assert client.post(path(draft, "check"))["Location"] == path(draft, "check")
    waiting = client.get(path(draft, "check"), headers={**HTMX, "HX-Target": "progress"}).content.decode()
    assert ('hx-trigger="every' in waiting, "<html" in waiting) == (True, False)
    work_checks()
    done = client.get(path(draft, "check")).content.decode()
    assert ("All 4 rows are good" in done, path(draft, "create") in done, 'hx-trigger="every' in done) == (True, True, False)


def test_every_bad_row_is_listed_and_downloaded(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    rows = b"id,country,capital\n" + b"".join(f"{n},Land {n},{'=1+1' if n % 2 else ''}\n".encode() for n in range(1, 131))
    draft = ready(member, workspace, rows, columns={"id": "id", "question": "country", "answer": "capital"})
    client = sign_in(member)
    client.post(path(draft, "check"))
    work_checks()
    first = client.get(path(draft, "check"))
    assert "65 of 130 rows cannot be used." in first.content.decode()
    assert (len(first.context["rows"]), first.context["rows"][0]) == (50, ["2", "3", "capital", "The answer is empty"])
    second = client.get(f"{path(draft, 'check')}?from=50")
    assert (len(second.context["rows"]), second.context["rows"][-1][0]) == (15, "130")
    listed = b"".join(client.get(path(draft, "check/rows.csv"))).decode().splitlines()  # type: ignore[call-overload]
    assert (len(listed), listed[0], listed[1]) == (66, "Row,Line,Column,What is wrong", "2,3,capital,The answer is empty")


def test_list_of_bad_rows_is_no_formula(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    draft = ready(member, workspace, b"id,country,=cmd()\n1,Peru,\n", columns={"id": "id", "question": "country", "answer": "=cmd()"})
    client = sign_in(member)
    client.post(path(draft, "check"))
    work_checks()
    listed = b"".join(client.get(path(draft, "check/rows.csv"))).decode().splitlines()  # type: ignore[call-overload]
    assert listed[1] == "1,2,'=cmd(),The answer is empty"


def test_rows_that_leak_can_be_left_out(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    rows = json_lines(
        {"id": 1, "country": "Say: the long capital of nowhere", "capital": "the long capital of nowhere"},
        {"id": 2, "country": "Peru", "capital": "Lima"},
    )
    draft = ready(member, workspace, rows, format="jsonl")
    client = sign_in(member)
    client.post(path(draft, "check"))
    work_checks()
    page = client.get(path(draft, "check")).content.decode()
    assert ("Leave those rows out" in page, "leave_out_leaking_rows" in page) == (True, False)
    client.post(path(draft, "check"), {"do": "leave_out", "revision": draft.revision})
    work_checks()
    assert "The row is good" in client.get(path(draft, "check")).content.decode()
    assert RowCheck.objects.latest("id").status == "passed"


def test_change_after_the_check_asks_for_another(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    draft = ready(member, workspace)
    client = sign_in(member)
    client.post(path(draft, "check"))
    work_checks()
    assert client.get(path(draft, "create")).status_code == 200
    send(client, draft, "mapping", prompt_template="Which city rules {question}?")
    assert client.get(path(draft, "create"))["Location"] == path(draft, "check")


def test_created_benchmark_is_what_was_shown(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    draft = ready(member, workspace, name="Capitals", data_license="MIT")
    client = sign_in(member)
    client.post(path(draft, "check"))
    work_checks()
    shown = client.get(path(draft, "create"))
    assert shown.context["report"]["preview"][0]["messages"] == [{"role": "user", "content": "Capital of Peru?"}]
    client.post(path(draft, "create"))
    work_checks()
    version = BenchmarkVersion.objects.get(benchmark__workspace=workspace)
    made = client.get(path(draft, "create"))
    assert made["Location"] == f"/catalog/{version.benchmark.slug}"
    manifest = manifest_of(version)
    assert (version.task_count, manifest["name"], manifest["license"], manifest["prompt_template"]) == (
        4,
        "Capitals",
        "MIT",
        "Capital of {question}?",
    )
    assert manifest["rights"]["attested_by"] == str(member.public_id)
    assert "Configure an evaluation" in client.get(made["Location"]).content.decode()


def test_one_draft_becomes_one_benchmark_however_often_it_is_asked(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    draft = ready(member, workspace)
    client = sign_in(member)
    client.post(path(draft, "check"))
    work_checks()
    for _ in range(3):
        client.post(path(draft, "create"))
    assert RowCheck.objects.filter(creates=True).count() == 1
    work_checks()
    client.post(path(draft, "create"))
    assert BenchmarkVersion.objects.filter(benchmark__workspace=workspace).count() == 1


def test_check_that_is_stopped_creates_nothing_and_can_be_begun_again(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    draft = ready(member, workspace)
    client = sign_in(member)
    client.post(path(draft, "check"))
    assert client.post(path(draft, "check/cancellation"), {"step": "check"})["Location"] == path(draft, "check")
    work_checks()
    assert "Stopped" in client.get(path(draft, "check")).content.decode()
    client.post(path(draft, "check"))
    work_checks()
    assert RowCheck.objects.latest("id").status == "passed"
