"""What the Hub may answer, and what an import then says. Whatever is refused leaves nothing behind."""

import hashlib
import json
from typing import Any

import pytest

from common.errors import Refused
from imports.actions.fetching import fetch_hub
from imports.declaring import ShortMapping
from imports.models import SourceImport
from imports.storage import reserve
from tests.imports.hub import LARGE, MMLU_FILES, NAME, TOKEN, jsonl, on, paths_of, refusal, taken
from tests.standins.http import Reply
from tests.standins.hub import HubServer, Repo, card
from workspaces.actors import Actor, actor_of_user
from workspaces.models import User, Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_is_left")]


# Who may


def test_viewer_and_stranger_may_not_import(workspace: Workspace, viewer: User, stranger: User, hub: HubServer) -> None:
    assert refusal(workspace, actor_of_user(viewer)) == ("forbidden", 403)
    assert refusal(workspace, actor_of_user(stranger)) == ("forbidden", 403)
    assert hub.asked == []


def test_imports_that_are_turned_off_ask_nothing(workspace: Workspace, actor: Actor, hub: HubServer, settings: Any) -> None:
    settings.HUGGINGFACE_IMPORTS = False

    assert refusal(workspace, actor) == ("huggingface_imports_disabled", 403)
    assert hub.asked == []


@pytest.mark.parametrize(
    ("source", "selected", "code"),
    [
        ("https://huggingface.co/acme/sums", {"split": "test"}, "invalid_source"),
        (f"hf://{NAME}@main", {"files": ["../x.csv"]}, "invalid_selection"),
        (f"hf://{NAME}@main", {"files": ["x.txt"]}, "unsupported_format"),
        (f"hf://{NAME}@main", {"files": ["a.csv"] * 101}, "too_many_files"),
    ],
)
def test_malformed_request_is_refused_before_anything_is_asked(
    workspace: Workspace, actor: Actor, hub: HubServer, source: str, selected: dict[str, Any], code: str
) -> None:
    assert refusal(workspace, actor, source, **selected) == (code, 422)
    assert hub.asked == []


# Revisions


def test_tag_branch_and_commit_lead_to_their_commit(workspace: Workspace, actor: Actor, hub_repo: Repo) -> None:
    first = hub_repo.head
    hub_repo.refs["v1.0"] = first
    hub_repo.commit({"data/test.jsonl": jsonl(4)}, branch="work/next")
    hub_repo.commit({"data/test.jsonl": jsonl(5)})

    assert taken(workspace, actor, f"hf://{NAME}@v1.0").commit == first
    assert taken(workspace, actor, f"hf://{NAME}@work/next").commit == hub_repo.refs["work/next"]
    assert taken(workspace, actor, f"hf://{NAME}@{first}").commit == first


@pytest.mark.parametrize("revision", ["gone", "0" * 40])
def test_revision_that_is_not_there_is_unresolved(workspace: Workspace, actor: Actor, hub_repo: Repo, revision: str) -> None:
    assert refusal(workspace, actor, f"hf://{NAME}@{revision}") == ("revision_unresolved", 422)


@pytest.mark.parametrize("sha", ["1" * 40, "main", None, 5])
def test_commit_that_does_not_lead_to_itself_is_unresolved(
    workspace: Workspace, actor: Actor, hub: HubServer, hub_repo: Repo, sha: Any
) -> None:
    info = {"id": NAME, "sha": sha, "private": False, "gated": False, "disabled": False, "siblings": []}
    hub.fault = on(f"/revision/{hub_repo.head}", Reply(body=info))

    assert refusal(workspace, actor, f"hf://{NAME}@{hub_repo.head}") == ("revision_unresolved", 422)


# Access


def test_gated_dataset_needs_a_token_that_may_read_it(workspace: Workspace, actor: Actor, hub: HubServer) -> None:
    hub.add(NAME, {"README.md": card("mit"), "test.jsonl": jsonl(2)}, gated="manual", readers={TOKEN})
    hub.tokens.add("hf_other")

    assert refusal(workspace, actor) == ("token_required", 403)
    assert refusal(workspace, actor, split="test", token="hf_other") == ("access_refused", 404)
    assert refusal(workspace, actor, split="test", token="hf_unknown") == ("access_refused", 404)
    made = taken(workspace, actor, split="test", token=f" {TOKEN}\n")
    assert [json.loads(made.receipt)[key] for key in ("gated", "private")] == [True, False]


def test_gated_file_of_an_open_dataset_needs_a_token(workspace: Workspace, actor: Actor, hub: HubServer, hub_repo: Repo) -> None:
    gated = Reply(401, {"error": "restricted"}, {"X-Error-Code": "GatedRepo"})
    hub.fault = on("/data/test.jsonl", gated, always=True)

    assert refusal(workspace, actor) == ("token_required", 403)


def test_private_dataset_without_a_token_is_like_one_that_does_not_exist(workspace: Workspace, actor: Actor, hub: HubServer) -> None:
    hub.add(NAME, {"README.md": card("mit"), "test.jsonl": jsonl(2)}, private=True, readers={TOKEN})
    hub.tokens.add("hf_other")
    with pytest.raises(Refused) as private:
        taken(workspace, actor)
    with pytest.raises(Refused) as missing:
        taken(workspace, actor, "hf://acme/nothing@main")

    assert (private.value.code, private.value.status) == ("access_refused", 404)
    assert vars(private.value) == vars(missing.value)
    assert refusal(workspace, actor, split="test", token="hf_other") == ("access_refused", 404)
    made = taken(workspace, actor, split="test", token=TOKEN)
    assert json.loads(made.receipt)["private"] is True


def test_private_dataset_that_only_a_mirror_can_see_is_refused(workspace: Workspace, actor: Actor, hub: HubServer, hub_repo: Repo) -> None:
    info = {"id": NAME, "sha": hub_repo.head, "private": True, "gated": False, "disabled": False, "siblings": []}
    hub.fault = on("/revision/main", Reply(body=info))

    assert refusal(workspace, actor) == ("access_refused", 404)


@pytest.mark.parametrize("told", [True, False])
def test_disabled_dataset_is_refused(workspace: Workspace, actor: Actor, hub: HubServer, hub_repo: Repo, told: bool) -> None:
    hub_repo.disabled = True
    if not told:
        hub.fault = on("/revision/main", Reply(403, {}, {"X-Error-Message": "Access to this resource is disabled."}))

    assert refusal(workspace, actor) == ("access_refused", 404)


@pytest.mark.parametrize("token", ["two words", "hf_ü", "x" * 501, "a\r\nX-Evil: 1"])
def test_text_that_is_no_token_is_sent_nowhere(workspace: Workspace, actor: Actor, hub: HubServer, token: str) -> None:
    assert refusal(workspace, actor, split="test", token=token) == ("access_refused", 404)
    assert hub.asked == []


# Licences and the selection


@pytest.mark.parametrize("readme", [None, b"# nothing", card(), card("other"), card("mit", "cc-by-nc-4.0"), b"---\nlicense: [\n---\n"])
def test_license_that_is_missing_or_not_accepted_is_refused(
    workspace: Workspace, actor: Actor, hub: HubServer, readme: bytes | None
) -> None:
    hub.add(NAME, {"test.jsonl": jsonl(2)} | ({} if readme is None else {"README.md": readme}))

    assert refusal(workspace, actor) == ("license_refused", 422)
    assert "test.jsonl" not in hub.downloads()


def test_private_dataset_needs_a_license_too(workspace: Workspace, actor: Actor, hub: HubServer) -> None:
    hub.add(NAME, {"test.jsonl": jsonl(2)}, private=True, readers={TOKEN})

    assert refusal(workspace, actor, split="test", token=TOKEN) == ("license_refused", 422)


def test_license_is_that_of_the_resolved_commit(workspace: Workspace, actor: Actor, hub_repo: Repo) -> None:
    old = hub_repo.head
    hub_repo.commit({"README.md": card("cc-by-nc-4.0")})

    assert refusal(workspace, actor) == ("license_refused", 422)
    assert taken(workspace, actor, f"hf://{NAME}@{old}").license == "MIT"
    hub_repo.commit({"README.md": card("mit", "cc0-1.0")})
    assert taken(workspace, actor).license == "MIT, CC0-1.0"


def test_too_many_files_for_the_workspace(workspace: Workspace, actor: Actor, hub: HubServer, settings: Any) -> None:
    settings.UPLOAD_MAX_FILES = 2
    hub.add(NAME, {"README.md": card("mit")} | {f"data/{n}.csv": b"a\n1\n" for n in range(3)})

    assert refusal(workspace, actor, files=["data/*.csv"]) == ("import_too_many_files", 422)
    assert len(paths_of(taken(workspace, actor, files=["data/0.csv", "data/1.csv"]))) == 2


def test_too_large_a_selection_is_refused_before_it_is_downloaded(
    workspace: Workspace, actor: Actor, hub: HubServer, large_repo: Repo, settings: Any
) -> None:
    size = len(large_repo.commits[large_repo.head][LARGE])
    settings.UPLOAD_MAX_BYTES = size - 1
    assert refusal(workspace, actor, files=[LARGE]) == ("too_large", 413)
    settings.UPLOAD_MAX_BYTES = size + 1
    assert refusal(workspace, actor, files=[LARGE, "anatomy/test-00000-of-00001.parquet"]) == ("too_large", 413)
    assert hub.downloads() == ["README.md", "README.md"]


def test_storage_that_is_full_is_refused_before_it_is_downloaded(
    workspace: Workspace, actor: Actor, hub: HubServer, large_repo: Repo, settings: Any
) -> None:
    settings.WORKSPACE_STORAGE_BYTES = len(large_repo.commits[large_repo.head][LARGE]) + 9
    reserve(workspace, "other", 10, actor=actor)

    assert refusal(workspace, actor, files=[LARGE]) == ("storage_limit", 413)
    assert hub.downloads() == ["README.md"]


@pytest.mark.parametrize(
    "changed",
    [
        {"lfs": {"oid": "xyz", "size": 1, "pointerSize": 130}},
        {"size": None},
        {"size": -1},
        {"size": True},
        {"lfs": None, "oid": None},
        {"lfs": {"oid": "0" * 64, "size": 1, "pointerSize": 130}},
        {"lfs": {}},
    ],
)
def test_file_without_a_size_or_hash_is_refused(
    workspace: Workspace, actor: Actor, hub: HubServer, large_repo: Repo, changed: dict[str, Any]
) -> None:
    hub.listed = lambda entry: entry | changed if entry["path"] == LARGE else entry

    assert refusal(workspace, actor, files=[LARGE]) == ("file_refused", 422)


def test_file_that_the_hub_does_not_list_is_not_found(workspace: Workspace, actor: Actor, hub: HubServer, large_repo: Repo) -> None:
    hub.listed = lambda entry: None if entry["path"] == LARGE else entry

    assert refusal(workspace, actor, files=[LARGE]) == ("file_not_found", 422)


def test_pointer_in_place_of_its_data_is_refused(workspace: Workspace, actor: Actor, hub: HubServer) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12\n"
    hub.add(NAME, {"README.md": card("mit"), "test.csv": pointer})

    assert refusal(workspace, actor) == ("file_refused", 422)


# With a mapping


SUMS = ShortMapping("numeric", "question", "answer")


def mapped(workspace: Workspace, actor: Actor, mapping: ShortMapping, **selected: Any) -> tuple[str, int, str]:
    with pytest.raises(Refused) as caught:
        fetch_hub(workspace, actor=actor, source=f"hf://{NAME}@main", mapping=mapping, **(selected or {"split": "test"}))
    return caught.value.code, caught.value.status, caught.value.message


def test_mapping_gives_the_declaration_of_a_benchmark(workspace: Workspace, actor: Actor, hub: HubServer) -> None:
    repo = hub.add(NAME, {"README.md": card("mit"), **MMLU_FILES})
    options = {"answer_format": "index"}
    mapping = ShortMapping("multiple_choice", "question", "answer", "choices", options)
    fetched = fetch_hub(workspace, actor=actor, source=f"hf://{NAME}@main", files=[LARGE], mapping=mapping)
    again = fetch_hub(workspace, actor=actor, source=f"hf://{NAME}@main", files=[LARGE], mapping=mapping)

    content = MMLU_FILES[LARGE]
    assert fetched.declaration == {
        "source": f"hf://{NAME}@{repo.head}/{LARGE}",
        "source_sha256": hashlib.sha256(content).hexdigest(),
        "source_bytes": len(content),
        "data_license": "MIT",
        "task": "multiple_choice",
        "columns": {"prompt": "question", "answer": "answer", "choices": "choices"},
        "prompt_template": '{prompt}\n\n{choices}\n\nAnswer with one letter as "ANSWER: <letter>".',
        "grader_options": options,
    }
    assert (again.declaration, again.is_new, fetched.is_new) == (fetched.declaration, False, True)


def test_rows_that_do_not_fit_the_mapping_store_nothing(workspace: Workspace, actor: Actor, hub: HubServer) -> None:
    rows = b'{"question": "1+1?", "answer": "2"}\n{"question": ["a", "list"], "answer": "4"}\n'
    hub.add(NAME, {"README.md": card("mit"), "test.jsonl": rows})
    code, status, message = mapped(workspace, actor, SUMS)

    assert (code, status) == ("invalid_mapping", 422)
    assert "Row 2" in message
    assert "question" in message
    assert not SourceImport.objects.exists()


@pytest.mark.parametrize(
    "mapping",
    [
        ShortMapping("numeric", "problem", "answer"),
        ShortMapping("numeric", "answer", "answer"),
        ShortMapping("numeric", "question", "answer", "choices"),
        ShortMapping("multiple_choice", "question", "answer"),
        ShortMapping("essay", "question", "answer"),
        ShortMapping("numeric", "question", "answer", None, {"tolerance": "x"}),
    ],
)
def test_mapping_that_cannot_work_is_refused(workspace: Workspace, actor: Actor, hub_repo: Repo, mapping: ShortMapping) -> None:
    assert mapped(workspace, actor, mapping)[:2] == ("invalid_mapping", 422)
    assert not SourceImport.objects.exists()


def test_mapping_of_several_files_and_of_too_many_rows_is_refused(
    workspace: Workspace, actor: Actor, hub_repo: Repo, settings: Any
) -> None:
    assert mapped(workspace, actor, SUMS, files=["data/*.jsonl"])[:2] == ("invalid_mapping", 422)
    settings.BENCHMARK_MAX_ROWS = 9
    assert mapped(workspace, actor, SUMS)[:2] == ("import_row_limit", 413)
    settings.BENCHMARK_MAX_BYTES = 10
    assert mapped(workspace, actor, SUMS)[:2] == ("private_benchmark_too_large", 413)
    assert taken(workspace, actor).files.get().content.bytes > 10
    assert mapped(workspace, actor, SUMS)[:2] == ("private_benchmark_too_large", 413)
