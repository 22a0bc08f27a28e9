"""GitHub in the browser: the wizard's tab, and Settings → Integrations with the way to GitHub and back."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core import signing
from django.test import Client

from imports.models import GithubInstallation, ImportDraft, SourceImport
from tests import factories
from tests.imports.github import NAME, PATH
from tests.imports.hub import jsonl
from tests.standins.github import APP_ID, SLUG, GithubServer, Installation, Repo
from workspaces.enums import Role
from workspaces.models import AuditEntry, User, Workspace

pytestmark = pytest.mark.django_db
TAB = "/catalog/import?source=github"
PAGE = "/settings/integrations"


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def page(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


# The wizard's tab


def test_tab_is_there_where_github_is(member: User, github: GithubServer, settings: Any) -> None:
    client = client_of(member)
    assert "Public repository" in page(client, TAB)
    assert "Private" not in page(client, TAB).split('id="github"')[1].split("</section>")[0]
    settings.GITHUB_IMPORTS = False
    shown = page(client, TAB)
    assert "GitHub is not available here" in shown
    assert ('href="?source=github"' in shown, "Public repository" in shown) == (False, False)


def test_files_of_the_default_branch_are_a_tree(member: User, github_repo: Repo) -> None:
    shown = page(client_of(member), f"{TAB}&repository={NAME}")
    assert shown.count("<details") >= 2
    for words in ("test.jsonl", "deep/", "symbolic link", "submodule", github_repo.head[:12]):
        assert words in shown
    assert "array.json" not in shown


def test_filter_and_exact_path(member: User, github_repo: Repo) -> None:
    client = client_of(member)
    shown = page(client, f"{TAB}&repository={NAME}&filter=deep")
    assert ("train.csv" in shown, "all.parquet" in shown, "Use train.csv" in shown) == (True, False, False)
    assert "Use train.csv" in page(client, f"{TAB}&repository={NAME}&filter=data/deep/train.csv")
    assert "No data file" in page(client, f"{TAB}&repository={NAME}&filter=none")


def test_revision_is_chosen_or_entered(member: User, github_repo: Repo) -> None:
    old = github_repo.head
    github_repo.tags["v1"] = old
    github_repo.commit({"new.csv": b"question,answer\n1,2\n"})
    client = client_of(member)
    assert "new.csv" in page(client, f"{TAB}&repository={NAME}")
    for query in ("revision=v1", f"revision=main&reference={old[:9]}", f"revision={old}"):
        shown = page(client, f"{TAB}&repository={NAME}&{query}")
        assert ("new.csv" in shown, old[:12] in shown) == (False, True)
    assert "no such branch" in page(client, f"{TAB}&repository={NAME}&revision=gone")


def test_preview_then_import_begins_a_draft(member: User, workspace: Workspace, github_repo: Repo) -> None:
    client = client_of(member)
    shown = page(client, f"{TAB}&repository={NAME}&file={PATH}&look=1")
    assert "What is 3 + 3?" in shown
    github_repo.commit({PATH: jsonl(99)})  # the branch moves on; what was looked at is what is taken
    first = next(iter(github_repo.commits))
    body = {"workspace": str(workspace.public_id), "repository": NAME, "commit": first, "path": PATH}
    answer = client.post("/catalog/import/github", body)
    draft = ImportDraft.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"/catalog/import/{draft.public_id}/preview")
    assert draft.source == f"github://{NAME}@{first}/{PATH}"
    assert draft.state["source"]["kind"] == "github"
    assert "What is 3 + 3?" in page(client, answer["Location"])


def test_refused_import_says_why(member: User, workspace: Workspace, github_repo: Repo) -> None:
    body = {"workspace": str(workspace.public_id), "repository": NAME, "commit": github_repo.head, "path": "data/lfs.csv"}
    answer = client_of(member).post("/catalog/import/github", body)
    assert (answer.status_code, "Git LFS pointer" in answer.content.decode()) == (422, True)
    assert (ImportDraft.objects.count(), SourceImport.objects.count()) == (0, 0)


def test_draft_whose_github_is_gone_keeps_its_settings(member: User, workspace: Workspace, github_repo: Repo, settings: Any) -> None:
    client = client_of(member)
    body = {"workspace": str(workspace.public_id), "repository": NAME, "commit": github_repo.head, "path": PATH}
    client.post("/catalog/import/github", body)
    draft = ImportDraft.objects.get()
    settings.GITHUB_IMPORTS = False
    shown = page(client, f"/catalog/import/{draft.public_id}/source?source=github")
    assert "Your settings are kept" in shown
    assert ImportDraft.objects.get().state == draft.state


def test_private_repository_is_chosen_from_those_granted(
    member: User, workspace: Workspace, github_app: GithubServer, github_connection: GithubInstallation
) -> None:
    repo, client = github_app.repos["acme/secret"], client_of(member)
    value = f"{github_connection.public_id}:{repo.id}"
    shown = page(client, f"{TAB}&access=private")
    assert (value in shown, "acme/hidden" in shown) == (True, False)
    assert "test.jsonl" in page(client, f"{TAB}&private={value}&file={PATH}")
    body = {"workspace": str(workspace.public_id), "private": value, "commit": repo.head, "path": PATH}
    assert client.post("/catalog/import/github", body).status_code == 302
    assert SourceImport.objects.get().repository == "acme/secret"


# Settings → Integrations


@pytest.fixture
def installed(github_app: GithubServer) -> Installation:
    """The App on an account with one private repository, and a person who owns it."""
    repo = github_app.add("acme/secret", {PATH: jsonl(4)}, private=True)
    made = github_app.install("acme", repo)
    github_app.people["ann"] = {made.id: [repo.id]}
    return made


def begin(client: Client, workspace: Workspace) -> str:
    """Begin to connect; returns the state that GitHub brings back."""
    answer = client.post("/settings/integrations/github", {"workspace": str(workspace.public_id)})
    url = urlsplit(answer["Location"])
    assert (answer.status_code, url.path) == (302, f"/apps/{SLUG}/installations/new")
    return parse_qs(url.query)["state"][0]


def back(client: Client, **query: Any) -> str:
    """Come back; returns what the page then says."""
    answer = client.get(f"{PAGE}/github/return", query, follow=True)
    assert (answer.redirect_chain, answer.status_code) == ([(PAGE, 302)], 200)
    return answer.content.decode()


def test_owner_connects_reads_and_disconnects(
    owner: User, member: User, workspace: Workspace, github_app: GithubServer, installed: Installation
) -> None:
    client = client_of(owner)
    assert "Connect a GitHub account" in page(client, PAGE)
    state = begin(client, workspace)
    shown = back(client, state=state, installation_id=installed.id, code=github_app.code("ann"), setup_action="install")
    made = GithubInstallation.objects.get()

    assert "acme is connected to Ours" in shown
    assert (made.workspace, made.installation_id, made.account, made.created_by) == (workspace, installed.id, "acme", owner)
    assert (github_app.person_tokens, github_app.tokens) == ({}, {})
    assert ("acme" in page(client_of(member), PAGE), "Disconnect" in page(client_of(member), PAGE)) == (True, False)
    path, body = f"{PAGE}/github/{made.public_id}/disconnection", {"workspace": str(workspace.public_id)}
    assert client_of(member).post(path, body).status_code == 403
    assert client.post(path, body).status_code == 302
    assert GithubInstallation.objects.get().removed_at is not None
    assert client.post(path, body).status_code == 404
    actions = AuditEntry.objects.filter(action__startswith="github.").order_by("id").values_list("action", "target")
    assert list(actions) == [("github.connected", "acme"), ("github.disconnected", "acme")]


def test_installation_of_somebody_else_is_not_connected(
    owner: User, workspace: Workspace, github_app: GithubServer, installed: Installation
) -> None:
    """Neither with a code of one's own, nor as someone who may read less than the App was granted."""
    client = client_of(owner)
    github_app.people["eve"] = {}
    more = github_app.add("acme/more", {PATH: jsonl(1)}, private=True)
    installed.repositories.append(more.id)  # ann reads one of two
    other = github_app.install("eve")
    github_app.people["mallory"] = {other.id: []}
    other.app_id = int(APP_ID) + 1
    asked = [("eve", installed.id), ("ann", installed.id), ("ann", 999), ("mallory", other.id), ("mallory", installed.id)]
    for person, number in asked:
        shown = back(client, state=begin(client, workspace), installation_id=number, code=github_app.code(person))
        assert "does not confirm" in shown
    for code in ("", "made-up"):
        back(client, state=begin(client, workspace), installation_id=installed.id, code=code)
    assert GithubInstallation.objects.count() == 0
    assert (github_app.person_tokens, github_app.tokens) == ({}, {})


def test_state_counts_once_for_its_person_in_its_session(
    owner: User, workspace: Workspace, github_app: GithubServer, installed: Installation
) -> None:
    client, admin = client_of(owner), factories.make_user("admin@example.org", workspace=workspace, role=Role.ADMIN)
    state = begin(client, workspace)
    used = {"state": state, "installation_id": installed.id, "code": github_app.code("ann")}
    assert "Begin again here" in back(client_of(admin), **used)  # of another person
    assert "Begin again here" in back(client_of(owner), **used)  # in another session
    assert "Begin again here" in back(client, **used | {"state": state[:-2] + "xx"})  # and with that, this session's is used up
    assert "Begin again here" in back(client, **used)
    forged = signing.dumps({"nonce": "n", "user": str(owner.public_id), "workspace": str(workspace.public_id)}, salt="other")
    assert "Begin again here" in back(client, **used | {"state": forged})
    assert GithubInstallation.objects.count() == 0
    assert not [path for path in github_app.paths() if "oauth" in path]
    state = begin(client, workspace)
    session = client.session["github_connecting"]
    assert "is connected" in back(client, state=state, installation_id=installed.id, code=github_app.code("ann"))
    kept = client.session
    kept["github_connecting"] = session
    kept.save()
    assert "Begin again here" in back(client, state=state, installation_id=installed.id, code=github_app.code("ann"))


def test_who_is_no_admin_any_more_connects_nothing(
    owner: User, workspace: Workspace, github_app: GithubServer, installed: Installation
) -> None:
    admin = factories.make_user("admin@example.org", workspace=workspace, role=Role.ADMIN)
    client = client_of(admin)
    state = begin(client, workspace)
    workspace.memberships.filter(user=admin).update(role=Role.MEMBER)
    answer = client.get(f"{PAGE}/github/return", {"state": state, "installation_id": installed.id, "code": github_app.code("ann")})
    assert (answer.status_code, GithubInstallation.objects.count()) == (403, 0)


def test_members_and_strangers_do_not_begin(member: User, stranger: User, workspace: Workspace, github_app: GithubServer) -> None:
    body = {"workspace": str(workspace.public_id)}
    assert [client_of(user).post(f"{PAGE}/github", body).status_code for user in (member, stranger)] == [403, 404]


def test_without_an_app_private_repositories_are_not_offered(owner: User, workspace: Workspace, github: GithubServer) -> None:
    client = client_of(owner)
    assert "Private ones are not set up here" in page(client, PAGE)
    assert "Private" not in page(client, f"{TAB}&access=private").split('id="github"')[1].split("</section>")[0]
    answer = client.post(f"{PAGE}/github", {"workspace": str(workspace.public_id)})
    assert (answer.status_code, answer["Location"]) == (302, PAGE)
