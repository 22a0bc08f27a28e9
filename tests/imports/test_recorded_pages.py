"""The pages of old evaluations: choose files, see what was understood, confirm, and where the verdicts agree. All of it without script."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from catalog.models import Benchmark, BenchmarkVersion
from gateway.models import RecordedModel
from tests import factories
from tests.imports.recorded import FIXTURES
from tests.paging import HTMX, cost
from workspaces.models import User, Workspace

pytestmark = pytest.mark.django_db
HERE = "/catalog/import/recorded"


def files(*names: str) -> list[SimpleUploadedFile]:
    return [SimpleUploadedFile(name, (FIXTURES / name).read_bytes()) for name in names]


@pytest.fixture
def client(sign_in: Callable[[User], Client], member: User) -> Client:
    return sign_in(member)


def choose(client: Client, workspace: Workspace, *names: str, **more: Any) -> str:
    """Upload the files; the address of what was understood of them."""
    answer = client.post(HERE, {"workspace": str(workspace.public_id), "files": files(*names), **more})
    assert answer.status_code == 302, answer.content.decode()[:500]
    return str(answer["Location"])


def test_files_are_looked_at_and_brought_in(client: Client, workspace: Workspace) -> None:
    assert client.get(HERE).status_code == 200
    address = choose(client, workspace, "promptfoo.json")
    page = client.get(address).content.decode()
    for words in ("Understood as promptfoo results", "A labelled model", "No counterpart", "nothing imported is run", "left out."):
        assert words in page
    refused = client.post(address, {"name": "Animals"})
    assert refused.status_code == 422
    assert "Set rights_attestation" not in refused.content.decode()
    assert (RecordedModel.objects.count(), Benchmark.objects.filter(workspace=workspace).count()) == (0, 0)
    made = client.post(address, {"name": "Animals", "attested": "on"})
    benchmark = Benchmark.objects.get(workspace=workspace)
    assert (made.status_code, made["Location"]) == (302, f"/catalog/{benchmark.slug}")
    assert (benchmark.name, benchmark.versions.get().task_count) == ("Animals", 3)
    assert list(RecordedModel.objects.values_list("name", "answer_count")) == [("A labelled model", 3), ("openai:example-1", 3)]


def test_without_a_matching_grader_the_person_chooses_one(client: Client, workspace: Workspace) -> None:
    address = choose(client, workspace, "oaieval.jsonl")
    assert "Choose a grader and read again" in client.get(address).content.decode()
    assert client.post(address, {"attested": "on"}).status_code == 422
    chosen = client.get(f"{address}?task=exact_match").content.decode()
    assert "Choose a grader and read again" not in chosen
    made = client.post(address, {"attested": "on", "task": "exact_match"})
    model = RecordedModel.objects.get()
    assert made["Location"] == f"/catalog/recorded/{model.public_id}"


def test_options_that_are_no_object_are_refused_in_words(client: Client, workspace: Workspace) -> None:
    address = choose(client, workspace, "oaieval.jsonl")
    answer = client.post(address, {"attested": "on", "task": "exact_match", "grader_options": "[1"})
    assert answer.status_code == 422
    assert "The options are one JSON object" in answer.content.decode()


def test_predictions_are_added_from_the_page_of_a_benchmark(client: Client, workspace: Workspace, version: BenchmarkVersion) -> None:
    listed = client.get(f"/catalog/recorded/benchmarks/{version.benchmark.slug}", headers=HTMX).content.decode()
    assert f"/catalog/import/recorded?benchmark={version.profile_id.replace('@', '%40')}" in listed
    assert "Add recorded answers" in client.get(f"{HERE}?benchmark={version.profile_id}").content.decode()
    address = choose(client, workspace, "predictions.csv", benchmark=version.profile_id)
    page = client.get(address).content.decode()
    assert "Understood as a file of predictions" in page
    assert "Left out, of no task of it" in page
    made = client.post(address.partition("?")[0], {"format": "predictions", "benchmark": version.profile_id, "attested": "on"})
    assert (made.status_code, made["Location"]) == (302, f"/catalog/{version.benchmark.slug}")
    listed = client.get(f"/catalog/recorded/benchmarks/{version.benchmark.slug}").content.decode()
    assert [f">{name}</a>" in listed for name in ("first", "second")] == [True, True]


def test_broken_files_are_refused_where_they_are_chosen_or_looked_at(client: Client, workspace: Workspace) -> None:
    assert client.post(HERE, {"workspace": str(workspace.public_id)}).status_code == 422
    address_of = client.post(HERE, {"workspace": str(workspace.public_id), "files": [SimpleUploadedFile("x.eval", b"PK\x03\x04 no")]})
    page = client.get(address_of["Location"])
    assert page.status_code == 200
    assert "it is no ZIP archive" in page.content.decode()


def recording(version: BenchmarkVersion, workspace: Workspace, count: int = 3) -> RecordedModel:
    model = factories.make_recorded_model(version, {f"t{n}": f"It is {n}." for n in range(count)}, workspace=workspace)
    model.answers.filter(task__task_id="t0").update(agreement="both_right", was_correct=True, correct=True, extracted="0")
    model.answers.filter(task__task_id="t1").update(agreement="only_theirs", was_correct=True, extracted="1", old_extracted="2")
    return model


def test_agreement_page_counts_and_filters(client: Client, workspace: Workspace, version: BenchmarkVersion) -> None:
    address = f"/catalog/recorded/{recording(version, workspace).public_id}"
    page = client.get(address).content.decode()
    assert [words in page for words in ("Right by theirs alone (1)", "Both right (1)", "No old verdict (1)", "Run it")] == [True] * 4
    part = client.get(f"{address}?agreement=only_theirs", headers=HTMX).content.decode()
    assert [f">{task}<" in part for task in ("t0", "t1", "t2")] == [False, True, False]
    assert "<html" not in part
    assert "No answer matches" in client.get(f"{address}?q=zzz").content.decode()


def test_agreement_page_costs_the_same_for_any_number_of_answers(client: Client, workspace: Workspace, version: BenchmarkVersion) -> None:
    few = cost(client, f"/catalog/recorded/{recording(version, workspace, 2).public_id}")
    model = factories.make_recorded_model(version, {f"t{n}": str(n) for n in range(10)}, workspace=workspace, name="many")
    assert cost(client, f"/catalog/recorded/{model.public_id}") == few


def test_answers_are_archived_after_a_question(client: Client, workspace: Workspace, version: BenchmarkVersion) -> None:
    model = recording(version, workspace)
    address = f"/catalog/recorded/{model.public_id}"
    assert "Archive these answers?" in client.get(address).content.decode()
    assert client.post(f"{address}/archiving")["Location"] == address
    page = client.get(address).content.decode()
    assert ("Archived" in page, "Run it" in page) == (True, False)


def test_viewers_look_and_bring_nothing_in(
    sign_in: Callable[[User], Client], viewer: User, workspace: Workspace, version: BenchmarkVersion
) -> None:
    client, model = sign_in(viewer), recording(version, workspace)
    assert client.get(HERE).status_code == 403
    page = client.get(f"/catalog/recorded/{model.public_id}")
    assert (page.status_code, "Run it" in page.content.decode()) == (200, False)
    assert client.post(f"/catalog/recorded/{model.public_id}/archiving").status_code == 403
