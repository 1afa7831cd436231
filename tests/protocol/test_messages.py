"""Every message at every version: round trips, and the same bytes as other people's codecs understand them."""

import importlib
import io
import re
from typing import Any

import pytest

from kafpy.protocol import Encoded, api, codec
from kafpy.protocol.program import Message
from kafpy.protocol.table import Api
from tests.protocol.filler import OUR_TAGS

MESSAGES = [
    pytest.param(spoken, side, version, id=f"{spoken.name}-{side}-v{version}")
    for spoken in api.ALL.values()
    for side in ("request", "response")
    for version in spoken.versions
]
every_message = pytest.mark.parametrize(("spoken", "side", "version"), MESSAGES)
INSTANCES = 12


def message_of(spoken: Api, side: str) -> Message:
    return spoken.request_message if side == "request" else spoken.response_message


def snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


@every_message
def test_round_trip(spoken: Api, side: str, version: int, filler: Any) -> None:
    message = message_of(spoken, side)
    for seed in range(INSTANCES):
        value = filler(seed).message(message, version)
        data = message.program(version).write(value)
        assert message.program(version).read(data) == (value, len(data))
        assert message.program(version).write(message.program(version).read(data)[0]) == data


@every_message
def test_kio_reads_the_same(spoken: Api, side: str, version: int, filler: Any) -> None:
    serial = pytest.importorskip("kio.serial")
    module = importlib.import_module(f"kio.schema.{snake(spoken.name)}.v{version}.{side}")
    theirs = getattr(module, f"{spoken.name}{side.capitalize()}")
    read, write = serial.entity_reader(theirs), serial.entity_writer(theirs)
    assert theirs.__flexible__ == (version in spoken.flexible)
    message = message_of(spoken, side)
    for seed in range(INSTANCES):
        value = filler(seed, ours=False).message(message, version)
        data = message.program(version).write(value)
        entity, size = read(data, 0)
        assert size == len(data)
        again = io.BytesIO()
        write(again, entity)
        assert again.getvalue() == data
        same(message, value, entity, version)


def same(message: Message, ours: Any, theirs: Any, version: int) -> None:
    """Equal values under equal names; kio drops the unit of times, and has tuples, timedeltas and UUIDs."""
    for field in message.layout.structs[type(ours).__name__]:
        if version not in field.versions or field.tag >= OUR_TAGS:
            continue
        value = getattr(ours, field.name)
        name = field.name if hasattr(theirs, field.name) else field.name.removesuffix("_ms")
        other = getattr(theirs, name)
        if field.type in message.layout.structs and value is not None:
            pairs = zip(value, other, strict=True) if field.array else [(value, other)]
            for one, another in pairs:
                same(message, one, another, version)
        elif field.type == "uuid":
            assert value == (other.bytes if other else bytes(16))
        elif name == field.name and "time" not in name:
            assert value == (list(other) if field.array and other is not None else other), field.name


@pytest.mark.parametrize("spoken", api.ALL.values(), ids=lambda spoken: spoken.name)
def test_versions_are_those_of_kafka(spoken: Api) -> None:
    index = importlib.import_module("kio.index").schema_name_map
    theirs = {version for version in index[snake(spoken.name)]}  # noqa: C416
    unstable = {6} if spoken is api.INIT_PRODUCER_ID else set()
    assert set(spoken.versions) == theirs - unstable


@every_message
def test_unknown_tags_survive(spoken: Api, side: str, version: int, filler: Any) -> None:
    message = message_of(spoken, side)
    value = filler(1).message(message, version)
    value.unknown_tags = [(9, b""), (1000, b"later"), (2**32 - 1, bytes(200))]
    data = message.program(version).write(value)
    read, _ = message.program(version).read(data)
    if version in spoken.flexible:
        assert read == value
        assert message.program(version).write(read) == data
    else:
        assert read.unknown_tags is None


def test_encoded_stands_for_an_element_and_for_an_array(filler: Any) -> None:
    message = api.METADATA.response_message
    for version in api.METADATA.versions:
        value = filler(3).message(message, version)
        value.topics = [filler(seed).struct(message, "Topic", version) for seed in range(5)]
        data = message.program(version).write(value)
        fragments = [codec.response_fragment(api.METADATA, version, topic) for topic in value.topics]
        value.topics = [fragments[0], *value.topics[1:3], *fragments[3:]]
        assert message.program(version).write(value) == data
        count = b"\x06" if version in api.METADATA.flexible else (5).to_bytes(4, "big")
        value.topics = Encoded(count + b"".join(fragment.data for fragment in fragments))
        assert message.program(version).write(value) == data
