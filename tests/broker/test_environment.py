"""KAFKA_… variables as settings, as Kafka's container images read them."""

import pytest

from kafpy.broker import environment
from kafpy.broker.setting_types import SettingError
from kafpy.broker.settings import Given


def names(environ: dict[str, str]) -> dict[str, str]:
    return {each.name: each.text for each in environment.given(environ)[0]}


def test_names() -> None:
    found = names(
        {
            "KAFKA_NUM_PARTITIONS": "3",
            "KAFKA_LOG_DIRS": "/data",
            "KAFKA_GROUP_CONSUMER_ASSIGNORS": "range",
            "PATH": "/bin",
            "kafka_num_partitions": "9",
        }
    )
    assert found == {"num.partitions": "3", "log.dirs": "/data", "group.consumer.assignors": "range"}


def test_cfg_wins_and_the_place_is_told() -> None:
    given, notes = environment.given({"KAFKA_NODE_ID": "1", "KAFKA_CFG_NODE_ID": "2"})
    assert given[-1] == Given("node.id", "2", "environment KAFKA_CFG_NODE_ID")
    assert notes == []


def test_a_misspelt_one_is_told_and_passed_over() -> None:
    given, notes = environment.given({"KAFKA_NUM_PARTITONS": "3"})
    assert given == []
    (note,) = notes
    assert "KAFKA_NUM_PARTITONS" in note
    assert "did you mean 'num.partitions'?" in note


@pytest.mark.parametrize(
    "variable",
    ["KAFKA_HEAP_OPTS", "KAFKA_OPTS", "KAFKA_LOG4J_ROOT_LOGLEVEL", "KAFKA_JMX_PORT", "KAFKA_BOOTSTRAP_SERVERS"],
)
def test_what_others_call_theirs_is_left_alone(variable: str) -> None:
    assert environment.given({variable: "x"}) == ([], [])


def test_underscores_and_dashes() -> None:
    assert environment._key("X", "A__B_C___D") == "a_b.c-d"
    with pytest.raises(SettingError, match="underscores"):
        environment.given({"KAFKA_A____B": "x"})


def test_the_cluster_id() -> None:
    assert names({"CLUSTER_ID": "MkU3OEVBNTcwNTJENDM2Qk"}) == {"kafpy.cluster.id": "MkU3OEVBNTcwNTJENDM2Qk"}


def test_advertised_listeners_alone_open_all_addresses() -> None:
    advertised = "PLAINTEXT://broker.example:9092"
    assert names({"KAFKA_ADVERTISED_LISTENERS": advertised})["listeners"] == "PLAINTEXT://0.0.0.0:9092"
    given = names({"KAFKA_ADVERTISED_LISTENERS": advertised, "KAFKA_LISTENERS": "PLAINTEXT://:1"})
    assert given["listeners"] == "PLAINTEXT://:1"
