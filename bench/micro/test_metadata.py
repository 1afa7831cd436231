"""The Metadata handler with its reply's bytes, for 1,000 topics of 6 partitions."""

from typing import Any

import pytest

from kafpy.broker.settings import Settings
from kafpy.handlers import metadata, metadata_fragments
from kafpy.handlers.registry import Call
from kafpy.metadata import Image, Partition, Topic
from kafpy.protocol import api, codec

TOPICS = [
    Topic(
        f"topic-{number}",
        number.to_bytes(16, "big"),
        tuple(Partition(i, 1, 0, (1, 2, 3), (1, 2, 3)) for i in range(6)),
        {},
    )
    for number in range(1, 1001)
]


class Broker:
    node_id, cluster_id, settings, image = 1, "bench", Settings(), Image.of(1, TOPICS)

    def advertised(self, call: Call) -> tuple[str, int]:
        return "127.0.0.1", 9092


@pytest.mark.parametrize("asked", ["all", "named"])
@pytest.mark.parametrize("kept", [True, False], ids=["kept", "fresh"])
def test_metadata(benchmark: Any, asked: str, kept: bool) -> None:
    request, broker = api.METADATA.request, Broker()
    topics = None if asked == "all" else [request.Topic(name=topic.name) for topic in TOPICS]
    frame = codec.write_request(3, 12, 1, "bench", request(topics=topics))

    def serve() -> bytes:
        if not kept:
            metadata_fragments._caches.clear()
        header, body = codec.read_request(frame)
        answer = metadata.metadata(broker, Call(header, body, "127.0.0.1", 9092, "127.0.0.1"))  # type: ignore[arg-type]
        return codec.write_response(3, 12, header.correlation_id, answer)

    assert len(codec.read_response(3, 12, benchmark(serve))[1].topics) == 1000
