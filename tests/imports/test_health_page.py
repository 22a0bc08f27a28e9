"""A benchmark's health on its page and over HTTP, and how it comes to be known."""

import io
from collections.abc import Callable
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from catalog.models import BenchmarkVersion
from imports.actions import import_benchmark
from imports.actions.health import compute_missing_health
from imports.models import BenchmarkHealth
from imports.queries import health as queries
from imports.queries.health import health_of
from imports.tasks import compute_health
from tests.factories import make_version
from tests.imports.files import CHOICES, json_lines
from tests.paging import HTMX
from workspaces.actors import SYSTEM
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]


def imported(workspace: Workspace) -> BenchmarkVersion:
    rows = [{"question": f"Which one is it, number {number}?", "choices": ["thisone", "thatone"], "answer": "A"} for number in range(40)]
    return import_benchmark(workspace, actor=SYSTEM, file=io.BytesIO(json_lines(*rows)), filename="data.jsonl", manifest=CHOICES)


def test_an_import_keeps_its_health(workspace: Workspace) -> None:
    version = imported(workspace)
    stored = BenchmarkHealth.objects.get(version=version).document
    assert (stored["tasks"], stored["floor"]["most_frequent_answer"]) == (40, 1.0)
    assert health_of(version) == stored


def test_page_and_part_name_tasks_and_none_of_their_text(workspace: Workspace, viewer: User, sign_in: SignIn) -> None:
    version = imported(workspace)
    path = f"/catalog/{version.benchmark.slug}/health"
    client = sign_in(viewer)
    whole, part = client.get(path).content.decode(), client.get(path, headers=HTMX).content.decode()
    assert "One answer for all" in whole
    assert part.strip().startswith('<div class="stack" id="health-of-rows">')
    assert f"/catalog/{version.benchmark.slug}?version=1&amp;q=1#tasks" in part
    assert ("Which one is it" in whole, "thatone" in part) == (False, False)
    assert path in client.get(f"/catalog/{version.benchmark.slug}").content.decode()


def test_a_private_benchmarks_health_is_its_workspaces_alone(workspace: Workspace, stranger: User, sign_in: SignIn) -> None:
    path = f"/catalog/{imported(workspace).benchmark.slug}/health"
    assert (sign_in(stranger).get(path).status_code, Client().get(path).status_code) == (404, 404)


def test_a_public_benchmark_that_was_never_looked_at_shows_its_health(version: BenchmarkVersion, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"/catalog/{version.benchmark.slug}/health"
    assert Client().get(path).context["health"]["tasks"] == 10
    assert BenchmarkHealth.objects.count() == 0
    monkeypatch.setattr(queries, "COMPUTED_AT_ONCE", 9)
    assert "is being worked out" in Client().get(path).content.decode()


def test_the_sweep_computes_what_is_missing_once(version: BenchmarkVersion, workspace: Workspace) -> None:
    other = make_version(workspace=workspace)
    compute_health()
    assert set(BenchmarkHealth.objects.values_list("version_id", flat=True)) == {version.pk, other.pk}
    assert compute_missing_health(actor=SYSTEM) == 0


def test_a_version_whose_health_cannot_be_computed_is_not_tried_for_ever(version: BenchmarkVersion) -> None:
    BenchmarkVersion.objects.filter(pk=version.pk).update(manifest="no JSON")
    assert compute_missing_health(actor=SYSTEM) == 0
    assert compute_missing_health(actor=SYSTEM) == 0
    assert BenchmarkHealth.objects.get().document == {"failed": True}
    assert health_of(version) is None


def test_the_command_computes_all_or_those_named(version: BenchmarkVersion) -> None:
    out = StringIO()
    call_command("compute_health", stdout=out)
    call_command("compute_health", version.profile_id, stdout=out)
    assert out.getvalue() == "1 computed.\n1 computed.\n"
    with pytest.raises(CommandError):
        call_command("compute_health", "nothing@1")
