from collections.abc import Iterator

import pytest

from kafpy._core.runtime import Runtime
from tests.core import logs


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    with logs.running() as made:
        yield made
