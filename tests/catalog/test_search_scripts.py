"""Searches find words of every script, on either database."""

import pytest

from catalog import queries
from tests import factories


@pytest.mark.parametrize("q", ["Café", "CAFÉ", "café", "東京", "Ёлка", "ёлка", "plain"])
def test_word_of_any_script_is_found_in_tasks_metadata(db: None, q: str) -> None:
    version = factories.make_version(tasks=2)
    task = version.tasks.get(ordinal=1)
    task.metadata = {"place": "café", "city": "in 東京", "tree": "Ёлка", "kind": "Plain"}
    task.save(update_fields=["metadata"])
    assert list(queries.find_tasks(version, q)) == [task]
    assert list(queries.find_tasks(version, "naïve")) == []


@pytest.mark.parametrize("q", ["É", "é", "École"])
def test_word_of_any_script_is_found_in_ids_and_groups(db: None, q: str) -> None:
    version = factories.make_version(tasks=2)
    task = version.tasks.get(ordinal=0)
    task.group = "École"
    task.save(update_fields=["group"])
    assert list(queries.tasks_of(version, q)) == [task]
