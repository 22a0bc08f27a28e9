"""Rates."""

import pytest
from pytest_django.fixtures import Settings

from evalrouter_site.api.throttling import parse_rate
from tests.api.conftest import ApiClient, error_of, key_client
from workspaces.models import Workspace


@pytest.fixture
def _slow(settings: Settings) -> None:
    rates = {"api": "7/hour", "anonymous": "3/hour"}
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "DEFAULT_THROTTLE_RATES": rates}


@pytest.mark.usefixtures("_slow")
def test_a_key_is_told_when_to_come_back(api: ApiClient, workspace: Workspace) -> None:
    answers = [api.get("/v1/account") for _ in range(9)]
    assert [answer.status_code for answer in answers] == [200] * 7 + [429] * 2
    assert error_of(answers[-1])["code"] == "rate_limited"
    assert 1 <= int(answers[-1]["Retry-After"]) <= 3600
    assert key_client(workspace).get("/v1/account").status_code == 200


@pytest.mark.usefixtures("_slow")
def test_guesses_at_keys_count_against_their_address(nobody: ApiClient) -> None:
    answers = [nobody.get("/v1/account", authorization=f"Bearer er_{n}") for n in range(4)]
    assert [answer.status_code for answer in answers] == [401] * 3 + [429]
    assert nobody.get("/v1/benchmarks").status_code == 429


def test_rates_are_read() -> None:
    assert [parse_rate(rate) for rate in ("600/min", "5/s", "3/hour", "1/day")] == [(600, 60), (5, 1), (3, 3600), (1, 86400)]
