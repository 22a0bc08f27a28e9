"""The rules of drafts: whose they are, how they are kept, and what happens when two tabs change one."""

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from catalog.models import BenchmarkVersion
from common.errors import Conflict
from imports.actions.checking import run_check, start_check, sweep_checks
from imports.actions.drafts import MAX_DRAFTS, Seen, create_draft, expire_drafts, save_draft
from imports.models import ImportDraft, RowCheck, Upload
from imports.queries.drafts import drafts_of
from tests.factories import make_user
from tests.imports.wizard import START, begin, path, ready, send, state_of, work_checks
from workspaces.actors import SYSTEM, actor_of_user
from workspaces.enums import Role
from workspaces.models import Membership, User, Workspace

SignIn = Callable[[User], Client]
PAGES = ("source", "preview", "mapping", "grading", "rights", "check", "create")


# ── Whose ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_draft_is_its_persons_own(workspace: Workspace, member: User, owner: User, stranger: User, sign_in: SignIn) -> None:
    draft = ready(member, workspace)
    for other in (owner, stranger):
        client = sign_in(other)
        assert {client.get(path(draft, page)).status_code for page in (*PAGES, "check/rows.csv")} == {404}
        assert client.post(path(draft, "discarding")).status_code == 404
        assert "capitals.csv" not in client.get(START).content.decode().partition("Or a file that is here already")[0]
    assert ImportDraft.objects.filter(pk=draft.pk).exists()


def test_viewer_is_told_why_not(workspace: Workspace, member: User, viewer: User, sign_in: SignIn) -> None:
    draft = ready(member, workspace)
    client = sign_in(viewer)
    response = client.get(START)
    assert (response.status_code, "Viewers read results." in response.content.decode()) == (403, True)
    assert client.get(path(draft, "preview")).status_code == 403
    assert "Import a benchmark" not in client.get("/catalog").content.decode()


def test_draft_of_who_may_import_no_more_is_closed(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    draft = ready(member, workspace)
    check = start_check(draft, actor=actor_of_user(member))
    Membership.objects.filter(user=member, workspace=workspace).update(role=Role.VIEWER)
    assert sign_in(member).get(path(draft, "preview")).status_code == 403
    run_check(check, actor=SYSTEM)
    check.refresh_from_db()
    assert (check.status, BenchmarkVersion.objects.count()) == ("refused", 0)


def test_draft_stays_in_the_workspace_it_was_begun_in(
    workspace: Workspace, member: User, other_workspace: Workspace, sign_in: SignIn
) -> None:
    draft = ready(member, workspace)
    Membership.objects.create(user=member, workspace=other_workspace, role=Role.MEMBER)
    client = sign_in(member)
    client.post("/workspace", {"workspace": other_workspace.public_id, "next": "/catalog"})
    assert client.get(path(draft, "preview")).context["form_workspace"] == workspace
    assert client.get(START).context["drafts"].count() == 0


# ── The way through ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("done", "first"), [(1, "preview"), (2, "mapping"), (3, "grading"), (4, "rights"), (5, "check")])
def test_jumping_ahead_goes_to_the_first_open_step_and_back_always_works(
    done: int, first: str, workspace: Workspace, member: User, sign_in: SignIn
) -> None:
    draft = begin(member, workspace, done=done, columns={"question": "country", "answer": "capital"}, prompt_template="{question}")
    client = sign_in(member)
    reached = PAGES.index(first)
    assert {client.get(path(draft, page)).status_code for page in PAGES[: reached + 1]} == {200}
    assert {client.get(path(draft, page)).get("Location") for page in PAGES[reached + 1 :]} == {path(draft, first)}
    assert client.get(f"{START}/{draft.public_id}")["Location"] == path(draft, first)


def test_draft_survives_leaving_and_is_offered_again(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    draft = begin(member, workspace, done=3)
    text = sign_in(member).get(START).content.decode()
    assert ("Continue your draft" in text, f'href="{START}/{draft.public_id}"' in text) == (True, True)


def test_draft_holds_no_row_and_no_token(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    content = b"id,country,capital\n1,Peru-4711,Lima-4712\n2,France-4713,Paris-4714\n"
    draft = ready(member, workspace, content)
    client = sign_in(member)
    for step in ("preview", "mapping", "grading"):
        send(client, draft, step, token="hf_" + "x" * 30)
    client.post(f"{START}/huggingface", {"reference": "not a name", "token": "hf_" + "x" * 30})
    kept = json.dumps([each.state for each in ImportDraft.objects.all()])
    assert [words for words in ("4711", "4712", "4713", "4714", "hf_x") if words in kept] == []


def test_expired_draft_is_gone_and_deleted_with_its_list(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    draft, other = ready(member, workspace), ready(member, workspace)
    ImportDraft.objects.filter(pk=draft.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    client = sign_in(member)
    assert client.get(path(draft, "preview")).status_code == 404
    assert expire_drafts(actor=SYSTEM) == 1
    assert list(ImportDraft.objects.all()) == [other]


def test_draft_lives_a_day_from_its_last_change(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    draft = begin(member, workspace, done=2)
    ImportDraft.objects.filter(pk=draft.pk).update(expires_at=timezone.now() + timedelta(minutes=1))
    send(sign_in(member), draft, "mapping", do="")
    draft.refresh_from_db()
    assert draft.expires_at > timezone.now() + timedelta(hours=23)


def test_discarded_draft_is_gone_and_its_file_stays(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    draft = ready(member, workspace)
    client = sign_in(member)
    assert client.post(path(draft, "discarding"))["Location"] == START
    assert ImportDraft.objects.count() == 0
    assert client.post(f"{START}/selection", {"source": draft.source}).status_code == 302


def test_person_has_a_bounded_number_of_drafts(workspace: Workspace, member: User) -> None:
    first = create_draft(workspace, actor=actor_of_user(member))
    for _ in range(MAX_DRAFTS):
        create_draft(workspace, actor=actor_of_user(member))
    assert (drafts_of(member, workspace).count(), ImportDraft.objects.filter(pk=first.pk).exists()) == (MAX_DRAFTS, False)


# ── Two tabs ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_older_tab_overwrites_nothing_and_loses_nothing(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    draft = begin(member, workspace, done=4, columns={"question": "country", "answer": "capital"}, prompt_template="{question}")
    client = sign_in(member)
    send(client, draft, "rights", name="From the newer tab", attested="on")
    late = client.post(
        path(draft, "rights"), {"revision": draft.revision, "name": "From the older tab", "attested": "on", "license": "private"}
    )
    text = late.content.decode()
    assert (late.status_code, "Not saved" in text, 'value="From the older tab"' in text) == (409, True, True)
    assert state_of(draft)["name"] == "From the newer tab"
    again = client.post(
        path(draft, "rights"),
        {"revision": late.context["draft"].revision, "name": "From the older tab", "attested": "on", "license": "private"},
    )
    assert (again.status_code, state_of(draft)["name"]) == (302, "From the older tab")


def test_one_tab_does_not_stand_in_its_own_way(workspace: Workspace, member: User) -> None:
    draft = begin(member, workspace)
    actor = actor_of_user(member)
    save_draft(draft, actor=actor, seen=Seen(1, "tab", 10), changes={"name": "a"})
    save_draft(draft, actor=actor, seen=Seen(1, "tab", 20), changes={"name": "b"})
    save_draft(draft, actor=actor, seen=Seen(1, "tab", 15), changes={"name": "late on the way"})
    assert state_of(draft)["name"] == "b"
    with pytest.raises(Conflict) as refused:
        save_draft(draft, actor=actor, seen=Seen(1, "other", 30), changes={"name": "c"})
    assert (refused.value.code, state_of(draft)["name"]) == ("draft_changed", "b")


def test_two_people_in_one_workspace_have_drafts_of_their_own(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    other = make_user(workspace=workspace, role=Role.MEMBER)
    begin(member, workspace)
    begin(other, workspace)
    assert sign_in(member).get(START).context["drafts"].count() == 1


# ── Checks without a worker ─────────────────────────────────────────────────────────────────────────────────────────


def test_check_that_no_worker_takes_ends(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    draft = ready(member, workspace)
    client = sign_in(member)
    client.post(path(draft, "check"))
    RowCheck.objects.update(created_at=timezone.now() - timedelta(minutes=11))
    text = client.get(path(draft, "check")).content.decode()
    assert "No worker has finished this in its time." in text


def test_check_whose_worker_died_is_taken_up_again(workspace: Workspace, member: User) -> None:
    draft = ready(member, workspace)
    check = start_check(draft, actor=actor_of_user(member))
    RowCheck.objects.update(status="running", heartbeat_at=timezone.now())
    run_check(check, actor=SYSTEM)
    assert RowCheck.objects.get().status == "running"  # it is another worker's
    RowCheck.objects.update(heartbeat_at=timezone.now() - timedelta(minutes=2))
    sweep_checks(actor=SYSTEM)
    run_check(check, actor=SYSTEM)
    assert RowCheck.objects.get().status == "passed"


# ── A copy to change one thing ──────────────────────────────────────────────────────────────────────────────────────


def made(user: User, workspace: Workspace, client: Client) -> BenchmarkVersion:
    draft = ready(user, workspace, system_prompt="Be brief.", max_output_tokens=64, data_license="MIT")
    for step in ("check", "create"):
        client.post(path(draft, step))
        work_checks()
    return BenchmarkVersion.objects.get(benchmark__workspace=workspace)


def test_copy_has_everything_but_the_rights(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    client = sign_in(member)
    version = made(member, workspace, client)
    response = client.post(f"{START}/copy", {"benchmark": version.profile_id})
    copy = ImportDraft.objects.get(version__isnull=True)
    assert response["Location"] == path(copy, "mapping")
    state = copy.state
    assert (state["columns"], state["prompt_template"]) == (
        {"id": "id", "question": "country", "answer": "capital"},
        "Capital of {question}?",
    )
    assert (state["system_prompt"], state["max_output_tokens"], state["data_license"]) == ("Be brief.", 64, "MIT")
    assert (state.get("attested"), state["done"]) == (None, ["source", "preview", "mapping", "grading"])
    assert client.get(path(copy, "check"))["Location"] == path(copy, "rights")
    assert client.get(path(copy, "mapping")).context["row"].messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Capital of Peru?"},
    ]


def test_copy_of_what_is_another_workspaces_is_not_found(
    workspace: Workspace, member: User, stranger: User, viewer: User, sign_in: SignIn
) -> None:
    version = made(member, workspace, sign_in(member))
    assert sign_in(stranger).post(f"{START}/copy", {"benchmark": version.profile_id}).status_code == 404
    assert sign_in(viewer).post(f"{START}/copy", {"benchmark": version.profile_id}).status_code == 403


def test_copy_of_an_archived_upload_says_what_to_do(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    client = sign_in(member)
    version = made(member, workspace, client)
    Upload.objects.update(status="archived")
    response = client.post(f"{START}/copy", {"benchmark": version.profile_id})
    assert (response.status_code, "its upload was archived" in response.content.decode()) == (409, True)
