"""CreateTopics and DeleteTopics."""

from typing import Any

import pytest

from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

NEW = api.CREATE_TOPICS.request
OLD = api.DELETE_TOPICS.request


def create(broker: Any, version: int, *topics: Any, validate_only: bool = False) -> dict[str, Any]:
    answer = broker.ask(api.CREATE_TOPICS, version, topics=list(topics), validate_only=validate_only)
    return {topic.name: topic for topic in answer.topics}


def topic(name: str = "t", partitions: int = 1, factor: int = 1, **fields: Any) -> Any:
    return NEW.Topic(name=name, num_partitions=partitions, replication_factor=factor, **fields)


@pytest.mark.parametrize("version", api.CREATE_TOPICS.versions)
def test_create(broker: Any, version: int) -> None:
    broker.settings = type(broker.settings)(num_partitions=5)
    configs = [NEW.Config(name="max.message.bytes", value="1000")]
    made = create(broker, version, topic("a", 3, configs=configs), topic("b", -1, -1))
    assert [len(broker.image.topic(name).partitions) for name in "ab"] == [3, 5]
    assert broker.image.topic("a").configs == {"max.message.bytes": "1000"}
    assert [(each.error_code, each.error_message) for each in made.values()] == [(0, None), (0, None)]
    if version >= 5:
        assert [(each.num_partitions, each.replication_factor) for each in made.values()] == [(3, 1), (5, 1)]
        configs = {each.name: (each.value, each.config_source) for each in made["a"].configs}
        assert configs["max.message.bytes"] == ("1000", 1)
        assert configs["segment.bytes"] == ("1073741824", 5)
    if version >= 7:
        assert made["a"].topic_id == broker.image.topic("a").topic_id


@pytest.mark.parametrize("version", api.CREATE_TOPICS.versions)
def test_validate_only(broker: Any, version: int) -> None:
    made = create(broker, version, topic("a", 3), topic("b", 0), validate_only=True)
    assert (made["a"].error_code, made["b"].error_code) == (0, ErrorCode.INVALID_PARTITIONS)
    assert not broker.image.topics


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (topic("no/no"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (topic("here"), ErrorCode.TOPIC_ALREADY_EXISTS),
        (topic("under_score"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (topic(partitions=0), ErrorCode.INVALID_PARTITIONS),
        (topic(factor=3), ErrorCode.INVALID_REPLICATION_FACTOR),
        (topic("__cluster_metadata"), ErrorCode.INVALID_REQUEST),
        (topic(configs=[NEW.Config(name="no.such", value="1")]), ErrorCode.INVALID_CONFIG),
        (topic(configs=[NEW.Config(name="segment.ms", value=None)]), ErrorCode.INVALID_CONFIG),
    ],
)
def test_refusals(broker: Any, asked: Any, code: ErrorCode) -> None:
    broker.have("here", "under.score")
    made = create(broker, 7, asked, topic("fine"))
    assert made[asked.name].error_code == code
    assert made[asked.name].error_message
    assert made["fine"].error_code == 0
    assert len(broker.image.topics) == 3


@pytest.mark.parametrize(
    ("replicas", "counts", "code"),
    [
        ({0: [1], 1: [1]}, (-1, -1), 0),
        ({0: [1]}, (1, -1), ErrorCode.INVALID_REQUEST),
        ({0: [1]}, (-1, 1), ErrorCode.INVALID_REQUEST),
        ({0: [1], 2: [1]}, (-1, -1), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ({0: []}, (-1, -1), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ({0: [2]}, (-1, -1), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ({0: [1, 1]}, (-1, -1), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_assignments(broker: Any, replicas: dict[int, list[int]], counts: tuple[int, int], code: int) -> None:
    chosen = [NEW.Assignment(partition_index=index, broker_ids=ids) for index, ids in replicas.items()]
    made = create(broker, 5, topic("t", *counts, assignments=chosen))
    assert made["t"].error_code == code
    assert ("t" in broker.image.topics) == (code == 0)
    if code == 0:
        assert (made["t"].num_partitions, made["t"].replication_factor) == (2, 1)
        made = create(broker, 5, topic("u", *counts, assignments=[chosen[0], chosen[0]]))
        assert made["u"].error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_duplicates(broker: Any) -> None:
    made = create(broker, 7, topic("twice"), topic("once"), topic("twice"))
    assert {name: each.error_code for name, each in made.items()} == {"twice": 42, "once": 0}
    assert create(broker, 7) == {}


@pytest.mark.parametrize("version", api.DELETE_TOPICS.versions)
def test_delete_by_name(broker: Any, version: int) -> None:
    broker.have("a", "b", "c")
    names = ["a", "no", "b", "b", "never", "never"]
    fields = {"topics": [OLD.Topic(name=name) for name in names]} if version >= 6 else {"topic_names": names}
    answer = broker.ask(api.DELETE_TOPICS, version, **fields)
    assert [(each.name, each.error_code) for each in answer.responses] == [
        ("a", 0),
        ("no", 3),
        ("b", 42),
        ("never", 42),
    ]
    assert set(broker.image.topics) == {"b", "c"}


def test_delete_by_id(broker: Any) -> None:
    broker.have("a", "b", "c", "d")
    ids = {name: topic.topic_id for name, topic in broker.image.topics.items()}
    asked = [
        OLD.Topic(topic_id=ids["a"]),
        OLD.Topic(topic_id=b"?" * 16),
        OLD.Topic(name="b", topic_id=ids["b"]),
        OLD.Topic(),
        OLD.Topic(topic_id=ids["c"]),
        OLD.Topic(topic_id=ids["c"]),
        OLD.Topic(topic_id=ids["d"]),
        OLD.Topic(name="d"),
    ]
    answer = broker.ask(api.DELETE_TOPICS, 6, topics=asked)
    assert [(each.name, each.topic_id, each.error_code) for each in answer.responses] == [
        ("a", ids["a"], 0),
        (None, b"?" * 16, 100),
        ("b", ids["b"], 42),
        (None, bytes(16), 42),
        ("c", ids["c"], 42),
        ("d", ids["d"], 42),
    ]
    assert set(broker.image.topics) == {"b", "c", "d"}


@pytest.mark.parametrize(("version", "code"), [(2, 42), (3, 73), (6, 73)])
def test_deletion_disabled(broker: Any, version: int, code: int) -> None:
    broker.have("a")
    broker.settings = type(broker.settings)(delete_topic_enable=False)
    answer = broker.ask(api.DELETE_TOPICS, version, topic_names=["a"], topics=[OLD.Topic(name="a")])
    assert [each.error_code for each in answer.responses] == [code]
    assert "a" in broker.image.topics
