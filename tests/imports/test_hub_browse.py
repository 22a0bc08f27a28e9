"""Searching and browsing the Hub for the wizard: bounded, and as nobody."""

from typing import Any

import pytest

from common.errors import Refused
from imports.queries.hub import FOLDER_PAGE, list_folder, preview_file, resolve, search_datasets
from tests.imports.hub import MMLU_FILES, NAME, TOKEN, jsonl
from tests.standins.http import Reply
from tests.standins.hub import HubServer, Repo, card


def code_of(function: Any, *arguments: Any, **named: Any) -> str:
    with pytest.raises(Refused) as caught:
        function(*arguments, **named)
    return caught.value.code


def test_search_finds_public_datasets_most_downloaded_first(hub: HubServer) -> None:
    for name, downloads in (("acme/sums", 5), ("acme/more-sums", 50), ("other/words", 500)):
        hub.add(name, {}, downloads=downloads)
    hub.add("acme/secret-sums", {}, private=True, downloads=9)
    hub.add("acme/gated-sums", {}, gated="auto", downloads=1)
    found = search_datasets("  sums ", limit=20)

    assert [(hit.repository, hit.downloads, hit.is_gated) for hit in found] == [
        ("acme/more-sums", 50, False),
        ("acme/sums", 5, False),
        ("acme/gated-sums", 1, True),
    ]
    assert [hit.repository for hit in search_datasets("sums", limit=1)] == ["acme/more-sums"]
    assert found[0].updated_at.year == 2026
    assert search_datasets("   ") == []


def test_resolved_dataset_has_its_commit_and_license(hub: HubServer, hub_repo: Repo) -> None:
    found = resolve(f"https://huggingface.co/datasets/{NAME}")

    assert (found.repository, found.revision, found.commit, found.license) == (NAME, "main", hub_repo.head, "mit")
    assert (found.is_license_accepted, found.gated, found.private) == (True, False, False)
    assert found.pinned == f"hf://{NAME}@{hub_repo.head}"
    hub_repo.commit({"README.md": card("other", "mit")})
    changed = resolve(NAME)
    assert (changed.license, changed.is_license_accepted) == ("other, mit", False)


def test_gated_dataset_is_resolved_without_its_card(hub: HubServer) -> None:
    repo = hub.add(NAME, {"README.md": card("mit")}, gated="auto", readers={TOKEN})
    found = resolve(NAME)

    assert (found.commit, found.gated, found.license, found.is_license_accepted) == (repo.head, True, "", False)
    assert hub.downloads() == []


def test_private_dataset_is_not_found(hub: HubServer) -> None:
    hub.add(NAME, {"README.md": card("mit")}, private=True, readers={TOKEN})

    assert code_of(resolve, NAME) == "access_refused"
    assert code_of(list_folder, NAME, "a" * 40) == "access_refused"


def test_folder_is_listed_page_by_page(hub: HubServer, settings: Any) -> None:
    files = {f"many/{n:03}.csv": b"a\n1\n" for n in range(FOLDER_PAGE + 5)}
    repo = hub.add(NAME, {"README.md": card("mit"), "load.py": b"x", "empty.csv": b"", "big.csv": b"x" * 100, **files, **MMLU_FILES})
    settings.UPLOAD_MAX_BYTES = 99
    root = list_folder(NAME, repo.head)
    first = list_folder(NAME, repo.head, "many")
    second = list_folder(NAME, repo.head, "many/", cursor=first.cursor)

    assert [(entry.path, entry.kind, entry.size, entry.is_usable) for entry in root.entries] == [
        ("algebra", "folder", None, True),
        ("anatomy", "folder", None, True),
        ("many", "folder", None, True),
        ("README.md", "file", len(card("mit")), False),
        ("big.csv", "file", 100, False),
        ("empty.csv", "file", 0, False),
        ("load.py", "file", 1, False),
    ]
    assert (len(first.entries), len(second.entries), second.cursor, root.cursor) == (FOLDER_PAGE, 5, "", "")
    assert first.entries[0].name == "000.csv"


def test_odd_folders_and_pages_are_refused(hub: HubServer, hub_repo: Repo) -> None:
    commit = hub_repo.head

    assert code_of(list_folder, NAME, "main") == "invalid_source"
    assert code_of(list_folder, "nobody", commit) == "invalid_source"
    assert code_of(list_folder, NAME, commit, "a/../b") == "invalid_selection"
    assert code_of(list_folder, NAME, commit, "nothing") == "file_not_found"
    assert code_of(list_folder, NAME, commit, cursor="x" * 3000) == "invalid_selection"
    assert code_of(list_folder, NAME, "0" * 40) == "revision_unresolved"


@pytest.mark.parametrize("body", [{"a": 1}, [{"type": "file"}], [1], "x", [{"type": "file", "path": "a", "size": "many"}]])
def test_listing_that_is_none_is_unavailable(hub: HubServer, hub_repo: Repo, body: Any) -> None:
    hub.fault = lambda asked, _: Reply(body=body)

    assert code_of(list_folder, NAME, hub_repo.head) == "hub_unavailable"


def test_preview_shows_the_first_rows_of_a_large_file_from_its_beginning(hub: HubServer) -> None:
    content = jsonl(20_000, note="x" * 500, key=f"hf_{'a' * 30}")
    repo = hub.add(NAME, {"test.jsonl": content}, lfs=["test.jsonl"])
    shown = preview_file(NAME, repo.head, "test.jsonl")

    assert (shown.columns, len(shown.rows), shown.is_whole) == (("question", "answer", "note", "key"), 20, False)
    assert shown.rows[1] == {"question": "What is 1 + 1?", "answer": "2", "note": f"{'x' * 400}…", "key": "[redacted]"}
    assert {asked.request.headers.get("range") for asked in hub.asked} == {"bytes=0-262143"}


def test_preview_of_a_small_file_is_whole(hub: HubServer, hub_repo: Repo) -> None:
    hub_repo.commit({"a.csv": b'question;answer\n"1 + 1";2\n"two\nlines";\n'})
    shown = preview_file(NAME, hub_repo.head, "a.csv")

    assert (shown.columns, shown.is_whole) == (("question", "answer"), True)
    assert shown.rows == ({"question": "1 + 1", "answer": "2"}, {"question": "two\nlines", "answer": ""})


def test_preview_of_a_hub_that_ignores_ranges_stops_reading(hub: HubServer) -> None:
    content = jsonl(20_000, note="x" * 500)
    repo = hub.add(NAME, {"test.jsonl": content})
    hub.fault = lambda asked, _: Reply(body=content)

    assert len(preview_file(NAME, repo.head, "test.jsonl").rows) == 20


def test_preview_that_cannot_be_is_refused(hub: HubServer, hub_repo: Repo) -> None:
    hub_repo.commit({"a.parquet": b"PAR1", "b.csv": b"", "c.csv": b"PK\x03\x04zip"})

    assert code_of(preview_file, NAME, hub_repo.head, "a.parquet") == "unsupported_format"
    assert code_of(preview_file, NAME, hub_repo.head, "a.json") == "unsupported_format"
    assert code_of(preview_file, NAME, hub_repo.head, "b.csv") == "byob_unreadable_file"
    assert code_of(preview_file, NAME, hub_repo.head, "c.csv") == "byob_unreadable_file"
    assert code_of(preview_file, NAME, hub_repo.head, "d.csv") == "file_not_found"


def test_browsing_that_is_turned_off_asks_nothing(hub: HubServer, settings: Any) -> None:
    settings.HUGGINGFACE_IMPORTS = False
    codes = {code_of(search_datasets, "sums"), code_of(resolve, NAME), code_of(list_folder, NAME, "a" * 40)}

    assert (codes, hub.asked) == ({"huggingface_imports_disabled"}, [])
