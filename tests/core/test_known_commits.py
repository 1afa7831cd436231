"""Commits of quiet members, read while the inbox is drained: the same records and answers as the ordinary way makes."""

import select
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafpy._core.plane import Request
from kafpy.coordinator.group.config import GroupConfig
from kafpy.coordinator.group.offset_requests import OffsetRequests
from kafpy.coordinator.group.offsets import Offsets
from kafpy.protocol import api, codec
from kafpy.protocol.errors import ErrorCode
from tests.core.served import Client, Served, serving
from tests.core.test_beats import frame as heartbeat
from tests.core.test_beats import remembered

VERSIONS = range(5, 11)
ID = bytes(range(16))
NOW_MS = 2_000_000_000_000


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("known")) as made:
        yield made


@pytest.fixture(scope="module")
def client(served: Served) -> Iterator[Client]:
    with served.client() as made:
        yield made


Offsets_ = dict[int, tuple[int, int]]
"""Offset and leader epoch by partition."""


def commit_frame(
    version: int,
    topics: dict[str, Offsets_],
    *,
    correlation_id: int = 7,
    generation: int = 3,
    member: str = "m",
    metadata: str | None = "",
    instance: str | None = None,
) -> bytes:
    request = api.OFFSET_COMMIT.request
    listed = [
        request.Topic(
            name=name,
            topic_id=ID if version >= 10 else bytes(16),
            partitions=[
                request.Partition(
                    partition_index=index,
                    committed_offset=offset,
                    committed_leader_epoch=epoch,
                    committed_metadata=metadata,
                )
                for index, (offset, epoch) in partitions.items()
            ],
        )
        for name, partitions in topics.items()
    ]
    body = request(
        group_id="g",
        generation_id_or_member_epoch=generation,
        member_id=member,
        group_instance_id=instance,
        topics=listed,
    )
    return codec.write_request(8, version, correlation_id, "c", body)


def known(version: int, *names: str) -> dict[bytes, tuple[str | bytes, bytes]]:
    if version >= 10:
        return {ID: (ID, names[0].encode())}
    return {name.encode(): (name, name.encode()) for name in names}


@contextmanager
def quiet(served: Served, client: Client) -> Iterator[Any]:
    """The beat of a member that nothing disturbs."""
    beat = remembered(served, client, heartbeat(1))
    try:
        yield beat
    finally:
        beat.forget()


def drained(served: Served) -> Request:
    assert select.select([served.planes.inbox_fd], [], [], 20)[0]
    (request,) = served.planes.drain()
    return request


def asked(served: Served, client: Client, frame: bytes) -> Request:
    client.send(frame)
    request = drained(served)
    served.planes.reply(request.token, request.correlation_id.to_bytes(4, "big"))
    client.receive()
    assert request.frame == frame
    return request


def ordinary(frame: bytes, version: int, topic: str) -> tuple[bytes, list[Any]]:
    """What the slow way answers and writes."""
    header, body = codec.read_request(frame)
    for each in body.topics:
        each.name = each.name or topic
    group = type("Open", (), {"check_offset_commit": lambda *_: ErrorCode.NONE, "partition_check": lambda *_: None})()
    _, answer, records = OffsetRequests(GroupConfig(), Offsets()).commit(group, body, version, NOW_MS)
    return codec.write_response(8, version, header.correlation_id, answer), records


@pytest.mark.parametrize("version", VERSIONS)
def test_the_same_as_the_ordinary_way(served: Served, client: Client, version: int) -> None:
    with quiet(served, client) as beat:
        beat.expect_commits(commit_frame(version, {"t": {0: (1, 2)}}), "g", known(version, "t"))
        served.runtime.advance(max(NOW_MS - served.runtime.wall_ms(), 0))
        partitions = {0: (5, 3), 7: (2**60, -1), 2: (-1, 0)}
        frame = commit_frame(version, {"t": partitions})
        commit = asked(served, client, frame).commit
        assert commit is not None
        assert commit.group_id == "g"
        assert commit.topics == [(ID if version >= 10 else "t", 7)]
        payload, records = ordinary(frame, version, "t")
        assert commit.payload == payload
        assert [key for key, _ in commit.records] == [key for key, _ in records]
        for (_, made), (_, right) in zip(commit.records, records, strict=True):
            assert made[:15] + made[23:] == right[:15] + right[23:]
            assert abs(int.from_bytes(made[15:23], "big") - NOW_MS) < 60_000
        assert commit.take()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    version=st.sampled_from([5, 6, 7, 8, 9]),
    topics=st.dictionaries(
        st.text("abc.ü", min_size=1, max_size=6),
        st.dictionaries(
            st.integers(0, 2**31 - 1),
            st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(-1, 2**31 - 1)),
            min_size=1,
            max_size=5,
        ),
        min_size=1,
        max_size=4,
    ),
    metadata=st.sampled_from(["", None]),
)
def test_any_topics(served: Served, client: Client, version: int, topics: Any, metadata: str | None) -> None:
    with quiet(served, client) as beat:
        beat.expect_commits(commit_frame(version, {}), "g", known(version, *topics))
        frame = commit_frame(version, topics, metadata=metadata)
        commit = asked(served, client, frame).commit
        assert commit is not None
        payload, records = ordinary(frame, version, "")
        assert commit.payload == payload
        assert [key for key, _ in commit.records] == [key for key, _ in records]
        assert [made[:15] for _, made in commit.records] == [right[:15] for _, right in records]
        assert commit.topics == [(name, max(partitions)) for name, partitions in topics.items()]


@pytest.mark.parametrize("version", VERSIONS)
def test_others_are_ordinary(served: Served, client: Client, version: int) -> None:
    with quiet(served, client) as beat:
        one = {"t": {0: (1, 2)}}
        beat.expect_commits(commit_frame(version, one), "g", known(version, "t"))
        whole = commit_frame(version, one)
        others = [
            commit_frame(version, one, generation=4),
            commit_frame(version, one, member="n"),
            commit_frame(version, one, metadata="where I was"),
            commit_frame(version, {}),
            commit_frame(version, {"t": {}}),
            commit_frame(version, {"t": {-1: (1, 2)}}),
            whole + b"\0",
            whole[:-1],
        ]
        if version < 10:
            others.append(commit_frame(version, {**one, "unknown": {0: (1, 1)}}))
        if version >= 7:
            others.append(commit_frame(version, one, instance="i"))
        for other in others:
            assert asked(served, client, other).commit is None
        assert asked(served, client, whole).commit is not None
        beat.forget()
        assert asked(served, client, whole).commit is None


def test_one_that_was_read_before_its_member_was_disturbed(served: Served, client: Client) -> None:
    with quiet(served, client) as beat:
        frame = commit_frame(9, {"t": {0: (1, 2)}})
        beat.expect_commits(frame, "g", known(9, "t"))
        commit = asked(served, client, frame).commit
        assert commit is not None
        served.runtime.advance(5000)
        assert beat.idle_ms >= 5000
        assert commit.take()
        assert beat.idle_ms < 5000
        beat.forget()
        assert not commit.take()


def test_what_is_not_expected(served: Served, client: Client) -> None:
    with quiet(served, client) as beat:
        for frame in (b"", heartbeat(2), commit_frame(4, {"t": {0: (1, 2)}}), commit_frame(9, {}, member="m" * 600)):
            beat.expect_commits(frame, "g", known(9, "t"))
        assert asked(served, client, commit_frame(9, {}, member="m" * 600)).commit is None
        beat.forget()
        beat.expect_commits(commit_frame(9, {}), "g", known(9, "t"))
        assert asked(served, client, commit_frame(9, {"t": {0: (1, 2)}})).commit is None
