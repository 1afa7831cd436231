"""FindCoordinator and InitProducerId."""

from typing import Any

import pytest

from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode


@pytest.mark.parametrize("version", api.FIND_COORDINATOR.versions)
def test_no_coordinator(broker: Any, version: int) -> None:
    answer = broker.ask(api.FIND_COORDINATOR, version, key="g", coordinator_keys=["g", "h"])
    found = [answer] if version < 4 else answer.coordinators
    assert [(each.node_id, each.host, each.port, each.error_code) for each in found] == [(-1, "", -1, 15)] * len(found)
    if version >= 4:
        assert [each.key for each in found] == ["g", "h"]


@pytest.mark.parametrize(("version", "key_type", "code"), [(1, 1, 15), (1, 2, 42), (1, -1, 42), (3, 3, 42)])
def test_key_types(broker: Any, version: int, key_type: int, code: int) -> None:
    assert broker.ask(api.FIND_COORDINATOR, version, key="g", key_type=key_type).error_code == code


def test_share_groups_since_version_6(broker: Any) -> None:
    for version, code in ((5, 42), (6, 15)):
        answer = broker.ask(api.FIND_COORDINATOR, version, coordinator_keys=["g:t:0"], key_type=2)
        assert answer.coordinators[0].error_code == code


@pytest.mark.parametrize("version", api.INIT_PRODUCER_ID.versions)
def test_producer_ids(broker: Any, version: int) -> None:
    answers = [broker.ask(api.INIT_PRODUCER_ID, version, transactional_id=None) for _ in range(3)]
    assert [(each.error_code, each.producer_id, each.producer_epoch) for each in answers] == [
        (0, 4001, 0),
        (0, 4002, 0),
        (0, 4003, 0),
    ]
    for transactional_id, code in (("", ErrorCode.INVALID_REQUEST), ("t", ErrorCode.COORDINATOR_NOT_AVAILABLE)):
        answer = broker.ask(api.INIT_PRODUCER_ID, version, transactional_id=transactional_id)
        assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (code, -1, -1)


def test_id_and_epoch_go_together(broker: Any) -> None:
    for given, code in (
        ({"producer_id": 5}, 42),
        ({"producer_epoch": 5}, 42),
        ({"producer_id": 5, "producer_epoch": 5}, 0),
    ):
        assert broker.ask(api.INIT_PRODUCER_ID, 3, transactional_id=None, **given).error_code == code
