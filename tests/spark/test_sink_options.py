"""What a write may be told, and which columns it takes. No Spark runs."""

import pickle
from typing import Any

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from kafpy.client.producer import Policy
from spark_source import sink_columns, sink_options
from spark_source.options import OptionError
from spark_source.writing import Writing

SERVERS = {"kafka.bootstrap.servers": "localhost:9092"}
BINARY, STRING, INT, LONG = BinaryType(), StringType(), IntegerType(), LongType()
HEADERS = ArrayType(StructType([StructField("key", STRING, False), StructField("value", BINARY)]), False)


def parsed(**more: str) -> sink_options.SinkOptions:
    return sink_options.parse({**SERVERS, **{name.replace("_", "."): value for name, value in more.items()}})


def test_defaults() -> None:
    found = parsed()
    assert found.topic is None
    assert found.policy == Policy(idempotent=True, batch_bytes=1 << 17, request_bytes=480_000)
    assert (found.held_bytes, found.keep_s) == (32 << 20, 300)


def test_names_in_any_case_and_kafkas_own_passed_on() -> None:
    found = parsed(
        Topic=" t ", KAFKA_Acks="1", kafka_compression_type="zstd", kafka_batch_size="9", kafka_client_id="me"
    )
    assert found.topic == "t"
    assert (found.policy.acks, found.policy.codec, found.policy.batch_bytes) == (1, 4, 9)
    assert not found.policy.idempotent
    assert found.properties["client.id"] == "me"


def test_what_tasks_get_can_be_sent_to_them() -> None:
    writing = Writing.of(parsed(topic="t", kafka_linger_ms="5"), ["value"])
    assert pickle.loads(pickle.dumps(writing)) == writing


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kafka_key_serializer": "x"}, "kafka.key.serializer cannot be set here"),
        ({"kafka_value_serializer": "x"}, "kafka.value.serializer cannot be set here"),
        ({"kafka_transactional_id": "x"}, "kafka.transactional.id cannot be set here"),
        ({"kafka_partitioner_class": "x"}, "kafka.partitioner.class cannot be set here"),
        ({"kafka_bootstrap_servers": " "}, "kafka.bootstrap.servers is missing"),
        ({"topic": " "}, "topic is empty"),
        ({"kafka_acks": "2"}, "acks can be 0, 1 or all"),
        ({"kafka_acks": "1", "kafka_enable_idempotence": "true"}, "enable.idempotence=true needs acks=all"),
        ({"kafka_buffer_memory": "much"}, "buffer.memory=much is not a number"),
        ({"kafka_security_protocol": "TLS"}, "security.protocol=TLS: one of"),
    ],
)
def test_what_cannot_be(given: dict[str, str], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        parsed(**given)


def schema(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


@pytest.mark.parametrize(
    ("given", "topic", "columns"),
    [
        (schema(value=BINARY), "t", ["value"]),
        (schema(key=STRING, value=STRING), "t", ["value", "key"]),
        (schema(topic=STRING, value=STRING), None, ["value", "topic"]),
        (schema(topic=INT, value=STRING), "t", ["value"]),
        (schema(partition=INT, headers=HEADERS, value=BINARY, offset=LONG), "t", ["value", "headers", "partition"]),
        (schema(value=StringType("UNICODE_CI"), key=BINARY), "t", ["value", "key"]),
    ],
)
def test_columns(given: StructType, topic: str | None, columns: list[str]) -> None:
    assert sink_columns.columns_of(given, topic) == columns


@pytest.mark.parametrize(
    ("given", "topic", "said"),
    [
        (schema(key=BINARY), "t", "there is no column value, which every record has; the columns are key"),
        (schema(Value=BINARY), "t", "there is no column value"),
        (schema(value=BINARY), None, "there is no column topic; the option topic"),
        (schema(value=LONG), "t", "the column value is bigint; it can be binary or string"),
        (schema(value=BINARY, key=INT), "t", "the column key is int; it can be binary or string"),
        (schema(value=BINARY, topic=INT), None, "the column topic is int; it can be string"),
        (schema(value=BINARY, partition=LONG), "t", "the column partition is bigint; it can be int"),
        (
            schema(value=BINARY, headers=MapType(STRING, BINARY)),
            "t",
            "the column headers is map<string,binary>; it can be array<struct<key:string,value:binary>>",
        ),
    ],
)
def test_columns_that_cannot_be(given: StructType, topic: Any, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        sink_columns.columns_of(given, topic)


def test_a_column_twice() -> None:
    fields = schema(value=BINARY, key=BINARY, other=INT).fields
    with pytest.raises(OptionError, match="the column key is there twice"):
        sink_columns.columns_of(StructType([*fields, fields[1]]), "t")
    assert sink_columns.columns_of(StructType([*fields, fields[2]]), "t") == ["value", "key"]
