"""Records of `__consumer_offsets` as kafka-dump-log --offsets-decoder prints them: JSON as Kafka's classes write it."""

import base64
import json
from typing import Any

from kafpy.coordinator.group.consumer_protocol import PROTOCOL_TYPE
from kafpy.coordinator.group.records import TYPES, RecordType
from kafpy.protocol import MalformedRequest
from kafpy.protocol.program import Message
from kafpy.protocol.schema import NEVER, Field, Layout, parse, versions
from kafpy.storage.partition_folder import format_id

DELETED = "<DELETE>"

_OFFSET_KEY = "group string\ntopic string\npartition int32"
_OFFSET_VALUE = """
    offset              int64
    leader_epoch        int32       3+      = -1
    metadata            string
    commit_timestamp    int64
    expire_timestamp    int64       1       = -1
    topic_id            uuid        4+  #0
"""
OFFSETS = {
    number: RecordType(number, "OffsetCommit", _OFFSET_KEY, _OFFSET_VALUE, valid="0-4", flexible="4+")
    for number in (0, 1)
}
_OWNED = """
        topic           string
        partitions      [int32]
"""
SUBSCRIPTION = Message(
    parse(
        "Subscription",
        f"""
    topics              [string]
    user_data           bytes?              = null
    owned_partitions    [Owned]     1+{_OWNED}
    generation_id       int32       2+      = -1
    rack_id             string?     3+      = null
""",
    ),
    NEVER,
)
ASSIGNMENT = Message(
    parse(
        "Assignment", f"    assigned_partitions [Assigned]{_OWNED}    user_data           bytes?              = null\n"
    ),
    NEVER,
)
PROTOCOL_VERSIONS = versions("0-3")
SHARE_GROUPS = range(10, 16)
STREAMS_GROUPS = range(17, 24)


def decode(offset: int, key: bytes, value: bytes | None) -> tuple[str | None, str | None]:
    number = int.from_bytes(key[:2], "big", signed=True)
    kind = OFFSETS.get(number) or TYPES.get(number)
    if kind is None:
        known = number in SHARE_GROUPS or number in STREAMS_GROUPS
        reason = f"Records of type {number} are not decoded here" if known else f"Unknown record type {number}"
        return f"{reason} at offset {offset}, skipping.", None
    try:
        key_data = _json(kind.key_message.layout, kind.read_key(key), 0)
        if value is None:
            return _text({"type": str(number), "data": key_data}), DELETED
        version = int.from_bytes(value[:2], "big", signed=True)
        value_data = _json(kind.value_message.layout, kind.read_value(value), version)
    except (MalformedRequest, ValueError) as error:
        return f"Error at offset {offset}, skipping. {error}", None
    if kind.name == "GroupMetadata" and value_data["protocolType"] == PROTOCOL_TYPE:
        for member in value_data["members"]:
            _open(member, "subscription", SUBSCRIPTION)
            _open(member, "assignment", ASSIGNMENT)
    return _text({"type": str(number), "data": key_data}), _text({"version": str(version), "data": value_data})


def _text(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)


def _open(member: dict[str, Any], name: str, message: Message) -> None:
    """The bytes' meaning in their place, where they have one."""
    data = base64.b64decode(member[name])
    version = min(int.from_bytes(data[:2], "big", signed=True), PROTOCOL_VERSIONS[-1])
    if len(data) < 2 or version not in PROTOCOL_VERSIONS:
        return
    try:
        found, _ = message.program(version).read(data, 2, budget=len(data))
    except (MalformedRequest, ValueError):
        return
    member[name] = _json(message.layout, found, version)


def _json(layout: Layout, struct: Any, version: int, name: str | None = None) -> dict[str, Any]:
    """As Kafka's JsonConverters: names in camel case, tagged fields only where they are not the default."""
    made = {}
    for field in layout.structs[name or layout.root]:
        value = getattr(struct, field.name)
        if version not in field.versions or (field.tag >= 0 and value == _usual(field)):
            continue
        made[_camel(field.name)] = _value(layout, field, value, version)
    return made


def _usual(field: Field) -> Any:
    if field.default is not ...:
        return field.default
    return {"uuid": bytes(16), "string": "", "bytes": b""}.get(field.type, [] if field.array else 0)


def _value(layout: Layout, field: Field, value: Any, version: int) -> Any:
    if value is None:
        return None
    if field.array:
        return [_value(layout, field._replace(array=False), each, version) for each in value]
    if field.type in layout.structs:
        return _json(layout, value, version, field.type)
    if field.type == "uuid":
        return format_id(value)
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(value).decode()
    return value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
