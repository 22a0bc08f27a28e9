"""A key's monthly limit on its page, beside its ceiling."""

from collections.abc import Callable

import pytest
from django.test import Client

from billing.queries import key_limit
from billing.statements import Limit
from tests.billing.spending import close, open_, spend
from tests.factories import make_key
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]


def test_month_is_set_shown_and_lifted(workspace: Workspace, owner: User, sign_in: SignIn) -> None:
    key, _ = make_key(workspace)
    client, page = sign_in(owner), f"/settings/api-keys/{key.public_id}"
    budget = open_(workspace, key=str(key.lineage), ceiling=900_000)
    spend(budget, 250_000)
    close(budget)
    response = client.post(f"{page}/month", {"month": "2"})
    assert (response.status_code, response["Location"], key_limit(str(key.lineage))) == (302, page, 2_000_000)
    shown = client.get(f"{page}/ceiling", headers={"HX-Request": "true"})
    assert shown.context["limit"] == Limit(2_000_000, 250_000, 0)
    assert ("$1.75" in shown.content.decode(), b"<html" in shown.content) == (True, False)
    client.post(f"{page}/month", {"month": ""})
    assert key_limit(str(key.lineage)) is None


@pytest.mark.parametrize("typed", ["-1", "much", "0.0000001"])
def test_what_is_no_amount_is_422(workspace: Workspace, owner: User, sign_in: SignIn, typed: str) -> None:
    key, _ = make_key(workspace)
    response = sign_in(owner).post(f"/settings/api-keys/{key.public_id}/month", {"month": typed})
    assert (response.status_code, list(response.context["month_form"].errors), key_limit(str(key.lineage))) == (422, ["month"], None)


def test_a_viewer_sees_the_figures_and_no_form(workspace: Workspace, viewer: User, member: User, sign_in: SignIn) -> None:
    key, _ = make_key(workspace)
    page = f"/settings/api-keys/{key.public_id}"
    assert b"<form" not in sign_in(viewer).get(f"{page}/ceiling", headers={"HX-Request": "true"}).content
    assert [sign_in(who).post(f"{page}/month", {"month": "2"}).status_code for who in (viewer, member)] == [403, 403]
