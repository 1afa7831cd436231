"""FindCoordinator and InitProducerId."""

from typing import Any

import pytest
import trio

from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode
from tests.handlers.real import RealBroker


@pytest.mark.parametrize("version", api.FIND_COORDINATOR.versions)
def test_groups_are_here(real: RealBroker, version: int) -> None:
    answer = real.ask(api.FIND_COORDINATOR, version, key="g", coordinator_keys=["g", "h"])
    found = [answer] if version < 4 else answer.coordinators
    here = (1, "10.0.0.7", 9093, 0)
    assert [(each.node_id, each.host, each.port, each.error_code) for each in found] == [here] * len(found)
    if version >= 4:
        assert [each.key for each in found] == ["g", "h"]


def test_asking_creates_the_topic_once(real: RealBroker) -> None:
    real.ask(api.FIND_COORDINATOR, key="g", coordinator_keys=["g"])
    made = real.state.image.topics["__consumer_offsets"]
    assert len(made.partitions) == 50
    assert made.configs == {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"}
    real.ask(api.FIND_COORDINATOR, key="h", coordinator_keys=["h"])
    assert real.state.image.topics["__consumer_offsets"] is made


def test_a_coordinator_whose_log_is_lost(real: RealBroker) -> None:
    real.ask(api.FIND_COORDINATOR, key="g", coordinator_keys=["g"])
    for index in range(50):
        log = real.partitions.log("__consumer_offsets", index)
        assert log is not None
        log.fail()
    trio.run(real.state.lose_leaders)
    answer = real.ask(api.FIND_COORDINATOR, coordinator_keys=["g"])
    assert answer.coordinators[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


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
        answer = broker.ask(
            api.INIT_PRODUCER_ID, version, transactional_id=transactional_id, transaction_timeout_ms=900_000
        )
        assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (code, -1, -1)


def test_id_and_epoch_go_together(broker: Any) -> None:
    for given, code in (
        ({"producer_id": 5}, 42),
        ({"producer_epoch": 5}, 42),
        ({"producer_id": 5, "producer_epoch": 5}, 0),
    ):
        assert broker.ask(api.INIT_PRODUCER_ID, 3, transactional_id=None, **given).error_code == code


@pytest.mark.parametrize("timeout_ms", [0, -1, -(2**31), 900_001, 2**31 - 1], ids=lambda each: f"A10[{each}]")
def test_timeouts_of_a_transaction(broker: Any, timeout_ms: int) -> None:
    answer = broker.ask(api.INIT_PRODUCER_ID, 4, transactional_id="t", transaction_timeout_ms=timeout_ms)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (50, -1, -1)
    assert broker.ask(api.INIT_PRODUCER_ID, 4, transactional_id=None, transaction_timeout_ms=timeout_ms).error_code == 0
