"""Secrets at rest."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from common.crypto import Undecryptable, decrypt, encrypt, rotate


def test_secret_comes_back_and_does_not_stand_in_its_token() -> None:
    token = encrypt("sk-geheim-ü")

    assert decrypt(token) == "sk-geheim-ü"
    assert "geheim" not in token
    assert encrypt("sk-geheim-ü") != token


def test_older_keys_still_read_and_the_newest_writes(settings: Settings) -> None:
    settings.CREDENTIAL_KEYS = ["old"]
    token = encrypt("secret")
    settings.CREDENTIAL_KEYS = ["new", "old"]
    renewed = rotate(token)

    assert decrypt(token) == "secret"
    settings.CREDENTIAL_KEYS = ["new"]
    assert decrypt(renewed) == "secret"
    with pytest.raises(Undecryptable):
        decrypt(token)


@pytest.mark.parametrize("token", ["", "nonsense", "gAAAAAnope", "ü"])
def test_what_is_no_token_is_undecryptable(token: str) -> None:
    with pytest.raises(Undecryptable):
        decrypt(token)


def test_changed_token_is_undecryptable() -> None:
    token = encrypt("secret")
    changed = token[:-10] + ("A" if token[-10] != "A" else "B") + token[-9:]

    with pytest.raises(Undecryptable):
        decrypt(changed)


def test_without_keys_nothing_is_kept(settings: Settings) -> None:
    settings.CREDENTIAL_KEYS = []

    with pytest.raises(ImproperlyConfigured):
        encrypt("secret")
