"""Protocol codec: parsing requests, writing Metadata."""

from typing import Any

import pytest

from kafpy.protocol import api, codec

RESPONSE = api.METADATA.response


def topic(name: str, partitions: int) -> Any:
    return RESPONSE.Topic(
        name=name,
        partitions=[
            RESPONSE.Partition(partition_index=index, leader_id=1, replica_nodes=[1, 2, 3], isr_nodes=[1, 2, 3])
            for index in range(partitions)
        ],
    )


@pytest.mark.parametrize("names", [1, 1000])
def test_parse_metadata_request(benchmark: Any, names: int) -> None:
    request = api.METADATA.request
    topics = [request.Topic(name=f"topic-{number}") for number in range(names)]
    frame = codec.write_request(3, 12, 1, "bench", request(topics=topics))
    benchmark(codec.read_request, frame)


def test_parse_produce_request(benchmark: Any) -> None:
    request = api.PRODUCE.request
    parts = [request.Partition(index=index, records=bytes(1024)) for index in range(4)]
    topics = [request.Topic(name=f"topic-{number}", partition_data=parts) for number in range(10)]
    benchmark(codec.read_request, codec.write_request(0, 9, 1, "bench", request(topic_data=topics)))


@pytest.mark.parametrize("fragments", [False, True], ids=["objects", "fragments"])
def test_write_metadata(benchmark: Any, fragments: bool) -> None:
    topics: list[Any] = [topic(f"topic-{number}", 6) for number in range(1000)]
    if fragments:
        topics = [codec.response_fragment(api.METADATA, 12, one) for one in topics]
    benchmark(codec.write_response, 3, 12, 1, RESPONSE(topics=topics))


def test_build_and_write_small_response(benchmark: Any) -> None:
    response = api.INIT_PRODUCER_ID.response
    benchmark(lambda: codec.write_response(22, 4, 1, response(producer_id=1)))
