from typing import Any

import pytest

from kafpy.protocol import api


@pytest.mark.parametrize("version", range(1, 6))
def test_an_empty_name(broker: Any, version: int) -> None:
    answer = broker.ask(api.DELETE_TOPICS, version, topic_names=[""], timeout_ms=1000)
    assert [(each.name, each.error_code) for each in answer.responses] == [("", 3)]
