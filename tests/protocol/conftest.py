from collections.abc import Callable

import pytest

from tests.protocol.filler import Filler


@pytest.fixture
def filler() -> Callable[[int], Filler]:
    return Filler
