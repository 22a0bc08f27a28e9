"""What tests of the whole site share."""

import pytest

from tests.site.world import World, make_world


@pytest.fixture
def world(db: None) -> World:
    return make_world()
