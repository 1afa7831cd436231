import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafpy._core import batch
from kafpy.client.connection import ClientError
from kafpy.handlers.registry import SERVED
from kafpy.protocol import api
from kafpy.storage.compression import CODECS, compress
from kafpy.storage.directories import DirectoryError

Start = Callable[..., Any]


def encode(name: str, values: list[bytes | None], keys: list[bytes | None] | None = None, **more: int) -> bytes:
    codec = CODECS[name]
    packer = None if name == "none" else lambda data: compress(codec, data)
    return batch.encode(values, keys=keys, timestamps=int(time.time() * 1000), codec=codec, compress=packer, **more)


def test_topics_survive_a_restart(start: Start, data: Path) -> None:
    running = start()
    with running.connect() as client:
        made = client.create("t", 3, segment_bytes="1048576")
        assert made.error_code == 0
        cluster_id = client.metadata().cluster_id
        assert [each.base_offset for each in client.produce("t", encode("none", [b"a", b"b"]))] == [0]
    assert sorted(path.name for path in data.glob("t-*")) == ["t-0", "t-1", "t-2"]
    running.stop()
    assert (data / ".kafka_cleanshutdown").exists()
    assert "t 0 2" in (data / "recovery-point-offset-checkpoint").read_text()
    running = start()
    assert not (data / ".kafka_cleanshutdown").exists()
    with running.connect() as client:
        found = client.metadata()
        assert found.cluster_id == cluster_id
        assert [(topic.name, topic.topic_id, len(topic.partitions)) for topic in found.topics] == [
            ("t", made.topic_id, 3)
        ]
        assert [each.base_offset for each in client.produce("t", encode("none", [b"c"]))] == [2]
    assert running.broker.partitions.log("t", 0).log_end_offset == 3
    assert running.broker.partitions.log("t", 3) is None


def test_an_idempotent_retry_keeps_one_copy_across_a_restart(start: Start, data: Path) -> None:
    sent = [
        encode("none", [b"a", b"b"], producer_id=4, producer_epoch=0, base_sequence=2 * number) for number in range(2)
    ]
    running = start()
    with running.connect() as client:
        client.create("t")
        assert [client.produce("t", each)[0].base_offset for each in sent] == [0, 2]
    running.stop()
    assert [path.name for path in data.glob("t-0/*.snapshot")] == ["00000000000000000004.snapshot"]
    running = start()
    with running.connect() as client:
        again = client.produce("t", sent[1])[0]
        assert (again.error_code, again.base_offset) == (0, 2)
    assert running.broker.partitions.log("t", 0).log_end_offset == 4


def test_a_folder_in_the_way_is_never_taken_over(start: Start, data: Path) -> None:
    running = start()
    (data / "t-1").mkdir()
    (data / "t-1" / "00000000000000000000.log").write_bytes(b"someone else's")
    with running.connect() as client:
        assert client.create("t", 3).error_code == 56
        assert client.metadata().topics == []
        (data / "t-1").rename(data / "elsewhere")
        assert client.create("t", 3).error_code == 0


def test_a_deleted_topic_goes_in_steps(start: Start, data: Path) -> None:
    running = start()
    with running.connect() as client:
        client.create("t", 2)
        client.produce("t", encode("none", [b"old"]))
        assert client.delete("t").error_code == 0
        assert client.metadata().topics == []
        assert len(list(data.glob("t-*-delete"))) == 2
        assert client.create("t", 1).error_code == 0
        assert [each.base_offset for each in client.produce("t", encode("none", [b"new"]))] == [0]
        assert client.delete("none").error_code == 3
    running.broker.clock.advance(61_000)
    deadline = time.monotonic() + 30
    while list(data.glob("t-*-delete")) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert [path.name for path in data.glob("t-*")] == ["t-0"]


def test_folders_of_nobody_are_set_aside(start: Start, data: Path) -> None:
    start().stop()
    (data / "unknown-0").mkdir()
    (data / "unknown-0" / "00000000000000000000.log").write_bytes(b"keep me")
    start().stop()
    assert [path.read_bytes() for path in data.glob("unknown-0.*-stray/*.log")] == [b"keep me"]


def test_clients_are_told_the_address_they_used(start: Start) -> None:
    running = start()
    with running.connect() as client:
        assert [(each.host, each.port) for each in client.metadata().brokers] == [("127.0.0.1", running.broker.port)]


def test_advertised_listeners(start: Start) -> None:
    with start(advertised_listeners="PLAINTEXT://kafka.example:1234").connect() as client:
        assert [(each.host, each.port) for each in client.metadata().brokers] == [("kafka.example", 1234)]


@pytest.mark.parametrize(
    ("name", "partitions", "configs", "code"),
    [
        ("a/b", 1, {}, 17),
        ("..", 1, {}, 17),
        ("t", 0, {}, 37),
        ("t", 10_001, {}, 44),
        ("t", 1, {"no_such": "1"}, 40),
        ("t", 1, {"segment_bytes": "1"}, 40),
        ("there", 1, {}, 36),
        ("with_underscore", 1, {}, 17),
    ],
)
def test_what_cannot_be_created(start: Start, name: str, partitions: int, configs: dict[str, str], code: int) -> None:
    with start().connect() as client:
        client.create("there")
        client.create("with.underscore")
        assert client.create(name, partitions, **configs).error_code == code
        assert len(client.metadata().topics) == 2


def test_a_broken_handler_costs_one_connection(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    running = start()
    with running.connect() as client, running.connect() as other:
        with monkeypatch.context() as patch:
            broken = SERVED[api.METADATA.key]._replace(handler=lambda state, call: 1 / 0)
            patch.setitem(SERVED, api.METADATA.key, broken)
            with pytest.raises(ClientError, match="broke during Metadata"):
                client.metadata()
        assert other.metadata().topics == []


def exchange(port: int, frame: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), 5) as client:
        client.sendall(struct.pack(">i", len(frame)) + frame)
        return client.recv(65536)


def test_a_malformed_request_closes_the_connection(start: Start) -> None:
    running = start()
    assert exchange(running.broker.port, struct.pack(">hhih", 3, 9, 1, -1) + b"\0\xff\xff") == b""
    assert exchange(running.broker.port, struct.pack(">hhih", 77, 0, 1, -1)) == b""
    with running.connect() as client:
        assert client.metadata().topics == []


def test_a_newer_client_is_told_our_versions(start: Start) -> None:
    answer = exchange(start().broker.port, struct.pack(">hhih", 18, 99, 42, -1) + b"\0\1\1\0")
    assert struct.unpack_from(">ih", answer, 4) == (42, 35)


@pytest.mark.parametrize("name", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_batches_are_opened_where_asked(start: Start, name: str) -> None:
    with start().connect() as client:
        client.create("t", 2, kafpy_validate_compressed="true")
        sound = encode(name, [b"a", b"b"])
        unsound = batch.rebuild(batch.header(sound), CODECS[name], b"not what it says")
        answers = client.produce("t", sound, unsound)
        assert [(each.error_code, each.base_offset) for each in answers] == [(0, 0), (87, -1)]


def test_batches_are_kept_in_the_topics_codec(start: Start) -> None:
    running = start()
    with running.connect() as client:
        client.create("t", 3, compression_type="zstd")
        given = [encode(name, [b"a" * 100, b"b"]) for name in ("gzip", "zstd", "none")]
        assert [each.error_code for each in client.produce("t", *given)] == [0, 0, 0]
        for index in range(3):
            stored = running.broker.partitions.log("t", index).read(0, 10_000)
            assert batch.header(stored).codec == CODECS["zstd"]


def test_a_compacted_topic_looks_for_keys_in_compressed_batches(start: Start) -> None:
    with start().connect() as client:
        client.create("t", 2, cleanup_policy="compact")
        answers = client.produce("t", encode("gzip", [b"v"], [b"k"]), encode("gzip", [b"v"], [None]))
        assert [each.error_code for each in answers] == [0, 87]


def test_producer_ids_are_never_given_twice(start: Start) -> None:
    seen = []
    for _ in range(2):
        running = start()
        with running.connect() as client:
            for _ in range(3):
                request = api.INIT_PRODUCER_ID.request(
                    transactional_id=None, transaction_timeout_ms=60000, producer_id=-1, producer_epoch=-1
                )
                answer = client.call(api.INIT_PRODUCER_ID, request)
                assert answer.error_code == 0
                seen.append(answer.producer_id)
        running.stop()
    assert len(set(seen)) == 6


def test_lost_metadata_is_not_made_up(start: Start, data: Path) -> None:
    start().stop()
    for path in data.glob("metadata.sqlite*"):
        path.unlink()
    with pytest.raises(DirectoryError, match=r"holds data of cluster .* is missing"):
        start()
    assert not (data / "metadata.sqlite").exists()


def test_several_directories_share_the_partitions(start: Start, tmp_path: Path) -> None:
    directories = (str(tmp_path / "a"), str(tmp_path / "b"))
    running = start(log_dirs=directories)
    with running.connect() as client:
        client.create("t", 6)
    assert [len(list(Path(each).glob("t-*"))) for each in directories] == [3, 3]
    running.stop()
    running = start(log_dirs=directories)
    assert all(running.broker.partitions.log("t", index) is not None for index in range(6))
