from collections.abc import Iterator

import pytest
from hypothesis import settings

from kafpy._core.runtime import Runtime
from tests.core import logs

# A busy machine is no bug: examples have no deadline. ci/ asks for `sanitized`.
settings.register_profile("unhurried", deadline=None)
settings.register_profile("sanitized", deadline=None, max_examples=20, stateful_step_count=30)
settings.load_profile("unhurried")


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    with logs.running() as made:
        yield made
