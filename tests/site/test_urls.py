"""Who may: every URL of pages and API, asked by nobody, by a stranger, by each role that does not suffice, and by the owner."""

import pytest
from django.http import HttpResponse
from django.test import Client

from tests.site.routes import CATALOG, MISSING, OBJECT, OWN, PUBLIC, ROUTES, VERBS, Route, patterns
from tests.site.world import MARK, World
from workspaces.enums import Role

THERE = set(patterns())
KNOWN = [route for route in ROUTES.values() if route.pattern in THERE]
"""The classified routes that exist; `test_every_route_is_classified` sees to the rest."""


def named(*kinds: str) -> list[Route]:
    return [route for route in KNOWN if route.kind in kinds]


def ask(client: Client, world: World, route: Route, verb: str, **headers: str) -> HttpResponse:
    """Send the verb to our object's address, as a form or as an empty JSON object. The form names our workspace."""
    path = world.path(route.pattern)
    if verb == "GET":
        return client.get(path, headers=headers)
    if route.is_api:
        return client.generic(verb, path, "{}", content_type="application/json", headers=headers)
    return client.generic(
        verb, path, f"workspace={world.workspace.public_id}", content_type="application/x-www-form-urlencoded", headers=headers
    )


def none_of(wrong: dict[tuple[str, ...], int]) -> None:
    """Fail with a line for each answer that was not as it should be."""
    if wrong:
        pytest.fail("\n".join(f"{' '.join(asked)}: {status}" for asked, status in wrong.items()), pytrace=False)


def test_every_route_is_classified() -> None:
    assert sorted(THERE - ROUTES.keys()) == []


def test_every_classified_route_exists() -> None:
    assert sorted(ROUTES.keys() - THERE) == []


def test_nobody_is_asked_to_sign_in(world: World) -> None:
    wrong: dict[tuple[str, ...], int] = {}
    for route in named(OWN, OBJECT):
        for verb in route.verbs:
            response = ask(Client(), world, route, verb)
            expected = 401 if route.is_api else 302
            if response.status_code != expected or (expected == 302 and not response["Location"].startswith("/login?next=")):
                wrong[verb, str(route)] = response.status_code
    none_of(wrong)


def test_public_routes_answer_nobody_without_what_is_ours(world: World) -> None:
    wrong: dict[tuple[str, ...], int] = {}
    for route in named(PUBLIC):
        response = ask(Client(), world, route, "GET")
        if response.status_code not in {200, 422} or MARK in response.content.decode():
            wrong[(str(route),)] = response.status_code
    none_of(wrong)


def test_stranger_finds_no_object_of_ours(world: World) -> None:
    """404 with every verb the route takes, signed in and by an API key of their own that may do everything."""
    wrong: dict[tuple[str, ...], int] = {}
    client = world.client(world.stranger)
    for route in named(OBJECT, CATALOG):
        for verb in route.verbs:
            answers = {"session": ask(client, world, route, verb)}
            if route.is_api:
                answers["header"] = ask(client, world, route, verb, **{"X-Workspace-Id": world.ids["workspace_id"]})
                answers["key"] = ask(Client(), world, route, verb, Authorization=f"Bearer {world.stranger_key}")
            for way, response in answers.items():
                if response.status_code != 404 or MARK in response.content.decode():
                    wrong[way, verb, str(route)] = response.status_code
    none_of(wrong)


def test_nobody_finds_what_is_private_in_the_catalog(world: World) -> None:
    statuses = {str(route): ask(Client(), world, route, "GET").status_code for route in named(CATALOG) if route.verbs["GET"] is None}
    assert statuses == dict.fromkeys(statuses, 404)


def test_stranger_sees_nothing_of_ours_in_their_own_lists(world: World) -> None:
    leaking = []
    client = world.client(world.stranger)
    for route in named(OWN, PUBLIC):
        if "GET" not in route.verbs:
            continue
        text = ask(client, world, route, "GET").getvalue().decode()
        if MARK in text or world.ids["run_id"] in text:
            leaking.append(str(route))
    assert leaking == []


def test_stranger_changes_nothing_in_a_workspace_they_name(world: World) -> None:
    """A form or a header that names our workspace is not found, also where the route itself names no object."""
    wrong: dict[tuple[str, ...], int] = {}
    client = world.client(world.stranger)
    for route in named(OWN):
        for verb in route.verbs:
            if route.is_api:
                response = ask(client, world, route, verb, **{"X-Workspace-Id": world.ids["workspace_id"]})
            elif verb == "POST" and route.verbs[verb] != Role.VIEWER:
                response = ask(client, world, route, verb)
            else:
                continue
            if response.status_code != 404:
                wrong[verb, str(route)] = response.status_code
    none_of(wrong)


def test_role_that_does_not_suffice_is_forbidden(world: World) -> None:
    wrong: dict[tuple[str, ...], int] = {}
    for route in named(OWN, OBJECT):
        for verb in route.verbs:
            for role in route.roles_below(verb):
                response = ask(world.client(world.people[role]), world, route, verb)
                if response.status_code != 403:
                    wrong[role.value, verb, str(route)] = response.status_code
    none_of(wrong)


def test_least_role_that_suffices_is_let_in(world: World) -> None:
    """Each read answers, which shows that the 404 and 403 above mean something; each change gets as far as its input."""
    wrong: dict[tuple[str, ...], int] = {}
    for route in named(OWN, OBJECT, CATALOG):
        for verb, least in route.verbs.items():
            if verb != "GET" and route.kind == OBJECT:
                continue  # would change the world under the others; the views' own tests do
            response = ask(world.client(world.people[least or Role.VIEWER]), world, route, verb)
            expected = {200, 302, 409, 422} if verb == "GET" else {200, 201, 302, 409, 422}
            if response.status_code not in expected or response.get("Location", "").startswith("/login"):
                wrong[str(least), verb, str(route)] = response.status_code
    none_of(wrong)


@pytest.mark.parametrize("kinds", [(OWN, OBJECT), (PUBLIC, CATALOG)], ids=["signed-in", "public"])
def test_other_verbs_are_not_allowed(world: World, kinds: tuple[str, ...]) -> None:
    wrong: dict[tuple[str, ...], int] = {}
    client = world.client(world.people[Role.OWNER])
    for route in named(*kinds):
        for verb in VERBS:
            if verb not in route.verbs and (response := ask(client, world, route, verb)).status_code != 405:
                wrong[verb, str(route)] = response.status_code
    none_of(wrong)


def test_admin_is_for_staff_alone(world: World) -> None:
    response = world.client(world.people[Role.OWNER]).get("/admin/runs/run/")
    assert (response.status_code, response["Location"]) == (302, "/admin/login/?next=/admin/runs/run/")


def test_addresses_that_do_not_exist_are_not_found(world: World) -> None:
    assert named(MISSING) != []
    client = world.client(world.people[Role.OWNER])
    assert [client.get(path).status_code for path in ("/v1", "/v1/nothing", "/nothing", "/evaluations/nothing")] == [404] * 4
