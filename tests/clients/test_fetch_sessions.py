"""Incremental fetches (KIP-227) as Java's consumer makes them: a full one, then only what changes."""

from collections.abc import Callable
from typing import Any

import pytest

from kafpy.protocol import api
from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient, batch_of, fetch_request

NOT_FOUND, WRONG_EPOCH, TOPIC_ID_ERROR = 70, 71, 106


class Session:
    """A client's side of one."""

    def __init__(self, raw: RawClient, version: int) -> None:
        self._raw = raw
        self._version = version
        self.id = self.epoch = 0

    def fetch(self, offsets: Any = None, **fields: Any) -> Any:
        request = fetch_request(offsets or {}, session=(self.id, self.epoch), **fields)
        answer = self._raw.call(api.FETCH, self._version, request)
        if answer.error_code == 0:
            self.id = answer.session_id
            self.epoch += 1
        return answer


def shown(answer: Any) -> dict[int, int]:
    """Partition: bytes of records."""
    assert answer.error_code == 0
    return {part.partition_index: len(part.records) for topic in answer.responses for part in topic.partitions}


@pytest.fixture(params=[7, 11, 12, 13, 17, 18])
def version(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def followed(raw: RawClient, name: str, version: int) -> Any:
    """A topic with three partitions, as requests of that version name it."""
    topic_id = raw.create(name, 3)
    return topic_id if version >= 13 else name


def test_only_changes_are_told(raw: RawClient, name: str, followed: Any, version: int) -> None:
    size = len(batch_of([b"v"]))
    session = Session(raw, version)
    assert shown(session.fetch({followed: {0: 0, 1: 0, 2: 0}})) == {0: 0, 1: 0, 2: 0}, "a full fetch shows all"
    assert session.id > 0
    assert shown(session.fetch()) == {}
    raw.produce(name, batch_of([b"v"]), partition=1)
    assert shown(session.fetch()) == {1: size}
    assert shown(session.fetch()) == {1: size}, "until the client says that it has it"
    assert shown(session.fetch({followed: {1: 1}})) == {}
    raw.produce(name, batch_of([b"v"]), partition=0)
    raw.produce(name, batch_of([b"v"]), partition=1)
    assert shown(session.fetch()) == {0: size, 1: size}


def test_partitions_come_and_go(raw: RawClient, name: str, followed: Any, version: int) -> None:
    size = len(batch_of([b"v"]))
    for partition in range(3):
        raw.produce(name, batch_of([b"v"]), partition=partition)
    session = Session(raw, version)
    assert shown(session.fetch({followed: {0: 0}})) == {0: size}
    assert shown(session.fetch({followed: {1: 0}})) == {0: size, 1: size}
    assert shown(session.fetch(forgotten={followed: [0]})) == {1: size}
    assert shown(session.fetch({followed: {2: 0}}, forgotten={followed: [1]})) == {2: size}
    assert shown(session.fetch(forgotten={followed: [2, 0]})) == {}


def test_a_wait_within_a_session(
    raw: RawClient,
    broker: BrokerProcess,
    connect: Callable[[BrokerProcess], RawClient],
    name: str,
    followed: Any,
    version: int,
) -> None:
    session = Session(connect(broker), version)
    session.fetch({followed: {0: 0, 1: 0}})
    waiting = fetch_request({}, session=(session.id, 1), wait_ms=20_000)
    reader = session._raw
    reader.send((api.FETCH, version, waiting))
    assert reader.quiet(0.05)
    raw.produce(name, batch_of([b"v"]), partition=1)
    assert shown(reader.receive()) == {1: len(batch_of([b"v"]))}


def test_wrong_epochs_and_ids(raw: RawClient, followed: Any, version: int) -> None:
    session = Session(raw, version)
    session.fetch({followed: {0: 0}})
    for epoch in (2, 5, 0x7FFFFFFF):
        answer = raw.call(api.FETCH, version, fetch_request({}, session=(session.id, epoch)))
        assert (answer.error_code, answer.session_id, answer.responses) == (WRONG_EPOCH, 0, [])
    assert shown(session.fetch()) == {}, "the session goes on"
    unknown = raw.call(api.FETCH, version, fetch_request({}, session=(session.id ^ 0x40000001, 1)))
    assert (unknown.error_code, unknown.session_id, unknown.responses) == (NOT_FOUND, 0, [])


def test_the_end_of_a_session(raw: RawClient, followed: Any, version: int) -> None:
    session = Session(raw, version)
    session.fetch({followed: {0: 0}})
    last = raw.call(api.FETCH, version, fetch_request({followed: {0: 0}}, session=(session.id, -1)))
    assert (last.error_code, last.session_id, shown(last)) == (0, 0, {0: 0})
    assert session.fetch().error_code == NOT_FOUND


def test_a_new_session_in_place_of_an_old_one(raw: RawClient, followed: Any, version: int) -> None:
    old, new = Session(raw, version), Session(raw, version)
    old.fetch({followed: {0: 0}})
    new.id = old.id
    assert shown(new.fetch({followed: {1: 0}})) == {1: 0}
    assert new.id != old.id
    assert old.fetch().error_code == NOT_FOUND
    assert shown(new.fetch()) == {}


def test_names_and_ids_do_not_mix(raw: RawClient, name: str) -> None:
    raw.create(name)
    session = Session(raw, 12)
    session.fetch({name: {0: 0}})
    answer = raw.call(api.FETCH, 13, fetch_request({}, session=(session.id, 1)))
    assert (answer.error_code, answer.session_id) == (TOPIC_ID_ERROR, 0)
    assert shown(session.fetch()) == {}


def test_a_deleted_topic_shows_up_as_an_error(raw: RawClient, name: str, followed: Any, version: int) -> None:
    session = Session(raw, version)
    session.fetch({followed: {0: 0}})
    request = api.DELETE_TOPICS.request
    assert raw.call(api.DELETE_TOPICS, 5, request(topic_names=[name], timeout_ms=5000)).responses[0].error_code == 0
    (topic,) = session.fetch().responses
    assert [part.error_code for part in topic.partitions] == [100 if version >= 13 else 3]
