from typing import Any

import pytest

from kafpy.metadata import Partition, Topic
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

REQUEST = api.LIST_OFFSETS.request


@pytest.fixture
def broker(broker: Any) -> Any:
    broker.have("t", partitions=2)
    log = broker.partitions.log("t", 0)
    log.records = [(10, 100), (11, 300), (12, 200), (13, 400)]
    log.log_start_offset, log.last_stable_offset, log.high_watermark, log.log_end_offset = 10, 12, 13, 14
    return broker


def ask(
    broker: Any, version: int, timestamp: int, *, name: str = "t", index: int = 0, epoch: int = -1, **body: Any
) -> Any:
    part = REQUEST.Partition(partition_index=index, timestamp=timestamp, current_leader_epoch=epoch)
    fields = {"replica_id": -1, "topics": [REQUEST.Topic(name=name, partitions=[part])], **body}
    answer = broker.ask(api.LIST_OFFSETS, version, **fields)
    return answer.topics[0].partitions[0]


@pytest.mark.parametrize("version", api.LIST_OFFSETS.versions)
@pytest.mark.parametrize(
    ("timestamp", "since", "offset", "time"),
    [
        (-1, 1, 13, -1),
        (-2, 1, 10, -1),
        (-3, 7, -1, -1),
        (-4, 8, 10, -1),
        (-5, 9, -1, -1),
        (-6, 11, -1, -1),
        (-7, 99, -1, -1),
        (0, 1, 10, 100),
        (150, 1, 11, 300),
        (400, 1, -1, -1),
        (500, 1, -1, -1),
    ],
)
def test_offsets(broker: Any, version: int, timestamp: int, since: int, offset: int, time: int) -> None:
    found = ask(broker, version, timestamp)
    if version < since:
        assert (found.error_code, found.offset, found.timestamp) == (ErrorCode.UNSUPPORTED_VERSION, -1, -1)
    else:
        assert (found.error_code, found.offset, found.timestamp) == (0, offset, time)
        assert found.leader_epoch == (0 if version >= 4 and offset >= 0 else -1)


def test_max_timestamp_and_the_whole_log(broker: Any) -> None:
    assert ask(broker, 7, -3, replica_id=-2).offset == 13
    assert ask(broker, 7, -1, replica_id=-2).offset == 14
    broker.partitions.log("t", 0).high_watermark = 14
    assert (ask(broker, 7, -3).offset, ask(broker, 7, -3).timestamp) == (13, 400)
    assert (ask(broker, 7, -3, index=1).offset, ask(broker, 7, -3, index=1).error_code) == (-1, 0)


def test_read_committed(broker: Any) -> None:
    assert ask(broker, 2, -1, isolation_level=1).offset == 12
    assert ask(broker, 2, 200, isolation_level=1).offset == 11
    broker.partitions.log("t", 0).last_stable_offset = 11
    assert ask(broker, 2, 200, isolation_level=1).offset == -1


def test_errors(broker: Any) -> None:
    topic = broker.image.topic("t")
    parts = (Partition(0, 1, 5, (1,), (1,)), Partition(1, 2, 5, (2,), (2,)))
    broker.image = broker.image.with_topic(Topic("t", topic.topic_id, parts, {}), 9)
    for epoch, code in ((-1, 0), (5, 0), (4, ErrorCode.FENCED_LEADER_EPOCH), (6, ErrorCode.UNKNOWN_LEADER_EPOCH)):
        assert ask(broker, 4, -1, epoch=epoch).error_code == code
    assert ask(broker, 4, -1).leader_epoch == 5
    assert ask(broker, 4, -2).leader_epoch == -1
    assert ask(broker, 4, -1, index=1).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    for where in ({"name": "no"}, {"index": 2}, {"index": -1}):
        assert ask(broker, 4, -1, **where).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    del broker.partitions.logs["t", 0]
    assert ask(broker, 4, -1).error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_asked_twice(broker: Any) -> None:
    parts = [REQUEST.Partition(partition_index=index, timestamp=-1) for index in (0, 1, 0)]
    answer = broker.ask(api.LIST_OFFSETS, 5, replica_id=-1, topics=[REQUEST.Topic(name="t", partitions=parts)])
    assert [(part.partition_index, part.error_code) for part in answer.topics[0].partitions] == [(0, 42), (1, 0)]
    assert broker.ask(api.LIST_OFFSETS, 5, topics=[]).topics == []
