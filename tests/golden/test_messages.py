"""Messages as Apache Kafka 4.3 wrote them: read, and written again to the same bytes.

messages.json holds, for every version of every API in kafpy.protocol, one request and the broker's answer: topics made,
produced to, fetched, looked up and deleted, with an unknown name or partition beside the good one.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from kafpy.protocol import api, codec

MESSAGES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "kafka-4.3" / "messages.json").read_text())


def test_every_version_is_there() -> None:
    seen = {(each["key"], each["version"]) for each in MESSAGES}
    assert {
        (known.key, version)
        for known in (
            api.PRODUCE,
            api.FETCH,
            api.LIST_OFFSETS,
            api.METADATA,
            api.FIND_COORDINATOR,
            api.API_VERSIONS,
            api.CREATE_TOPICS,
            api.DELETE_TOPICS,
            api.INIT_PRODUCER_ID,
        )
        for version in known.versions
    } == seen


@pytest.mark.parametrize("message", MESSAGES, ids=lambda each: f"{each['api']}-{each['version']}")
def test_the_same_bytes(message: dict[str, Any]) -> None:
    answer = bytes.fromhex(message["response"])
    correlation_id, body = codec.read_response(message["key"], message["version"], answer)
    assert codec.write_response(message["key"], message["version"], correlation_id, body) == answer
    frame = bytes.fromhex(message["request"])
    header, asked = codec.read_request(frame)
    assert (header.api_key, header.api_version, header.correlation_id) == (
        message["key"],
        message["version"],
        correlation_id,
    )
    assert (
        codec.write_request(header.api_key, header.api_version, header.correlation_id, header.client_id, asked) == frame
    )
