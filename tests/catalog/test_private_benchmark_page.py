"""What a private benchmark's page adds: who made it and from what, its copy, and its end."""

from collections.abc import Callable

import pytest
from django.test import Client

from catalog.models import Benchmark
from tests.factories import make_benchmark, make_version
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]


@pytest.fixture
def private(workspace: Workspace, member: User) -> Benchmark:
    benchmark = make_version(workspace=workspace).benchmark
    Benchmark.objects.filter(pk=benchmark.pk).update(created_by=member)
    return Benchmark.objects.get(pk=benchmark.pk)


def test_page_says_who_made_it_and_offers_members_its_copy_and_its_end(
    private: Benchmark, member: User, viewer: User, sign_in: SignIn
) -> None:
    path = f"/catalog/{private.slug}"
    text = sign_in(member).get(path).content.decode()
    assert f"Created by {member.name or member.email}" in text
    assert f'<input type="hidden" name="benchmark" value="{private.slug}@1">' in text
    assert (f'href="{path}/archiving"' in text, 'action="/catalog/import/copy"' in text) == (True, True)
    seen = sign_in(viewer).get(path).content.decode()
    assert ("archiving" in seen, "/catalog/import/copy" in seen) == (False, False)


def test_public_benchmark_has_no_such_actions(member: User, sign_in: SignIn) -> None:
    version = make_version(make_benchmark("sums"))
    client = sign_in(member)
    text = client.get(f"/catalog/{version.benchmark.slug}").content.decode()
    assert ("archiving" in text, "Created by" in text) == (False, False)
    assert client.get("/catalog/sums/archiving").status_code == 404


def test_only_its_id_archives_it(private: Benchmark, member: User, sign_in: SignIn) -> None:
    client, path = sign_in(member), f"/catalog/{private.slug}/archiving"
    assert private.slug in client.get(path).content.decode()
    for wrong in ("", "yes", private.slug[:-1], "byob"):
        answer = client.post(path, {"confirm": wrong})
        assert (answer.status_code, "Nothing was archived" in answer.content.decode()) == (422, True)
    assert Benchmark.objects.get().archived_at is None
    answer = client.post(path, {"confirm": f" {private.slug}@1 "})
    assert (answer.status_code, answer["Location"]) == (302, "/catalog")
    assert Benchmark.objects.get().archived_at is not None
    assert list(client.get("/catalog", {"source": "mine"}).context["benchmarks"]) == []
    assert "It was archived" in client.get(path).content.decode()
    page = client.get(f"/catalog/{private.slug}").content.decode()
    assert ("Archived" in page, "archiving" in page) == (True, False)


def test_viewers_may_not_archive_and_strangers_do_not_find_it(private: Benchmark, viewer: User, stranger: User, sign_in: SignIn) -> None:
    path = f"/catalog/{private.slug}/archiving"
    assert sign_in(viewer).post(path, {"confirm": private.slug}).status_code == 403
    assert sign_in(stranger).post(path, {"confirm": private.slug}).status_code == 404
    assert Benchmark.objects.get().archived_at is None


def test_source_created_by_me_lists_a_persons_own(
    private: Benchmark, workspace: Workspace, member: User, owner: User, sign_in: SignIn
) -> None:
    make_version(make_benchmark("sums"))
    other = make_version(workspace=workspace).benchmark
    client = sign_in(member)
    listed = client.get("/catalog", {"source": "mine"})
    assert [each.slug for each in listed.context["benchmarks"]] == [private.slug]
    assert "Created by me" in listed.content.decode()
    options = {
        each["label"]: each["count"]
        for facet in client.get("/catalog").context["facets"]
        if facet["key"] == "source"
        for each in facet["options"]
    }
    assert options == {"Created by me": 1, f"Private to {workspace.name}": 2, "Public": 1}
    assert [each.slug for each in sign_in(owner).get("/catalog", {"source": "mine"}).context["benchmarks"]] == []
    assert {each.slug for each in sign_in(owner).get("/catalog", {"source": "private"}).context["benchmarks"]} == {private.slug, other.slug}


def test_nobody_signed_out_has_a_source_of_their_own(private: Benchmark) -> None:
    make_version(make_benchmark("sums"))
    assert [each.slug for each in Client().get("/catalog", {"source": "mine"}).context["benchmarks"]] == ["sums"]
