"""CreatePartitions, DeleteRecords, and what describes a cluster, its directories, epochs and producers."""

from pathlib import Path
from typing import Any

import pytest

from kafpy.metadata import MetadataError
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode
from tests.handlers.real import RealBroker

MORE = api.CREATE_PARTITIONS.request


def more(real: RealBroker, name: str, count: int, *replicas: list[int], assigned: bool = False, **flags: bool) -> Any:
    chosen = [MORE.Assignment(broker_ids=ids) for ids in replicas] if replicas or assigned else None
    asked = MORE.Topic(name=name, count=count, assignments=chosen)
    result = real.ask(api.CREATE_PARTITIONS, topics=[asked], **flags).results[0]
    assert result.name == name
    return result.error_code, result.error_message


@pytest.mark.parametrize("clean", [True, False])
def test_a_topic_grows(real: RealBroker, clean: bool) -> None:
    real.create("t", 2)
    real.fill("t", 3)
    old = real.partitions.log("t", 0)
    assert more(real, "t", 5, validate_only=True) == (0, None)
    assert len(real.state.image.topics["t"].partitions) == 2
    assert more(real, "t", 5) == (0, None)
    assert real.partitions.log("t", 0) is old
    assert more(real, "t", 6, [1]) == (0, None)
    real.restart(clean=clean)
    assert [each.index for each in real.state.image.topics["t"].partitions] == list(range(6))
    ends = [log.log_end_offset for index in range(6) if (log := real.partitions.log("t", index))]
    assert ends == [3, 0, 0, 0, 0, 0]
    assert {real.partitions.directory("t", index) for index in range(6)} == set(map(str, real.paths))


@pytest.mark.parametrize(
    ("name", "count", "replicas", "code", "message"),
    [
        ("t", 2, [], 37, "Topic already has 2 partition(s)."),
        ("t", 1, [], 37, "The topic t currently has 2 partition(s); 1 would not be an increase."),
        ("t", -1, [], 37, "The topic t currently has 2 partition(s); -1 would not be an increase."),
        ("t", 1_000_000, [], 44, "Excessively large number of partitions per request: over 10000."),
        ("no", 3, [], 3, None),
        ("../up", 3, [], 3, None),
        (
            "t",
            5,
            [[1]],
            39,
            "Attempted to add 3 additional partition(s), but only 1 assignment(s) were specified.",
        ),
        ("t", 3, [[9]], 39, "The manual partition assignment includes broker 9, but no such broker is registered."),
        ("t", 3, [[]], 39, "The manual partition assignment includes an empty replica list."),
        ("t", 3, [[1, 1]], 39, "The manual partition assignment includes the broker 1 more than once."),
    ],
)
def test_a_topic_does_not_grow(
    real: RealBroker, name: str, count: int, replicas: list[list[int]], code: int, message: str | None
) -> None:
    real.create("t", 2)
    before = {path for root in real.paths for path in root.iterdir()}
    assert more(real, name, count, *replicas) == (code, message)
    assert len(real.state.image.topics["t"].partitions) == 2
    assert {path for root in real.paths for path in root.iterdir()} == before


def test_a_topic_asked_for_twice_does_not_grow(real: RealBroker) -> None:
    real.create("t")
    asked = [MORE.Topic(name="t", count=count, assignments=None) for count in (3, 4)]
    results = real.ask(api.CREATE_PARTITIONS, topics=asked).results
    assert [(each.name, each.error_code, each.error_message) for each in results] == [
        ("t", 42, "Duplicate topic name.")
    ]


def test_a_topic_does_not_grow_into_a_folder_of_another(real: RealBroker) -> None:
    real.create("t")
    for root in real.paths:
        (root / "t-1").mkdir()
    code, _ = more(real, "t", 2)
    assert code == 56
    assert len(real.state.image.topics["t"].partitions) == 1


def cut(real: RealBroker, name: str, offset: int, partition: int = 0, version: int = 2) -> tuple[int, int]:
    request = api.DELETE_RECORDS.request
    topic = request.Topic(name=name, partitions=[request.Partition(partition_index=partition, offset=offset)])
    answer = real.ask(api.DELETE_RECORDS, version, topics=[topic]).topics[0]
    assert (answer.name, answer.partitions[0].partition_index) == (name, partition)
    return answer.partitions[0].low_watermark, answer.partitions[0].error_code


def test_a_topic_that_could_be_neither_made_nor_unmade(real: RealBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk has no room for its folder, and then none for the store to forget it: it can be asked for again."""
    request = api.CREATE_TOPICS.request
    wanted = [request.Topic(name="t", num_partitions=1, replication_factor=1)]

    def full(name: str) -> int:
        raise MetadataError(ErrorCode.KAFKA_STORAGE_ERROR, "The metadata cannot be written: the disk is full.")

    obstacle = real.paths[0] / "t-0"
    obstacle.write_text("")
    with monkeypatch.context() as broken:
        broken.setattr(real._store, "delete_topic", full)
        for _ in range(2):
            answer = real.ask(api.CREATE_TOPICS, topics=wanted).topics[0]
            assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert real.ask(api.CREATE_TOPICS, topics=wanted).topics[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    obstacle.unlink()
    real.create("t")
    real.fill("t", 3)
    real.restart(clean=True)
    log = real.partitions.log("t", 0)
    assert log is not None
    assert log.log_end_offset == 3


@pytest.mark.parametrize("version", api.DELETE_RECORDS.versions)
def test_records_are_deleted(real: RealBroker, version: int) -> None:
    real.create("t")
    real.create("compacted", cleanup_policy="compact")
    real.create("both", cleanup_policy="compact,delete")
    real.fill("t", 10)
    assert cut(real, "t", 4, version=version) == (4, 0)
    assert cut(real, "t", 2, version=version) == (4, 0)
    for beyond in (11, -2, 2**63 - 1):
        assert cut(real, "t", beyond, version=version) == (-1, 1)
    assert cut(real, "t", -1, version=version) == (10, 0)
    assert cut(real, "t", 0, partition=1, version=version) == (-1, 3)
    assert cut(real, "no", 0, version=version) == (-1, 3)
    assert cut(real, "__consumer_offsets", 0, version=version) == (-1, 17)
    assert cut(real, "compacted", 0, version=version) == (-1, 44)
    assert cut(real, "both", 0, version=version) == (0, 0)


@pytest.mark.parametrize("clean", [True, False])
def test_deleted_records_stay_deleted(real: RealBroker, clean: bool) -> None:
    real.create("t")
    real.fill("t", 10)
    real.fill("t", 10)
    assert cut(real, "t", 13) == (13, 0)
    real.restart(clean=clean)
    log = real.partitions.log("t", 0)
    assert log is not None
    assert (log.log_start_offset, log.log_end_offset) == (13, 20)


def test_a_topic_of_the_same_name_starts_at_its_own_beginning(real: RealBroker) -> None:
    real.create("t", file_delete_delay_ms="77")
    real.fill("t", 10)
    assert cut(real, "t", 5) == (5, 0)
    request = api.DELETE_TOPICS.request
    assert real.ask(api.DELETE_TOPICS, topics=[request.Topic(name="t")]).responses[0].error_code == 0
    assert [delay for _, delay in real.removed] == [77]
    real.create("t")
    real.fill("t", 10)
    real.restart(clean=False)
    log = real.partitions.log("t", 0)
    assert log is not None
    assert log.log_start_offset == 0


def test_a_look_up_by_time_skips_what_was_deleted(real: RealBroker) -> None:
    real.create("t")
    real.fill("t", 10)
    assert cut(real, "t", 4) == (4, 0)
    request = api.LIST_OFFSETS.request
    parts = [request.Partition(partition_index=0, timestamp=1001)]
    answer = real.ask(api.LIST_OFFSETS, replica_id=-1, topics=[request.Topic(name="t", partitions=parts)])
    assert answer.topics[0].partitions[0].offset == 4


@pytest.mark.parametrize("version", api.DESCRIBE_CLUSTER.versions)
def test_the_cluster(real: RealBroker, version: int) -> None:
    answer = real.ask(api.DESCRIBE_CLUSTER, version, include_cluster_authorized_operations=True)
    assert (answer.error_code, answer.cluster_id, answer.controller_id) == (0, "real-cluster", 1)
    assert [(each.broker_id, each.host, each.port, each.rack) for each in answer.brokers] == [
        (1, "10.0.0.7", 9093, None)
    ]
    assert answer.cluster_authorized_operations == 8096
    if version >= 1:
        for kind, code in ((2, 114), (3, 115), (0, 115)):
            answer = real.ask(api.DESCRIBE_CLUSTER, version, endpoint_type=kind)
            assert (answer.error_code, answer.brokers, answer.controller_id) == (code, [], -1)


def pages(real: RealBroker, *names: str, limit: int = 2000, cursor: tuple[str, int] | None = None) -> Any:
    request = api.DESCRIBE_TOPIC_PARTITIONS.request
    answer = real.ask(
        api.DESCRIBE_TOPIC_PARTITIONS,
        topics=[request.Topic(name=name) for name in names],
        response_partition_limit=limit,
        cursor=None if cursor is None else request.Cursor(topic_name=cursor[0], partition_index=cursor[1]),
    )
    topics = [
        (each.name, each.error_code, [part.partition_index for part in each.partitions]) for each in answer.topics
    ]
    following = answer.next_cursor
    return topics, None if following is None else (following.topic_name, following.partition_index)


def test_partitions_in_pages(real: RealBroker) -> None:
    real.create("b", 5)
    real.create("a", 2)
    assert pages(real) == ([("a", 0, [0, 1]), ("b", 0, [0, 1, 2, 3, 4])], None)
    assert pages(real, "b", "no", "a", "a/b", "a") == (
        [("a", 0, [0, 1]), ("a/b", 17, []), ("b", 0, [0, 1, 2, 3, 4]), ("no", 3, [])],
        None,
    )
    assert pages(real, limit=3) == ([("a", 0, [0, 1]), ("b", 0, [0])], ("b", 1))
    assert pages(real, limit=2) == ([("a", 0, [0, 1])], ("b", 0))
    assert pages(real, limit=2, cursor=("b", 1)) == ([("b", 0, [1, 2])], ("b", 3))
    assert pages(real, limit=2, cursor=("aa", 1)) == ([("b", 0, [0, 1])], ("b", 2))
    assert pages(real, "b", limit=2, cursor=("b", 3)) == ([("b", 0, [3, 4])], None)
    assert pages(real, "b", cursor=("b", 9)) == ([("b", 0, [])], None)
    for limit in (0, -1):
        assert pages(real, "b", limit=limit) == ([("b", 0, [0])], ("b", 1))
    assert pages(real, "b", cursor=("b", -1)) == ([("b", 42, [])], None)
    assert pages(real, "b", cursor=("a", 0)) == ([("b", 42, [])], None)


def test_a_partition_is_told_whole(real: RealBroker) -> None:
    made = real.create("t")
    request = api.DESCRIBE_TOPIC_PARTITIONS.request
    topic = real.ask(api.DESCRIBE_TOPIC_PARTITIONS, topics=[request.Topic(name="t")]).topics[0]
    assert (topic.topic_id, topic.is_internal, topic.topic_authorized_operations) == (made.topic_id, False, 3576)
    part = topic.partitions[0]
    assert (part.error_code, part.leader_id, part.leader_epoch) == (0, 1, 0)
    assert (part.replica_nodes, part.isr_nodes, part.offline_replicas) == ([1], [1], [])
    assert (part.eligible_leader_replicas, part.last_known_elr) == ([], [])


@pytest.mark.parametrize("version", api.DESCRIBE_LOG_DIRS.versions)
def test_directories(real: RealBroker, version: int) -> None:
    real.create("t", 2)
    real.fill("t", 3)
    results = real.ask(api.DESCRIBE_LOG_DIRS, version, topics=None).results
    assert [each.log_dir for each in results] == list(map(str, real.paths))
    sizes = {
        (topic.name, part.partition_index): part.partition_size
        for each in results
        for topic in each.topics
        for part in topic.partitions
    }
    log = real.partitions.log("t", 0)
    assert log is not None
    assert sizes == {("t", 0): log.size, ("t", 1): 0}
    if version >= 4:
        assert all(0 < each.usable_bytes <= each.total_bytes for each in results)
    assert not any(each.topics for each in real.ask(api.DESCRIBE_LOG_DIRS, version, topics=[]).results)
    request = api.DESCRIBE_LOG_DIRS.request
    asked = [request.Topic(topic="t", partitions=[1, 7]), request.Topic(topic="no", partitions=[0])]
    found = real.ask(api.DESCRIBE_LOG_DIRS, version, topics=asked).results
    assert [part.partition_index for each in found for topic in each.topics for part in topic.partitions] == [1]


@pytest.mark.parametrize("version", api.ALTER_REPLICA_LOG_DIRS.versions)
def test_replicas_move(real: RealBroker, version: int) -> None:
    real.create("t")
    here = real.partitions.directory("t", 0) or ""
    elsewhere = next(str(path) for path in real.paths if str(path) != here)
    request = api.ALTER_REPLICA_LOG_DIRS.request

    def moved(path: str | Path | None, name: str, index: int) -> int:
        topic = request.Topic(name=name, partitions=[index])
        asked = [request.Dir(path=str(path), topics=[topic])]
        result = real.ask(api.ALTER_REPLICA_LOG_DIRS, version, dirs=asked).results[0]
        assert (result.topic_name, result.partitions[0].partition_index) == (name, index)
        return int(result.partitions[0].error_code)

    assert moved(here, "t", 0) == 0
    assert moved("/no/where", "t", 0) == 57
    assert moved("/no/where", "no", 0) == 57
    assert moved(here, "t", 1) == 3
    assert moved(here, "no", 0) == 3
    real.fill("t", 10)
    assert moved(elsewhere, "t", 0) == 0
    assert real.partitions.directory("t", 0) == elsewhere
    log = real.partitions.log("t", 0)
    assert log is not None
    assert (log.log_start_offset, log.log_end_offset) == (0, 10)
    assert not (Path(here) / "t-0").exists()
    assert [folder.name.endswith("-delete") for folders, _ in real.removed for folder in folders] == [True]
    real.fill("t", 5)
    real.restart(clean=False)
    assert real.partitions.directory("t", 0) == elsewhere
    log = real.partitions.log("t", 0)
    assert log is not None
    assert log.log_end_offset == 15


@pytest.mark.parametrize("version", api.OFFSET_FOR_LEADER_EPOCH.versions)
def test_where_epochs_end(real: RealBroker, version: int) -> None:
    real.create("t")
    real.fill("t", 10)
    cut(real, "t", 4)
    request = api.OFFSET_FOR_LEADER_EPOCH.request

    def end(epoch: int, name: str = "t", index: int = 0, current: int = -1) -> tuple[int, int, int]:
        part = request.Partition(partition=index, current_leader_epoch=current, leader_epoch=epoch)
        topics = [request.Topic(topic=name, partitions=[part])]
        found = real.ask(api.OFFSET_FOR_LEADER_EPOCH, version, topics=topics).topics[0].partitions[0]
        return found.error_code, found.leader_epoch, found.end_offset

    assert end(0) == (0, 0, 10)
    assert end(0, current=0) == (0, 0, 10)
    assert end(1) == end(-1) == end(2**31 - 1) == (0, -1, -1)
    assert end(-2) == (0, -2, 4)
    assert end(0, current=1) == (75, -1, -1)
    assert end(0, index=1) == end(0, index=-1) == end(0, name="no") == (3, -1, -1)


def test_producers(real: RealBroker) -> None:
    real.create("t", 2)
    real.fill("t", 10, producer_id=40, producer_epoch=2, base_sequence=0)
    real.fill("t", 5, producer_id=40, producer_epoch=2, base_sequence=10)
    real.fill("t", 1, producer_id=7, producer_epoch=0, base_sequence=0)
    request = api.DESCRIBE_PRODUCERS.request
    asked = [request.Topic(name="t", partition_indexes=[0, 1, 2])]
    asked += [request.Topic(name=name, partition_indexes=[0]) for name in ("no", "a/b")]
    topics = real.ask(api.DESCRIBE_PRODUCERS, topics=asked).topics
    codes = [[part.error_code for part in topic.partitions] for topic in topics]
    assert codes == [[0, 0, 3], [3], [17]]
    known = [
        (
            each.producer_id,
            each.producer_epoch,
            each.last_sequence,
            each.coordinator_epoch,
            each.current_txn_start_offset,
        )
        for each in topics[0].partitions[0].active_producers
    ]
    assert known == [(7, 0, 0, -1, -1), (40, 2, 14, -1, -1)]
    assert topics[0].partitions[1].active_producers == []
