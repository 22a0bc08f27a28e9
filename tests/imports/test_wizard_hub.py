"""Step 1 with a dataset of the Hub: found, browsed at one commit, fetched, and refused in words at its field."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from imports.models import ImportDraft, SourceImport
from tests.imports.hub import NAME, jsonl
from tests.imports.wizard import START, path, problems, send
from tests.paging import HTMX
from tests.standins.hub import HubServer, Repo, card
from workspaces.models import User

SignIn = Callable[[User], Client]
PAGE = f"{START}?source=huggingface"
TOKEN = "hf_" + "Zx9" * 11


def fetched(client: Client, **data: Any) -> Any:
    return client.post(f"{START}/huggingface", {"reference": NAME, "path": "data/test.jsonl", **data})


def test_search_finds_public_datasets(hub_repo: Repo, member: User, sign_in: SignIn) -> None:
    response = sign_in(member).get(f"{PAGE}&q=sums")
    assert [hit.repository for hit, _ in response.context["hits"]] == [NAME]


@pytest.mark.parametrize("named", [NAME, f"https://huggingface.co/datasets/{NAME}", f"hf://{NAME}@main"])
def test_named_dataset_opens_at_its_commit(named: str, hub_repo: Repo, member: User, sign_in: SignIn) -> None:
    response = sign_in(member).get(PAGE, {"source": "huggingface", "q": named})
    assert (response.context["dataset"].commit, response.context["dataset"].license) == (hub_repo.head, "mit")
    assert [entry.path for entry, _ in response.context["entries"]] == ["data", "README.md"]


def test_folders_are_opened_by_link_and_by_a_typed_path(hub_repo: Repo, member: User, sign_in: SignIn) -> None:
    client = sign_in(member)
    folder = {"source": "huggingface", "dataset": NAME, "commit": hub_repo.head}
    linked = client.get(START, {**folder, "path": "data"})
    typed = client.get(START, {**folder, "filter": "data/"}, headers={**HTMX, "HX-Target": "hub"})
    assert [entry.name for entry, _ in linked.context["entries"]] == ["test.jsonl", "train.jsonl"]
    assert [words for words, _ in linked.context["ways"]] == [NAME, "data"]
    assert ([entry.name for entry, _ in typed.context["entries"]], "<html" in typed.content.decode()) == (
        ["test.jsonl", "train.jsonl"],
        False,
    )
    narrowed = client.get(START, {**folder, "path": "data", "filter": "tes"})
    assert [entry.name for entry, _ in narrowed.context["entries"]] == ["test.jsonl"]


def test_chosen_file_is_previewed_and_fetched_at_the_commit_that_was_shown(hub_repo: Repo, member: User, sign_in: SignIn) -> None:
    client = sign_in(member)
    address = {"source": "huggingface", "dataset": NAME, "commit": hub_repo.head, "path": "data", "file": "data/test.jsonl", "look": "1"}
    looked = client.get(START, address)
    assert len(looked.context["looked"]["rows"]) == 5
    shown = hub_repo.head
    hub_repo.commit({"data/test.jsonl": jsonl(4)})
    response = fetched(client, reference=f"hf://{NAME}@{shown}")
    draft = ImportDraft.objects.get()
    assert response["Location"] == path(draft, "preview")
    assert draft.source == f"hf://{NAME}@{shown}/data/test.jsonl"
    assert (draft.state["data_license"], len(client.get(path(draft, "preview")).context["shown"].rows)) == ("MIT", 6)


def test_verified_licence_is_kept(hub_repo: Repo, member: User, sign_in: SignIn) -> None:
    client = sign_in(member)
    fetched(client)
    draft = ImportDraft.objects.get()
    ImportDraft.objects.update(state={**draft.state, "done": ["source", "preview", "mapping", "grading"]})
    page = client.get(path(draft, "rights")).content.decode()
    assert ("MIT" in page, 'name="license"' in page) == (True, False)
    send(client, draft, "rights", attested="on", license="other", license_other="GPL-3.0-only", name="Sums")
    assert ImportDraft.objects.get().state["data_license"] == "MIT"


@pytest.mark.parametrize(
    ("data", "status", "field"),
    [
        ({"reference": "https://huggingface.co/cais/model"}, 422, "reference"),
        ({"reference": "nobody/nothing"}, 404, "reference"),
        ({"reference": f"hf://{NAME}@no-such-branch"}, 422, "reference"),
        ({"path": "data/missing.jsonl"}, 422, "path"),
        ({"path": "README.md"}, 422, "path"),
        ({"path": "", "split": "dev"}, 422, "split"),
    ],
)
def test_refusal_stands_at_its_field(data: dict[str, str], status: int, field: str, hub_repo: Repo, member: User, sign_in: SignIn) -> None:
    response = fetched(sign_in(member), **data)
    assert (response.status_code, list(problems(response))) == (status, [field])
    assert ImportDraft.objects.count() == 0


def test_refused_licence_says_what_is_accepted(hub: HubServer, member: User, sign_in: SignIn) -> None:
    hub.add("acme/closed", {"README.md": card("cc-by-nc-4.0"), "test.jsonl": jsonl(3)})
    client = sign_in(member)
    opened = client.get(START, {"source": "huggingface", "q": "acme/closed"})
    assert "Its licence is not accepted" in opened.content.decode()
    response = fetched(client, reference="acme/closed", path="test.jsonl")
    text = response.content.decode()
    assert (response.status_code, "It was not fetched" in text, "CC-BY-4.0" in text) == (422, True, True)
    assert SourceImport.objects.count() == 0


def test_split_of_several_files_asks_for_one(hub: HubServer, member: User, sign_in: SignIn) -> None:
    files = {f"data/test-0000{n}-of-00002.jsonl": jsonl(3 + n) for n in range(2)}
    hub.add("acme/parts", {"README.md": card("mit"), **files})
    client = sign_in(member)
    response = fetched(client, reference="acme/parts", path="", split="test")
    uris = [each.uri for each in response.context["several"]]
    assert (response.status_code, len(uris), ImportDraft.objects.count()) == (200, 2, 0)
    assert client.post(f"{START}/selection", {"source": uris[1]}).status_code == 302


def test_token_reads_a_private_dataset_and_is_kept_and_shown_nowhere(hub: HubServer, member: User, sign_in: SignIn, caplog: Any) -> None:
    hub.add("acme/secret", {"README.md": card("mit"), "test.jsonl": jsonl(3)}, private=True, readers={TOKEN})
    client = sign_in(member)
    refused = fetched(client, reference="acme/secret", path="nothing.jsonl", token=TOKEN)
    assert (refused.status_code, TOKEN in refused.content.decode()) == (422, False)
    assert fetched(client, reference="acme/secret", path="test.jsonl").status_code == 404
    response = fetched(client, reference="acme/secret", path="test.jsonl", token=TOKEN)
    assert response.status_code == 302
    pages = [client.get(START), client.get(PAGE), client.get(response["Location"])]
    kept = json.dumps([[each.source, each.state] for each in ImportDraft.objects.all()]) + "".join(
        each.receipt for each in SourceImport.objects.all()
    )
    kept += "".join(page.content.decode() for page in pages) + caplog.text + str(dict(client.session)) + _every_text()
    assert TOKEN not in kept


def _every_text() -> str:
    """Everything that the database holds, as text."""
    with connection.cursor() as cursor:
        found = []
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            found.append(repr(cursor.fetchall()))
    return "".join(found)


def test_hub_that_is_turned_off_is_no_tab(member: User, sign_in: SignIn, settings: Any) -> None:
    settings.HUGGINGFACE_IMPORTS = False
    response = sign_in(member).get(PAGE)
    assert (response.context["kind"], "Hugging Face" in response.content.decode()) == ("file", False)
