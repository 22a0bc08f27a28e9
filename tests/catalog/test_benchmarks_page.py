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
    client = sign_in(viewer)

    def facets(**query: str) -> dict[str, list[tuple[str, int]]]:
        return {
            facet["key"]: [(each["label"], each["count"]) for each in facet["options"]]
            for facet in client.get(PATH, query).context["facets"]
        }

    both = [("Number", 2), ("Exact match", 1)]
    assert facets() == {"category": [("Math", 2), ("Text", 1)], "grader": both, "source": []}
    assert facets(category="math") == {"category": [("Math", 2), ("Text", 1)], "grader": [("Number", 2)], "source": []}
    assert facets(q="sums", category="text") == {"category": [("Math", 1), ("Text", 0)], "grader": [], "source": []}
    make_version(workspace=workspace)
    assert facets(source="private")["source"] == [("Public", 3), (f"Private to {workspace.name}", 1)]


def test_facet_is_put_on_and_taken_off_with_the_rest_kept(viewer: User, sign_in: SignIn) -> None:
    make_version(make_benchmark("sums", category="math"))
    client = sign_in(viewer)
    on = client.get(PATH, {"q": "sum"}).context["facets"][0]["options"][0]
    assert (on["href"], on["is_chosen"]) == ("?q=sum&category=math", False)
    page = client.get(PATH + on["href"])
    off = page.context["facets"][0]["options"][0]
    assert (off["href"], off["is_chosen"], page.context["kept"]) == ("?q=sum", True, [("category", "math")])


def test_three_kinds_of_nothing(viewer: User, sign_in: SignIn) -> None:
    client = sign_in(viewer)
    assert "The catalog is empty" in client.get(PATH).content.decode()
    make_version(make_benchmark("sums"))
    assert "No benchmark matches" in client.get(PATH, {"q": "nothing like it"}).content.decode()


def test_htmx_gets_the_list_alone(viewer: User, sign_in: SignIn) -> None:
    make_version(make_benchmark("sums"))
    response = sign_in(viewer).get(PATH, headers=HTMX)
    text = response.content.decode()
    assert (text.strip().startswith('<div id="list"'), "<html" in text, "HX-Request" in response["Vary"]) == (True, False, True)


def test_page_costs_the_same_with_one_benchmark_and_with_three(viewer: User, sign_in: SignIn) -> None:
    client = sign_in(viewer)
    make_version(make_benchmark("one"))
    one = cost(client, PATH)
    make_version(make_benchmark("two"))
    make_version(make_benchmark("three"))
    assert cost(client, PATH) == one


def test_cursor_of_another_list_is_refused(viewer: User, sign_in: SignIn) -> None:
    assert sign_in(viewer).get(PATH, {"cursor": "x"}).status_code == 422
