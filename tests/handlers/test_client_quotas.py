"""DescribeClientQuotas and AlterClientQuotas as Apache Kafka 4.3 answers them, and what they bring about."""

from typing import Any

import pytest

from kafpy.protocol import api
from tests.handlers.real import RealBroker

EXACT, DEFAULT, SPECIFIED = range(3)
INVALID_REQUEST, UNSUPPORTED_VERSION, THROTTLED = 42, 35, 89


def altered(
    real: RealBroker, names: list[tuple[str, str | None]], *, validate_only: bool = False, **values: float | None
) -> tuple[int, str | None]:
    request = api.ALTER_CLIENT_QUOTAS.request
    ops = [request.Op(key=key, value=value or 0.0, remove=value is None) for key, value in values.items()]
    entry = request.Entry(entity=[request.Entity(entity_type=kind, entity_name=name) for kind, name in names], ops=ops)
    (answer,) = real.ask(api.ALTER_CLIENT_QUOTAS, entries=[entry], validate_only=validate_only).entries
    assert [(each.entity_type, each.entity_name) for each in answer.entity] == names
    return answer.error_code, answer.error_message


def described(real: RealBroker, *filters: tuple[str, int, str | None], strict: bool = False, version: int = 1) -> Any:
    request = api.DESCRIBE_CLIENT_QUOTAS.request
    components = [request.Component(entity_type=kind, match_type=how, match=name) for kind, how, name in filters]
    return real.ask(api.DESCRIBE_CLIENT_QUOTAS, version, components=components, strict=strict)


def found(answer: Any) -> dict[tuple[tuple[str, str | None], ...], dict[str, float]]:
    assert answer.error_code == 0, answer.error_message
    return {
        tuple((each.entity_type, each.entity_name) for each in entry.entity): {
            value.key: value.value for value in entry.values
        }
        for entry in answer.entries
    }


@pytest.mark.parametrize("version", api.DESCRIBE_CLIENT_QUOTAS.versions)
def test_set_change_remove(real: RealBroker, version: int) -> None:
    names = [("client-id", "app")]
    assert altered(real, names, producer_byte_rate=1000.0, request_percentage=12.5) == (0, None)
    assert altered(real, names, producer_byte_rate=2000.0) == (0, None)
    real.restart(clean=False)
    both = {"producer_byte_rate": 2000.0, "request_percentage": 12.5}
    assert found(described(real, version=version)) == {(("client-id", "app"),): both}
    assert altered(real, names, producer_byte_rate=None, request_percentage=None, consumer_byte_rate=None) == (0, None)
    assert found(described(real)) == {}
    real.restart(clean=True)
    assert found(described(real)) == {}


def test_filters(real: RealBroker) -> None:
    entities: list[list[tuple[str, str | None]]] = [
        [("client-id", "a")],
        [("client-id", None)],
        [("client-id", "a"), ("user", "u")],
        [("client-id", None), ("user", "u")],
        [("user", None)],
        [("ip", "10.0.0.1")],
        [("ip", None)],
    ]
    for names in entities:
        key = "connection_creation_rate" if names[0][0] == "ip" else "consumer_byte_rate"
        assert altered(real, names, **{key: 5.0}) == (0, None)

    def which(*filters: Any, strict: bool = False) -> set[int]:
        keys = {tuple(names): number for number, names in enumerate(entities)}
        return {keys[entity] for entity in found(described(real, *filters, strict=strict))}

    assert which() == set(range(7))
    assert which(strict=True) == set()
    assert which(("client-id", EXACT, "a")) == {0, 2}
    assert which(("client-id", EXACT, "a"), strict=True) == {0}
    assert which(("client-id", DEFAULT, None)) == {1, 3}
    assert which(("client-id", SPECIFIED, None), strict=True) == {0, 1}
    assert which(("client-id", SPECIFIED, None), ("user", EXACT, "u")) == {2, 3}
    assert which(("user", SPECIFIED, None)) == {2, 3, 4}
    assert which(("ip", SPECIFIED, None)) == {5, 6}
    assert which(("ip", EXACT, "10.0.0.9")) == set()


@pytest.mark.parametrize(
    ("filters", "code", "words"),
    [
        ([("", EXACT, "a")], INVALID_REQUEST, "Invalid empty entity type."),
        ([("user", EXACT, "a"), ("user", DEFAULT, None)], INVALID_REQUEST, "cannot appear more than once"),
        ([("planet", EXACT, "a")], UNSUPPORTED_VERSION, "Unsupported entity type planet"),
        ([("user", EXACT, None)], INVALID_REQUEST, "set match string to null"),
        ([("user", DEFAULT, "a")], INVALID_REQUEST, "MATCH_TYPE_DEFAULT, but also"),
        ([("user", SPECIFIED, "a")], INVALID_REQUEST, "MATCH_TYPE_SPECIFIED, but also"),
        ([("user", 7, None)], INVALID_REQUEST, "Unknown match type 7"),
        ([("ip", DEFAULT, None), ("user", DEFAULT, None)], INVALID_REQUEST, "IP filter component should not be used"),
    ],
)
def test_filters_that_are_none(real: RealBroker, filters: Any, code: int, words: str) -> None:
    answer = described(real, *filters)
    assert (answer.error_code, answer.entries) == (code, None)
    assert words in answer.error_message


@pytest.mark.parametrize(
    ("names", "values", "words"),
    [
        ([], {"producer_byte_rate": 1.0}, "Invalid empty client quota entity"),
        ([("planet", "x")], {"producer_byte_rate": 1.0}, "Unhandled client quota entity type: planet"),
        ([("user", "")], {"producer_byte_rate": 1.0}, "Empty user not supported"),
        ([("user", "a"), ("user", "b")], {"producer_byte_rate": 1.0}, "duplicate entity entry user"),
        ([("ip", "127.0.0.1"), ("user", "a")], {"connection_creation_rate": 1.0}, "Invalid empty client quota entity"),
        ([("ip", "no such host")], {"connection_creation_rate": 1.0}, "is not a valid IP or resolvable host."),
        ([("ip", None)], {"producer_byte_rate": 1.0}, "Invalid configuration key producer_byte_rate"),
        ([("user", None)], {"connection_creation_rate": 1.0}, "Invalid configuration key connection_creation_rate"),
        ([("user", None)], {"speed": 1.0}, "Invalid configuration key speed"),
        ([("user", None)], {"producer_byte_rate": 1.5}, "producer_byte_rate must be a Long value"),
        ([("user", None)], {"producer_byte_rate": -1.0}, "must be a number above 0"),
        ([("user", None)], {"request_percentage": float("nan")}, "must be a number above 0"),
        ([("user", None)], {"request_percentage": float("inf")}, "must be a number above 0"),
    ],
)
def test_alterations_that_are_refused_change_nothing(real: RealBroker, names: Any, values: Any, words: str) -> None:
    code, message = altered(real, names, **values)
    assert code == INVALID_REQUEST
    assert message is not None
    assert words in message
    assert found(described(real)) == {}


def test_one_entity_twice_and_a_good_one(real: RealBroker) -> None:
    request = api.ALTER_CLIENT_QUOTAS.request

    def entry(name: str, value: float) -> Any:
        entity = [request.Entity(entity_type="user", entity_name=name)]
        return request.Entry(entity=entity, ops=[request.Op(key="request_percentage", value=value)])

    answers = real.ask(api.ALTER_CLIENT_QUOTAS, entries=[entry("a", 1.0), entry("a", 2.0), entry("b", 3.0)]).entries
    assert [answer.error_code for answer in answers] == [0, INVALID_REQUEST, 0]
    assert found(described(real, ("user", EXACT, "b"))) == {(("user", "b"),): {"request_percentage": 3.0}}
    twice = entry("c", 1.0)
    twice.ops *= 2
    assert real.ask(api.ALTER_CLIENT_QUOTAS, entries=[twice]).entries[0].error_code == INVALID_REQUEST


def test_validate_only(real: RealBroker) -> None:
    assert altered(real, [("user", None)], validate_only=True, producer_byte_rate=10.0) == (0, None)
    assert altered(real, [("user", None)], validate_only=True, producer_byte_rate=-10.0)[0] == INVALID_REQUEST
    assert found(described(real)) == {}


@pytest.mark.parametrize("name", ["a'; DROP TABLE client_quota; --", "\u202e\x1b[31m", "x" * 30_000, '["user"]'])
def test_names_are_values(real: RealBroker, name: str) -> None:
    """F10: whatever a name holds, it comes back as it was."""
    assert altered(real, [("client-id", name)], consumer_byte_rate=7.0) == (0, None)
    real.restart(clean=True)
    assert found(described(real)) == {(("client-id", name),): {"consumer_byte_rate": 7.0}}


def create(real: RealBroker, name: str, partitions: int, version: int) -> Any:
    topic = api.CREATE_TOPICS.request.Topic(name=name, num_partitions=partitions, replication_factor=1)
    return real.ask(api.CREATE_TOPICS, version, topics=[topic])


def test_mutations_are_refused_since_kip_599(real: RealBroker) -> None:
    assert altered(real, [("client-id", "test")], controller_mutation_rate=1.0) == (0, None)
    answer = create(real, "large", 40, 7)
    assert answer.topics[0].error_code == 0
    assert 27_000 <= answer.throttle_time_ms <= 30_000, "40 partitions, where 11 windows allow one a second each"
    refused = create(real, "more", 1, 6)
    assert refused.topics[0].error_code == THROTTLED
    assert refused.throttle_time_ms > 20_000
    assert create(real, "older", 1, 5).topics[0].error_code == 0
    grow = api.CREATE_PARTITIONS.request.Topic(name="large", count=41, assignments=None)
    assert real.ask(api.CREATE_PARTITIONS, 3, topics=[grow]).results[0].error_code == THROTTLED
    assert real.ask(api.CREATE_PARTITIONS, 2, topics=[grow]).results[0].error_code == 0
    gone = api.DELETE_TOPICS.request.Topic(name="large")
    assert real.ask(api.DELETE_TOPICS, 6, topics=[gone]).responses[0].error_code == THROTTLED
    assert real.ask(api.DELETE_TOPICS, 4, topic_names=["large"]).responses[0].error_code == 0


def test_no_storm_of_created_topics(real: RealBroker) -> None:
    """B6: names that nobody knows, auto-creation on."""
    assert altered(real, [("user", None)], controller_mutation_rate=1.0) == (0, None)
    topics = [api.METADATA.request.Topic(name=f"t{i}") for i in range(50_000)]
    answer = real.ask(api.METADATA, topics=topics, allow_auto_topic_creation=True)
    codes = [topic.error_code for topic in answer.topics]
    assert 10 <= codes.count(0) <= 13
    assert codes.count(THROTTLED) >= 80
    assert len(real.state.image.topics) == codes.count(0)
