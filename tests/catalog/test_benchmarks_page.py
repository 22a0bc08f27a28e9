"""The catalog's list."""

from collections.abc import Callable

from django.test import Client

from catalog.enums import Grader
from tests.factories import make_benchmark, make_version
from tests.paging import HTMX, cost
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]
PATH = "/catalog"


def slugs(client: Client, **query: str) -> list[str]:
    return [benchmark.slug for benchmark in client.get(PATH, query).context["benchmarks"]]


def test_page_lists_public_and_own_benchmarks(
    workspace: Workspace, other_workspace: Workspace, viewer: User, stranger: User, sign_in: SignIn
) -> None:
    public = make_version(make_benchmark("sums")).benchmark.slug
    ours = make_version(workspace=workspace).benchmark.slug
    theirs = make_version(workspace=other_workspace).benchmark.slug
    assert slugs(Client()) == [public]
    assert slugs(sign_in(viewer)) == sorted([public, ours])
    assert slugs(sign_in(stranger)) == sorted([public, theirs])


def test_private_benchmark_is_marked(workspace: Workspace, viewer: User, sign_in: SignIn) -> None:
    make_version(make_benchmark("sums"))
    client = sign_in(viewer)
    assert client.get(PATH).content.decode().count("Private</span>") == 0
    make_version(workspace=workspace)
    assert client.get(PATH).content.decode().count("Private</span>") == 1


def test_filters_narrow_the_list(workspace: Workspace, viewer: User, sign_in: SignIn) -> None:
    make_version(make_benchmark("sums", name="Sums", category="math"))
    make_version(make_benchmark("letters", name="Letters", category="text"), grader=Grader.EXACT_MATCH)
    own = make_version(workspace=workspace).benchmark.slug
    client = sign_in(viewer)
    assert slugs(client, q="letter") == ["letters"]
    assert slugs(client, category="math") == ["sums"]
    assert slugs(client, grader="exact_match") == ["letters"]
    assert slugs(client, source="private") == [own]


def test_facets_count_what_the_list_would_show(workspace: Workspace, viewer: User, sign_in: SignIn) -> None:
    make_version(make_benchmark("sums", category="math"))
    make_version(make_benchmark("products", category="math"))
    make_version(make_benchmark("letters", category="text"), grader=Grader.EXACT_MATCH)
    context = sign_in(viewer).get(PATH).context
    assert context["categories"] == [("math", 2), ("text", 1)]
    assert context["graders"] == [("exact_match", "Exact match", 1), ("numeric", "Number", 2)]


def test_three_kinds_of_nothing(viewer: User, sign_in: SignIn) -> None:
    client = sign_in(viewer)
    assert "The catalog is empty" in client.get(PATH).content.decode()
    make_version(make_benchmark("sums"))
    assert "No benchmark matches" in client.get(PATH, {"q": "nothing like it"}).content.decode()


def test_htmx_gets_the_list_alone(viewer: User, sign_in: SignIn) -> None:
    make_version(make_benchmark("sums"))
    response = sign_in(viewer).get(PATH, headers=HTMX)
    text = response.content.decode()
    assert (text.strip().startswith('<div id="list">'), "<html" in text, "HX-Request" in response["Vary"]) == (True, False, True)


def test_page_costs_the_same_with_one_benchmark_and_with_three(viewer: User, sign_in: SignIn) -> None:
    client = sign_in(viewer)
    make_version(make_benchmark("one"))
    one = cost(client, PATH)
    make_version(make_benchmark("two"))
    make_version(make_benchmark("three"))
    assert cost(client, PATH) == one


def test_cursor_of_another_list_is_refused(viewer: User, sign_in: SignIn) -> None:
    assert sign_in(viewer).get(PATH, {"cursor": "x"}).status_code == 422
