from typing import Any

import pytest

from kafpy.handlers.metadata import AUTO_CREATE_BATCH
from kafpy.metadata import Image, Partition, Topic
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

ASKED = api.METADATA.request.Topic
VERSIONS = api.METADATA.versions


def by_name(answer: Any) -> dict[str, Any]:
    return {topic.name: topic for topic in answer.topics}


def settings(broker: Any, **changes: Any) -> None:
    broker.settings = type(broker.settings)(**changes)


@pytest.mark.parametrize("version", VERSIONS)
def test_all_topics_and_none(broker: Any, version: int) -> None:
    broker.have("a", "b", partitions=3)
    everything = broker.ask(api.METADATA, version, topics=[] if version == 0 else None)
    assert set(by_name(everything)) == {"a", "b"}
    if version > 0:
        assert broker.ask(api.METADATA, version, topics=[]).topics == []
    assert [(each.node_id, each.host, each.port) for each in everything.brokers] == [(1, "10.0.0.7", 9093)]
    topic = by_name(everything)["a"]
    assert [each.partition_index for each in topic.partitions] == [0, 1, 2]
    assert {(each.error_code, each.leader_id, *each.replica_nodes, *each.isr_nodes) for each in topic.partitions} == {
        (0, 1, 1, 1)
    }
    if version >= 10:
        assert topic.topic_id == broker.image.topic("a").topic_id
    if version >= 2:
        assert (everything.cluster_id, everything.controller_id) == ("memory-cluster", 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_unknown_and_invalid_names(broker: Any, version: int) -> None:
    settings(broker, auto_create_topics_enable=False)
    broker.have("here")
    names = ["here", "gone", "not/valid", "here", "gone"]
    answer = broker.ask(api.METADATA, version, topics=[ASKED(name=name) for name in names])
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [("here", 0), ("gone", 3), ("not/valid", 17)]


@pytest.mark.parametrize("version", VERSIONS)
def test_auto_creation(broker: Any, version: int) -> None:
    settings(broker, num_partitions=4)
    names = ["old", "new", "not/valid", "o.ld"]
    broker.have("old", "o_ld")
    answer = by_name(broker.ask(api.METADATA, version, topics=[ASKED(name=name) for name in names]))
    assert {name: (topic.error_code, len(topic.partitions)) for name, topic in answer.items()} == {
        "old": (0, 1),
        "new": (0, 4),
        "not/valid": (17, 0),
        "o.ld": (17, 0),
    }
    if version >= 4:
        refused = broker.ask(api.METADATA, version, topics=[ASKED(name="no")], allow_auto_topic_creation=False)
        assert refused.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert broker.image.topic("no") is None


def test_no_creation_storm(broker: Any) -> None:
    names = [f"t{number}" for number in range(AUTO_CREATE_BATCH + 20)]
    answer = broker.ask(api.METADATA, 12, topics=[ASKED(name=name) for name in names])
    codes = [topic.error_code for topic in answer.topics]
    assert codes == [0] * AUTO_CREATE_BATCH + [ErrorCode.LEADER_NOT_AVAILABLE] * 20


@pytest.mark.parametrize("version", [12, 13])
def test_by_id(broker: Any, version: int) -> None:
    broker.have("a", "b")
    known, unknown = broker.image.topic("a").topic_id, b"?" * 16
    topics = [ASKED(name=None, topic_id=known), ASKED(name=None, topic_id=unknown), ASKED(name="b")]
    answer = broker.ask(api.METADATA, version, topics=topics)
    assert {(topic.name, topic.topic_id, topic.error_code) for topic in answer.topics} == {
        ("a", known, 0),
        (None, unknown, 100),
        ("b", broker.image.topic("b").topic_id, 0),
    }
    nothing = broker.ask(api.METADATA, version, topics=[ASKED(name=None)])
    assert [topic.error_code for topic in nothing.topics] == [ErrorCode.INVALID_REQUEST]


@pytest.mark.parametrize("version", [10, 11])
def test_ids_are_refused_before_version_12(broker: Any, version: int) -> None:
    broker.have("a")
    known = broker.image.topic("a").topic_id
    for asked in (ASKED(name=None, topic_id=known), ASKED(name="a", topic_id=known), ASKED(name=None)):
        answer = broker.ask(api.METADATA, version, topics=[asked])
        assert [topic.error_code for topic in answer.topics] == [ErrorCode.INVALID_REQUEST]


def test_authorized_operations(broker: Any) -> None:
    broker.have("a")
    with_them = {"include_topic_authorized_operations": True, "include_cluster_authorized_operations": True}
    for fields, topic, cluster in (({}, -(2**31), -(2**31)), (with_them, 3576, 8096), ({}, -(2**31), -(2**31))):
        answer = broker.ask(api.METADATA, 10, topics=None, **fields)
        assert answer.topics[0].topic_authorized_operations == topic
        assert answer.cluster_authorized_operations == cluster


def test_replies_follow_the_image(broker: Any) -> None:
    def seen() -> list[tuple[str, list[int]]]:
        answer = broker.ask(api.METADATA, 12, topics=None)
        return [(topic.name, [part.leader_epoch for part in topic.partitions]) for topic in answer.topics]

    broker.have("a", "b", "__consumer_offsets")
    assert broker.ask(api.METADATA, 12, topics=[ASKED(name="__consumer_offsets")]).topics[0].is_internal
    assert seen() == [("a", [0]), ("b", [0]), ("__consumer_offsets", [0])]
    moved = Topic("a", broker.image.topic("a").topic_id, (Partition(0, 1, 7, (1,), (1,)),), {})
    broker.image = broker.image.with_topic(moved, broker.image.epoch + 1).without_topic("b", broker.image.epoch + 2)
    assert seen() == [("a", [7]), ("__consumer_offsets", [0])]
    broker.image = Image()
    assert seen() == []
