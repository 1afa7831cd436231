"""Whole frames, without their four size bytes: header and body.

Request header version 2 and response header version 1 go with flexible versions; ApiVersions answers with header
version 0 always, since its client cannot know better yet (KIP-511).
"""

from functools import cache
from typing import Any, NamedTuple

from kafpy._core.wire import Encoded, MalformedRequest, Program, Struct
from kafpy.protocol import api
from kafpy.protocol.messages.header import REQUEST_HEADER, RESPONSE_HEADER

HEADER_TAGS = 64


class UnsupportedVersion(Exception):
    """An API or a version of it that kafpy does not speak; carries what an answer needs."""

    def __init__(self, api_key: int, api_version: int, correlation_id: int) -> None:
        super().__init__(f"api key {api_key} version {api_version}")
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id


class RequestHeader(NamedTuple):
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


def read_request(frame: bytes) -> tuple[RequestHeader, Any]:
    """Raises MalformedRequest or UnsupportedVersion, nothing else.

    Bytes behind the body are passed over, as Kafka does: librdkafka's Metadata of all topics has three of them (its
    issue 5049).
    """
    if len(frame) < 8:
        raise MalformedRequest("no room for a request header")
    key = int.from_bytes(frame[0:2], "big", signed=True)
    version = int.from_bytes(frame[2:4], "big", signed=True)
    programs = _request_programs(key, version)
    if programs is None:
        raise UnsupportedVersion(key, version, int.from_bytes(frame[4:8], "big", signed=True))
    header, end = programs[0].read(frame, budget=HEADER_TAGS, whole=False)
    body, _ = programs[1].read(frame, end, whole=False)
    return RequestHeader(key, version, header.correlation_id, header.client_id), body


def write_response(api_key: int, api_version: int, correlation_id: int, response: Struct) -> bytes:
    header, body = _response_programs(api_key, api_version)
    return body.write(response, header.write(RESPONSE_HEADER.cls(correlation_id=correlation_id)))


def write_request(api_key: int, api_version: int, correlation_id: int, client_id: str | None, request: Struct) -> bytes:
    spoken = api.by_key(api_key)
    header = REQUEST_HEADER.cls(
        api_key=api_key, api_version=api_version, correlation_id=correlation_id, client_id=client_id
    )
    return spoken.request_message.program(api_version).write(
        request, _request_header(spoken, api_version).write(header)
    )


def read_response(
    api_key: int, api_version: int, payload: bytes | bytearray, size: int | None = None
) -> tuple[int, Any]:
    """The correlation id and the response; its elements are bounded by the payload's size alone.

    `size`: where the response ends in a payload that is longer.
    """
    spoken = api.by_key(api_key)
    end = len(payload) if size is None else size
    header, body_at = _response_header(spoken, api_version).read(payload, end=end, budget=HEADER_TAGS, whole=False)
    body, _ = spoken.response_message.program(api_version).read(payload, body_at, end=end, budget=end)
    return header.correlation_id, body


def response_fragment(spoken: api.Api, version: int, struct: Struct) -> Encoded:
    """An element of one of the response's arrays in wire form, to be kept and used again."""
    return spoken.response_message.program(version).fragment(struct)


@cache
def _request_programs(key: int, version: int) -> tuple[Program, Program] | None:
    """Of header and body. The cache holds nothing for what is not spoken but None: keys and versions are 16 bits."""
    spoken = api.ALL.get(key)
    if spoken is None or version not in spoken.versions:
        return None
    return _request_header(spoken, version), spoken.request_message.program(version)


@cache
def _response_programs(key: int, version: int) -> tuple[Program, Program]:
    spoken = api.by_key(key)
    return _response_header(spoken, version), spoken.response_message.program(version)


def _request_header(spoken: api.Api, version: int) -> Program:
    return REQUEST_HEADER.program(2 if version in spoken.flexible else 1)


def _response_header(spoken: api.Api, version: int) -> Program:
    return RESPONSE_HEADER.program(1 if version in spoken.flexible and spoken is not api.API_VERSIONS else 0)
