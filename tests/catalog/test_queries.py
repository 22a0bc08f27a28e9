"""What of the catalog a workspace sees, and what a name means."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from catalog import queries
from catalog.actions import archive_benchmark, retire_version
from catalog.models import Benchmark, BenchmarkVersion, ModelRoute, RouteRate
from tests.factories import make_benchmark, make_rate, make_route, make_version
from workspaces.actors import SYSTEM
from workspaces.models import Workspace


def names_of(found: list[BenchmarkVersion]) -> list[str]:
    return [version.profile_id for version in found]


def test_a_workspace_sees_what_is_public_and_its_own(workspace: Workspace, other_workspace: Workspace) -> None:
    public, ours, theirs = make_benchmark("sums"), make_benchmark(workspace=workspace), make_benchmark(workspace=other_workspace)
    assert set(queries.visible_benchmarks(workspace)) == {public, ours}
    assert set(queries.visible_benchmarks(None)) == {public}
    assert queries.get_benchmark(workspace, ours.slug) == ours
    for place, hidden in ((workspace, theirs), (None, ours)):
        with pytest.raises(Benchmark.DoesNotExist):
            queries.get_benchmark(place, hidden.slug)


def test_a_version_of_another_workspace_is_not_found_by_any_name(workspace: Workspace, other_workspace: Workspace) -> None:
    theirs = make_version(make_benchmark(workspace=other_workspace, name="Secret sums"))
    for name in (theirs.profile_id, theirs.benchmark.slug, "Secret sums", queries.eval_reference(theirs)):
        assert queries.find_versions(workspace, name) == []
        assert names_of(queries.find_versions(other_workspace, name)) == [theirs.profile_id]
    with pytest.raises(BenchmarkVersion.DoesNotExist):
        queries.get_version(workspace, theirs.profile_id)
    assert queries.closest_names(workspace, "Secret sum") == []
    assert queries.closest_names(other_workspace, "Secret sum") == [theirs.benchmark.slug]


def test_a_name_means_the_latest_active_version_and_an_id_its_own(db: None) -> None:
    benchmark = make_benchmark("sums", name="Small sums")
    versions = [make_version(benchmark) for _ in range(3)]
    retire_version(versions[2], actor=SYSTEM)
    for name in ("sums", "SUMS", " Small Sums "):
        assert names_of(queries.find_versions(None, name)) == ["sums@2"]
    for name in ("sums@3", "eval://evalrouter/sums/3"):
        assert names_of(queries.find_versions(None, name)) == ["sums@3"]
    for name in ("sums@4", "sums@", "sums@0x1", "eval://evalrouter/sums", "eval://other/sums/3", "eval://", "", "product"):
        assert queries.find_versions(None, name) == []
    assert queries.get_version(None, "sums@3") == versions[2]


def test_a_name_of_several_benchmarks_gives_all_of_them(workspace: Workspace) -> None:
    made = [make_version(make_benchmark(workspace=workspace, name="Mine")) for _ in range(2)]
    assert sorted(names_of(queries.find_versions(workspace, "mine"))) == sorted(names_of(made))


def test_an_archived_benchmark_is_not_named_but_still_read(db: None) -> None:
    version = make_version(make_benchmark("sums"))
    archive_benchmark(version.benchmark, actor=SYSTEM)
    assert queries.find_versions(None, "sums@1") == []
    assert list(queries.catalog_entries(None)) == []
    assert queries.get_version(None, "sums@1") == version


def test_drafts_are_not_shown(db: None) -> None:
    version = make_version(make_benchmark("sums"), state="draft")
    assert (queries.find_versions(None, "sums"), list(queries.catalog_entries(None))) == ([], [])
    assert list(queries.versions_of(version.benchmark)) == []


def test_catalog_entries_filter_by_their_latest_version(db: None) -> None:
    sums, words = (
        make_benchmark("sums", category="Arithmetic"),
        make_benchmark("words", category="Language", description="Letters and sums"),
    )
    make_version(sums, tasks=3)
    make_version(sums, tasks=5)
    retire_version(make_version(words, grader="exact_match", license="CC0-1.0"), actor=SYSTEM)

    def slugs(**filters: str) -> list[str]:
        return [entry.slug for entry in queries.catalog_entries(None, **filters)]  # type: ignore[arg-type]

    entry = queries.catalog_entries(None, q="arith").get()
    assert (entry.slug, entry.latest_number, entry.latest_task_count, entry.latest_state) == ("sums", 2, 5, "active")  # type: ignore[attr-defined]
    assert slugs() == ["sums", "words"]
    assert slugs(q="sums") == ["sums", "words"]
    assert slugs(q="sums letters") == ["words"]
    assert slugs(status="retired") == ["words"]
    assert slugs(license="CC0-1.0") == ["words"]
    assert slugs(category="Arithmetic", capability="chat", runner="builtin") == ["sums"]
    assert slugs(category="Nothing") == []
    assert queries.facets(None) == {
        "category": [("Arithmetic", 1), ("Language", 1)],
        "capability": [("chat", 2)],
        "runner": [("builtin", 2)],
        "license": [("CC0-1.0", 1), ("LicenseRef-Workspace-Private", 1)],
        "grader": [("exact_match", 1), ("numeric", 1)],
    }


def test_facets_of_nothing_are_empty(db: None) -> None:
    assert set(map(tuple, queries.facets(None).values())) == {()}


def test_catalog_entries_take_one_query_for_any_number(db: None, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    for _ in range(3):
        make_version()
    with django_assert_num_queries(1):
        assert [(entry.latest_number, entry.created_by) for entry in queries.catalog_entries(None)] == [(1, None)] * 3  # type: ignore[attr-defined]


def test_tasks_are_searched_by_id_and_group(db: None) -> None:
    rows = [
        {"values": {"question": "?"}, "reference": "1", "task_id": f"t-{n}", "group": group} for n, group in enumerate(["easy", "hard"])
    ]
    version = make_version(rows=rows)
    assert [task.task_id for task in queries.tasks_of(version)] == ["t-0", "t-1"]
    assert [[task.task_id for task in queries.tasks_of(version, q)] for q in ("T-1", "eas", "x")] == [["t-1"], ["t-0"], []]


def test_the_current_rate_is_the_newest_that_has_begun(db: None) -> None:
    route, now = make_route("example/small"), timezone.now()
    route.rates.all().delete()
    assert queries.current_rate(route, now) is None
    for days, price in ((-2, 100), (-1, 200), (1, 300)):
        RouteRate.objects.create(
            route=route,
            input_microusd_per_mtok=price,
            cached_input_microusd_per_mtok=price,
            output_microusd_per_mtok=price,
            effective_at=now + timedelta(days=days),
        )
    prefetched = queries.active_routes().get()
    for each in (route, prefetched):
        held = [queries.current_rate(each, now + timedelta(days=days)) for days in (-3, -2, 0)]
        assert [rate and int(rate.input_microusd_per_mtok) for rate in held] == [None, 100, 200]
    later = queries.current_rate(route, now + timedelta(days=2))
    assert later is not None and int(later.input_microusd_per_mtok) == 300


def test_routes_with_their_rates_and_tiers_take_three_queries(db: None, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    for _ in range(3):
        make_rate(make_route(), input_rate=1, output_rate=1, tiers=[(1_000, 2, 2, 2)])
    with django_assert_num_queries(3):
        rates = [queries.current_rate(route, timezone.now()) for route in queries.active_routes()]
        assert [len(rate.tiers.all()) for rate in rates if rate] == [1, 1, 1]


def test_routes_are_found_by_id_name_and_last_part(db: None) -> None:
    make_route("example/small", name="Small model", model="small-2")
    make_route("other/small", name="Other")
    make_route("other/paused", state="paused")
    make_route("other/old", state="retired")

    def found(name: str) -> list[str]:
        return [route.route_id for route in queries.find_routes(name)]

    assert found("Example/small") == ["example/small"]
    assert found("small model") == ["example/small"]
    assert found("small-2") == ["example/small"]
    assert found("small") == ["example/small", "other/small"]
    assert (found("paused"), found("old"), found("none")) == (["other/paused"], [], [])
    assert [route.route_id for route in queries.active_routes()] == ["example/small", "other/small"]
    assert queries.get_route("other/old").route_id == "other/old"
    with pytest.raises(ModelRoute.DoesNotExist):
        queries.get_route("none")
    assert queries.closest_routes("exampel/smal")[0] == "example/small"
    assert queries.closest_routes("zzzzzz") == []
