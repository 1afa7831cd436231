"""Fixtures for pytest: `kafpy_broker`, a broker for one test, and `kafpy_broker_session`, one for all of a process.

Settings are Kafka's keys with `_` for `.`:

    @pytest.mark.kafpy_broker(num_partitions=3)          nearest marker wins, of test, class and module
    def test_…(kafpy_broker): ...

    @pytest.fixture(scope="session")                     in conftest.py, for the one of the session
    def kafpy_broker_session_settings():
        return {"auto_create_topics_enable": False}

Nothing of the broker is loaded before a test asks for one. Under pytest-xdist each worker has its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kafpy.embedded.broker import Broker

MARKER = "kafpy_broker"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARKER}(**settings): settings of the kafpy_broker fixture's broker")


@pytest.fixture
def kafpy_broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """A broker of this test's own, with the settings of its `kafpy_broker` markers."""
    import kafpy

    settings: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers(MARKER))):
        if marker.args:
            pytest.fail(f"@pytest.mark.{MARKER} takes settings by name, not {marker.args[0]!r}", pytrace=False)
        settings.update(marker.kwargs)
    with kafpy.Broker(**settings) as broker:
        yield broker


@pytest.fixture(scope="session")
def kafpy_broker_session_settings() -> Mapping[str, Any]:
    """To be overridden in conftest.py."""
    return {}


@pytest.fixture(scope="session")
def kafpy_broker_session(kafpy_broker_session_settings: Mapping[str, Any]) -> Iterator[Broker]:
    """One broker for all tests of this process; tests keep apart by the names of their topics and groups."""
    import kafpy

    with kafpy.Broker(**kafpy_broker_session_settings) as broker:
        yield broker
