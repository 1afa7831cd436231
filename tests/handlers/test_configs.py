"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs, ListConfigResources: what Apache Kafka 4.3 answers."""

from pathlib import Path
from typing import Any

import pytest

from kafpy._core import batch
from kafpy.broker.config_documentation import DOCUMENTATION
from kafpy.broker.settings import Given, honoured, load
from kafpy.broker.topic_config import CONFIGS
from kafpy.protocol import api
from tests.handlers.real import RealBroker

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)


def described(real: RealBroker, kind: int, name: str, *keys: str, version: int = 4, **flags: bool) -> Any:
    resource = api.DESCRIBE_CONFIGS.request.Resource(
        resource_type=kind, resource_name=name, configuration_keys=list(keys) or None
    )
    return real.ask(api.DESCRIBE_CONFIGS, version, resources=[resource], **flags).results[0]


def entry(real: RealBroker, kind: int, name: str, key: str) -> tuple[Any, ...]:
    """Value, source, and the chain of synonyms."""
    result = described(real, kind, name, key, include_synonyms=True)
    assert result.error_code == 0
    config = result.configs[0]
    return config.value, config.config_source, [(each.name, each.value, each.source) for each in config.synonyms]


def altered(real: RealBroker, kind: int, name: str, *operations: tuple[str, int, str | None], **flags: bool) -> Any:
    request = api.INCREMENTAL_ALTER_CONFIGS.request
    configs = [request.Config(name=key, config_operation=code, value=value) for key, code, value in operations]
    resource = request.Resource(resource_type=kind, resource_name=name, configs=configs)
    answer = real.ask(api.INCREMENTAL_ALTER_CONFIGS, resources=[resource], **flags).responses[0]
    assert (answer.resource_type, answer.resource_name) == (kind, name)
    return answer.error_code, answer.error_message


def replaced(real: RealBroker, kind: int, name: str, configs: dict[str, str | None], **flags: bool) -> Any:
    request = api.ALTER_CONFIGS.request
    listed = [request.Config(name=key, value=value) for key, value in configs.items()]
    resource = request.Resource(resource_type=kind, resource_name=name, configs=listed)
    answer = real.ask(api.ALTER_CONFIGS, resources=[resource], **flags).responses[0]
    return answer.error_code, answer.error_message


@pytest.mark.parametrize("version", api.DESCRIBE_CONFIGS.versions)
def test_a_topics_configs(real: RealBroker, version: int) -> None:
    real.create("t", segment_bytes="2000000", cleanup_policy="compact")
    flags = {"include_synonyms": True, "include_documentation": True}
    result = described(real, TOPIC, "t", version=version, **flags)
    configs = {config.name: config for config in result.configs}
    assert set(configs) == set(CONFIGS)
    own = configs["segment.bytes"]
    assert (own.value, own.config_source, own.read_only, own.is_sensitive) == ("2000000", 1, False, False)
    chain = [(each.name, each.value, each.source) for each in own.synonyms]
    assert chain == [("segment.bytes", "2000000", 1), ("log.segment.bytes", "1073741824", 5)]
    assert (configs["retention.ms"].value, configs["retention.ms"].config_source) == ("604800000", 5)
    assert configs["retention.ms"].synonyms == []
    assert configs["preallocate"].value == "false"
    if version >= 3:
        types = {name: config.config_type for name, config in configs.items()}
        assert [types[name] for name in ("preallocate", "compression.type", "segment.bytes", "segment.ms")] == [
            1,
            2,
            3,
            5,
        ]
        assert [types[name] for name in ("min.cleanable.dirty.ratio", "cleanup.policy")] == [6, 7]
        assert all(config.documentation for config in configs.values())


def test_only_what_is_asked_for(real: RealBroker) -> None:
    real.create("t")
    result = described(real, TOPIC, "t", "segment.ms", "no.such")
    assert [(each.name, each.synonyms, each.documentation) for each in result.configs] == [("segment.ms", [], None)]


def test_every_config_is_documented() -> None:
    assert {*CONFIGS, *honoured()} == set(DOCUMENTATION)


@pytest.mark.parametrize(
    ("kind", "name", "code", "message"),
    [
        (TOPIC, "no", 3, ""),
        (TOPIC, "", 17, "Topic name is invalid: the empty string is not allowed"),
        (BROKER, "9", 42, "Unexpected broker id, expected 1 or empty string, but received 9"),
        (BROKER, "x", 42, "Broker id must be an integer, but it is: x"),
        (8, "1", 42, "This broker has no configs of broker loggers."),
        (0, "x", 42, "Unknown resource type 0"),
    ],
)
def test_what_cannot_be_described(real: RealBroker, kind: int, name: str, code: int, message: str) -> None:
    result = described(real, kind, name)
    assert (result.error_code, result.error_message, result.configs) == (code, message, [])
    assert (result.resource_type, result.resource_name) == (kind, name)


def test_where_a_value_comes_from(tmp_path: Path) -> None:
    settings, _ = load([Given("compression.type", "producer", ""), Given("log.roll.hours", "24", "")])
    real = RealBroker(tmp_path / "d", compression_type="producer", log_roll_hours=24, written=settings.written)
    real.create("t")
    name = "compression.type"
    assert entry(real, TOPIC, "t", name) == ("producer", 4, [(name, "producer", 4), (name, "producer", 5)])
    # the chain of segment.ms begins with another name than log.roll.ms, and is left out
    assert entry(real, TOPIC, "t", "segment.ms") == ("86400000", 5, [])
    assert entry(real, BROKER, "1", "log.roll.hours") == (
        "24",
        4,
        [("log.roll.hours", "24", 4), ("log.roll.hours", "168", 5)],
    )
    assert altered(real, BROKER, "", (name, SET, "zstd")) == (0, None)
    assert entry(real, TOPIC, "t", name)[:2] == ("zstd", 3)
    assert altered(real, BROKER, "1", (name, SET, "lz4"), ("log.roll.ms", SET, "70000")) == (0, None)
    chain = [(name, "lz4", 2), (name, "zstd", 3), (name, "producer", 4), (name, "producer", 5)]
    assert entry(real, TOPIC, "t", name) == ("lz4", 2, chain)
    assert entry(real, BROKER, "1", name) == ("lz4", 2, chain)
    assert entry(real, BROKER, "", name) == ("zstd", 3, [(name, "zstd", 3)])
    assert entry(real, TOPIC, "t", "segment.ms") == (
        "70000",
        2,
        [("log.roll.ms", "70000", 2), ("log.roll.hours", "24", 4), ("log.roll.hours", "168", 5)],
    )
    assert [config.name for config in described(real, BROKER, "").configs] == [name]
    real.close()


def test_a_brokers_configs(real: RealBroker) -> None:
    configs = {config.name: config for config in described(real, BROKER, "1").configs}
    assert set(configs) == set(honoured())
    assert (configs["node.id"].value, configs["node.id"].read_only) == ("1", True)
    assert (configs["log.segment.bytes"].value, configs["log.segment.bytes"].read_only) == ("1073741824", False)
    assert configs["log.dirs"].value == ",".join(map(str, real.paths))
    assert configs["log.roll.ms"].value is None


@pytest.mark.parametrize(
    ("kind", "name", "operation", "code", "message"),
    [
        (TOPIC, "t", ("no", SET, "1"), 40, "Unknown topic config name: no"),
        (
            TOPIC,
            "t",
            ("segment.bytes", SET, "x"),
            40,
            "Invalid value x for configuration segment.bytes: Not a number of type INT",
        ),
        (
            TOPIC,
            "t",
            ("segment.bytes", SET, "3"),
            40,
            "Invalid value 3 for configuration segment.bytes: Value must be at least 1048576",
        ),
        (TOPIC, "t", ("segment.bytes", SET, None), 42, "Null value not supported for : segment.bytes"),
        (
            TOPIC,
            "t",
            ("segment.bytes", APPEND, "3"),
            40,
            "Can't APPEND to key segment.bytes because its type is not LIST.",
        ),
        (
            TOPIC,
            "t",
            ("cleanup.policy", APPEND, "no"),
            40,
            "Invalid value no for configuration cleanup.policy: String must be one of: compact, delete",
        ),
        (TOPIC, "t", ("segment.bytes", 7, "3"), 42, "Unknown operation type 7"),
        (TOPIC, "no", ("segment.bytes", SET, "3"), 3, "The topic 'no' does not exist."),
        (TOPIC, "", ("segment.bytes", SET, "3"), 42, "Default topic resources are not allowed."),
        (TOPIC, "..", ("segment.bytes", SET, "3"), 17, "Topic name is invalid: '..' is not allowed"),
        (0, "t", ("segment.bytes", SET, "3"), 42, "Unknown resource type 0"),
        (BROKER, "1", ("node.id", SET, "7"), 42, "Cannot update these configs dynamically: [node.id]"),
        (BROKER, "", ("num.partitions", SET, "7"), 42, "Cannot update these configs dynamically: [num.partitions]"),
        (
            BROKER,
            "1",
            ("log.retention.hours", SET, "7"),
            42,
            "Cannot update these configs dynamically: [log.retention.hours]",
        ),
        (BROKER, "1", ("no.such", SET, "7"), 40, "Unknown broker config name: no.such"),
        (
            BROKER,
            "",
            ("log.segment.bytes", SET, "5"),
            42,
            "Invalid value 5 for configuration log.segment.bytes: Value must be at least 1048576",
        ),
        (BROKER, "9", ("log.segment.bytes", SET, "5"), 42, "Unexpected broker id, expected 1, but received 9"),
        (BROKER, "x", ("log.segment.bytes", SET, "5"), 42, "Node id must be an integer, but it is: x"),
    ],
)
def test_refusals(
    real: RealBroker, kind: int, name: str, operation: tuple[str, int, str | None], code: int, message: str
) -> None:
    real.create("t")
    before = real.state.image
    assert altered(real, kind, name, operation) == (code, message)
    if operation[1] == SET:
        assert replaced(real, kind, name, {operation[0]: operation[2]}) == (code, message)
    assert real.state.image is before


def test_long_values_are_refused_in_short_words(real: RealBroker) -> None:
    real.create("t")
    code, message = altered(real, TOPIC, "t", ("compression.type", SET, "\N{SNOWMAN}" * 10_000))
    assert (code, len(message)) == (40, 1001)
    name = "leader.replication.throttled.replicas"
    assert altered(real, TOPIC, "t", (name, APPEND, ",".join(f"{index}:1" for index in range(4_600)))) == (0, None)
    code, message = altered(real, TOPIC, "t", (name, APPEND, ",".join(f"{index}:2" for index in range(1_000))))
    assert (code, message[-34:]) == (40, "maximum value size of 32767 bytes.")
    assert described(real, TOPIC, "t").error_code == 0


def test_lists_grow_and_shrink(real: RealBroker) -> None:
    real.create("t")

    def after(code: int, value: str) -> str | None:
        assert altered(real, TOPIC, "t", ("cleanup.policy", code, value)) == (0, None)
        return entry(real, TOPIC, "t", "cleanup.policy")[0]  # type: ignore[no-any-return]

    assert after(APPEND, "compact") == "delete,compact"
    assert after(APPEND, "delete") == "delete,compact"
    assert after(SUBTRACT, "delete") == "compact"
    assert after(SUBTRACT, "delete") == "compact"
    assert altered(real, BROKER, "1", ("log.cleanup.policy", APPEND, "compact")) == (0, None)
    assert entry(real, BROKER, "1", "log.cleanup.policy")[0] == "delete,compact"


def test_what_is_not_set_can_be_deleted(real: RealBroker) -> None:
    real.create("t", segment_ms="5")
    assert altered(real, TOPIC, "t", ("segment.ms", DELETE, None), ("no", DELETE, None)) == (0, None)
    assert real.state.image.topics["t"].configs == {}


def test_nothing_happens_twice_or_on_trial(real: RealBroker) -> None:
    real.create("t")
    request = api.INCREMENTAL_ALTER_CONFIGS.request
    config = request.Config(name="segment.ms", config_operation=SET, value="5")
    one = request.Resource(resource_type=TOPIC, resource_name="t", configs=[config])
    answers = real.ask(api.INCREMENTAL_ALTER_CONFIGS, resources=[one, one]).responses
    assert {(each.error_code, each.error_message) for each in answers} == {
        (42, "Each resource must appear at most once.")
    }
    twice = ("segment.ms", SET, "5"), ("segment.ms", SET, "6")
    assert altered(real, TOPIC, "t", *twice) == (42, "Error due to duplicate config keys")
    assert altered(real, TOPIC, "t", twice[0], validate_only=True) == (0, None)
    assert replaced(real, TOPIC, "t", {"segment.ms": "5"}, validate_only=True) == (0, None)
    assert altered(real, BROKER, "1", ("log.roll.ms", SET, "5"), validate_only=True) == (0, None)
    assert real.state.image.topics["t"].configs == {}
    assert real.state.settings.log_roll_ms is None


def test_replacing_forgets_the_rest(real: RealBroker) -> None:
    real.create("t", segment_ms="5", flush_ms="6")
    assert replaced(real, TOPIC, "t", {"flush.ms": "7"}) == (0, None)
    assert real.state.image.topics["t"].configs == {"flush.ms": "7"}
    assert altered(real, BROKER, "1", ("log.roll.ms", SET, "5")) == (0, None)
    assert replaced(real, BROKER, "1", {"log.segment.bytes": "2000000"}) == (0, None)
    assert (real.state.settings.log_roll_ms, real.state.settings.log_segment_bytes) == (None, 2000000)


@pytest.mark.parametrize("clean", [True, False])
def test_changes_count_at_once_and_after_a_restart(real: RealBroker, clean: bool) -> None:
    real.create("own", 2, max_message_bytes="100")
    real.create("other")

    def taken(name: str) -> bool:
        log = real.partitions.log(name, 0)
        assert log is not None
        return log.append(batch.encode([bytes(300)], timestamps=[1]))[0] == 0

    assert (taken("own"), taken("other")) == (False, True)
    assert altered(real, TOPIC, "own", ("max.message.bytes", SET, "1000")) == (0, None)
    assert altered(real, BROKER, "", ("message.max.bytes", SET, "200")) == (0, None)
    assert (taken("own"), taken("other")) == (True, False)
    real.restart(clean=clean)
    assert (taken("own"), taken("other")) == (True, False)
    assert altered(real, BROKER, "1", ("message.max.bytes", SET, "500")) == (0, None)
    assert altered(real, TOPIC, "own", ("max.message.bytes", DELETE, None)) == (0, None)
    assert (taken("own"), taken("other")) == (True, True)
    real.create("new")
    assert altered(real, BROKER, "1", ("message.max.bytes", DELETE, None)) == (0, None)
    assert [taken(name) for name in ("own", "other", "new")] == [False, False, False]


def test_resources_are_listed(real: RealBroker) -> None:
    real.create("b")
    real.create("a")

    def listed(version: int, *types: int) -> tuple[int, set[tuple[int, str]]]:
        answer = real.ask(api.LIST_CONFIG_RESOURCES, version, resource_types=list(types))
        return answer.error_code, {(each.resource_type, each.resource_name) for each in answer.config_resources}

    assert listed(0) == (0, set())
    assert listed(1) == (0, {(2, "a"), (2, "b"), (4, "1")})
    assert listed(1, 2) == (0, {(2, "a"), (2, "b")})
    assert listed(1, 4, 16) == (0, {(4, "1")})
    assert listed(1, 3) == (35, set())
