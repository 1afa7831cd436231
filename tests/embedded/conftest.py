from collections.abc import Iterator

import pytest

import kafpy


@pytest.fixture
def broker() -> Iterator[kafpy.Broker]:
    with kafpy.Broker() as broker:
        yield broker
