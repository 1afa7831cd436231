"""Frames: header versions, who may not be answered, and golden bytes."""

import pytest

from kafpy.protocol import MalformedRequest, api, codec
from kafpy.protocol.errors import ErrorCode


def test_request_header_versions() -> None:
    request = api.API_VERSIONS.request(client_software_name="k", client_software_version="1")
    assert codec.write_request(18, 2, 7, "me", request) == b"\0\x12\0\x02\0\0\0\x07\0\x02me"
    assert codec.write_request(18, 3, 7, "me", request) == b"\0\x12\0\x03\0\0\0\x07\0\x02me\0\x02k\x021\0"
    assert codec.write_request(18, 0, -1, None, request) == b"\0\x12\0\0\xff\xff\xff\xff\xff\xff"
    header, body = codec.read_request(b"\0\x12\0\x03\0\0\0\x07\0\x02me\0\x02k\x021\0")
    assert header == (18, 3, 7, "me")
    assert (body.client_software_name, body.client_software_version) == ("k", "1")


def test_response_header_versions() -> None:
    coordinator = api.FIND_COORDINATOR.response(error_code=15, error_message=None, node_id=-1, port=-1)
    minus = b"\xff\xff\xff\xff"
    assert (
        codec.write_response(10, 2, 7, coordinator)
        == b"\0\0\0\x07" + bytes(4) + b"\0\x0f\xff\xff" + minus + b"\0\0" + minus
    )
    assert (
        codec.write_response(10, 3, 7, coordinator)
        == b"\0\0\0\x07\0" + bytes(4) + b"\0\x0f\0" + minus + b"\x01" + minus + b"\0"
    )
    versions = api.API_VERSIONS.response()
    assert codec.write_response(18, 3, 7, versions) == b"\0\0\0\x07" + b"\0\0\x01" + bytes(4) + b"\0"
    assert codec.read_response(10, 3, codec.write_response(10, 3, 7, coordinator)) == (7, coordinator)


@pytest.mark.parametrize(("key", "version"), [(3, 14), (0, 2), (3, -1), (999, 0), (-1, 0), (32767, 0), (18, 5)])
def test_unsupported(key: int, version: int) -> None:
    frame = key.to_bytes(2, "big", signed=True) + version.to_bytes(2, "big", signed=True) + b"\0\0\0\x09garbage"
    with pytest.raises(codec.UnsupportedVersion) as caught:
        codec.read_request(frame)
    assert (caught.value.api_key, caught.value.api_version, caught.value.correlation_id) == (key, version, 9)


@pytest.mark.parametrize("size", range(8))
def test_no_room_for_a_header(size: int) -> None:
    with pytest.raises(MalformedRequest):
        codec.read_request(bytes(size))


@pytest.mark.parametrize("client_id", [b"\xff\xfe", b"\xff\xff" + bytes(0), bytes(32767)])
def test_client_ids(client_id: bytes) -> None:
    prefix = b"\0\x12\0\0\0\0\0\x01"
    if client_id == b"\xff\xff":
        assert codec.read_request(prefix + client_id)[0].client_id is None
    elif client_id == b"\xff\xfe":
        with pytest.raises(MalformedRequest):
            codec.read_request(prefix + client_id)
    else:
        assert codec.read_request(prefix + b"\x7f\xff" + client_id)[0].client_id == "\0" * 32767


def test_values_that_do_not_fit() -> None:
    request, header = api.CREATE_TOPICS.request, (19, 7, 1, None)
    for topic, error in (
        (request.Topic(name=None), ValueError),
        (request.Topic(name="x", num_partitions=2**31), OverflowError),
        (request.Topic(name="x", replication_factor="1"), TypeError),
        (request.Topic(name="\ud800"), UnicodeEncodeError),
        (request.Topic(assignments=[request.Config()]), TypeError),
        (api.METADATA.request.Topic(name="x"), TypeError),
    ):
        with pytest.raises(error):
            codec.write_request(*header, request(topics=[topic]))
    with pytest.raises(ValueError, match="too long"):
        codec.write_request(*header, request(topics=[request.Topic(name="x" * 32768)]))
    with pytest.raises(TypeError, match="no field nonsense"):
        request(nonsense=1)


def test_defaults_are_not_shared() -> None:
    one, other = api.METADATA.response(), api.METADATA.response()
    one.topics.append(1)
    assert other.topics == []
    read = [codec.read_response(1, 12, codec.write_response(1, 12, 1, api.FETCH.response()))[1] for _ in range(2)]
    assert read[0].node_endpoints is not read[1].node_endpoints


def test_records_are_views_of_the_frame() -> None:
    request = api.PRODUCE.request
    partition = request.Partition(index=1, records=b"r" * 100)
    value = request(acks=1, topic_data=[request.Topic(name="t", partition_data=[partition])])
    frame = codec.write_request(0, 9, 1, None, value)
    records = codec.read_request(frame)[1].topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    assert records == b"r" * 100
    assert records.obj is frame


def test_error_codes() -> None:
    theirs = pytest.importorskip("kio.schema.errors").ErrorCode
    assert {code.name: code.value for code in ErrorCode} == {code.name.upper(): code.value for code in theirs}
    assert ErrorCode.NOT_COORDINATOR.message == "Not coordinator."
    assert all(code.message for code in ErrorCode)
