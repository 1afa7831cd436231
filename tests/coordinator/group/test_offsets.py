"""Commits, fetches and deletions of offsets, and what is kept how long."""

import pytest

from kafpy.coordinator.group import retention
from kafpy.coordinator.group.config import GroupConfig
from kafpy.coordinator.group.offset_record import CommittedOffset, MalformedRecord, offset_record
from kafpy.coordinator.result import Record
from tests.coordinator.group.harness import START_MS, Harness, subscription

DAY = 86_400_000
ID, OTHER = bytes(range(16)), bytes(range(1, 17))


def test_a_simple_consumer() -> None:
    harness = Harness()
    offsets = {("t", 0): 5, ("t", 3): 2**63 - 1, ("u", 0): -2}
    assert harness.commit(offsets, leader_epoch=4, metadata="m") == [0, 0, 0]
    assert harness.fetched() == offsets
    assert harness.fetched({"t": [0, 1], "v": [0]}) == {("t", 0): 5, ("t", 1): -1, ("v", 0): -1}
    partition = harness.fetch({"t": [0]}).topics[0].partitions[0]
    assert (partition.committed_leader_epoch, partition.metadata, partition.error_code) == (4, "m", 0)
    missing = harness.fetch({"v": [0]}).topics[0].partitions[0]
    assert (missing.committed_leader_epoch, missing.metadata, missing.error_code) == (-1, "", 0)
    assert harness.fetched(group="nobody") == {}
    assert harness.fetched({"t": [0]}, group="nobody") == {("t", 0): -1}
    assert harness.restart().fetched() == offsets
    listed = harness.shard.list_groups(set(), set())[0]
    assert (listed.group_id, listed.protocol_type, listed.group_state, listed.group_type) == (
        "g",
        "",
        "Empty",
        "classic",
    )


def test_the_empty_group_id_is_a_group_for_offsets() -> None:
    harness = Harness()
    assert harness.commit({("t", 0): 5}, group="") == [0]
    assert harness.fetched({"t": [0]}, group="") == {("t", 0): 5}


def test_members_without_a_group() -> None:
    harness = Harness()
    assert harness.commit({("t", 0): 1}, "m", 3) == [69]
    assert harness.commit({("t", 0): 1}, "m", 3, version=8) == [22]
    assert harness.log == []


def test_metadata_is_measured_as_java_does() -> None:
    harness = Harness(GroupConfig(offset_metadata_max_bytes=10))
    assert harness.commit({("t", 0): 1}, metadata="x" * 10) == [0]
    assert harness.commit({("t", 0): 2}, metadata="x" * 11) == [12]
    assert harness.commit({("t", 0): 3}, metadata="é" * 10) == [0]
    assert harness.commit({("t", 0): 4}, metadata="🎈" * 5) == [0]
    assert harness.commit({("t", 0): 5}, metadata="🎈" * 6) == [12]
    assert harness.commit({("t", 0): 6}, metadata=None) == [0]
    assert harness.fetched({"t": [0]}) == {("t", 0): 6}
    assert Harness().commit({("t", 0): 1}, metadata="x" * 4096) == [0]
    assert Harness().commit({("t", 0): 1}, metadata="x" * 4097) == [12]


def test_topic_ids() -> None:
    harness = Harness()
    assert harness.commit({("t", 0): 5}, topic_id=ID) == [0]
    assert harness.fetched({"t": [0]}) == {("t", 0): 5}
    assert harness.fetched({"t": [0]}, topic_id=ID) == {("t", 0): 5}
    assert harness.fetched({"t": [0]}, topic_id=OTHER) == {("t", 0): -1}
    assert harness.commit({("t", 0): 6}) == [0]
    assert harness.fetched({"t": [0]}, topic_id=OTHER) == {("t", 0): 6}
    answer = harness.fetch({"t": [0]}, topic_id=OTHER).topics[0]
    assert (answer.topic_id, answer.name) == (OTHER, "t")


def test_deletion() -> None:
    harness = Harness()
    member = harness.stable(protocols={"range": subscription("t")})[0]
    assert harness.commit({("t", 0): 5, ("u", 0): 6, ("u", 1): 7}, member, 1) == [0, 0, 0]
    answer = harness.delete_offsets({"t": [0], "u": [0, 5]})
    assert [(topic.name, [each.error_code for each in topic.partitions]) for topic in answer.topics] == [
        ("t", [86]),
        ("u", [0, 0]),
    ]
    assert harness.fetched() == {("t", 0): 5, ("u", 1): 7}
    assert harness.delete_offsets({"t": [0]}, group="nobody").error_code == 69
    harness.stable(group="other", protocol_type="connect")
    assert harness.delete_offsets({"t": [0]}, group="other").error_code == 68


def test_a_group_of_whose_topics_nothing_is_known_is_subscribed_to_all() -> None:
    harness = Harness()
    member = harness.stable(protocols={"range": b"nonsense"})[0]
    assert harness.commit({("t", 0): 5}, member, 1) == [0]
    assert harness.delete_offsets({"t": [0]}).topics[0].partitions[0].error_code == 86


@pytest.mark.parametrize(
    "metadata",
    [
        b"",
        b"\0\1",
        b"\xff\xff\0\0\0\0",
        b"\0\0\0\0\0\1",
        b"\0\0\0\0\0\1\0\5ab",
        b"\0\0\xff\xff\xff\xfe",
        b"\0\0\x7f\xff\xff\xff\0\0",
        b"\0\0\0\0\0\1\0\2\xff\xfe",
        b"\0\0\0\0\0\1\xff\xff",
    ],
)
def test_subscriptions_that_are_none(metadata: bytes) -> None:
    harness = Harness()
    harness.stable(protocols={"range": metadata})
    assert harness.shard._groups["g"].subscribed is None


def test_deleting_a_group_takes_its_offsets() -> None:
    harness = Harness()
    member = harness.stable()[0]
    harness.commit({("t", 0): 5, ("u", 1): 5}, member, 1)
    assert harness.delete_group() == 68
    harness.leave((member, None))
    assert harness.delete_group() == 0
    assert harness.delete_group() == 69
    assert harness.shard.list_groups(set(), set()) == []
    assert harness.fetched() == {}
    assert harness.restart().shard._groups == {}


def test_topics_that_are_deleted() -> None:
    harness = Harness()
    harness.commit({("t", 0): 5, ("u", 1): 5})
    harness.commit({("t", 7): 5}, group="other")
    harness.take(harness.shard.topics_deleted({"t", "never"}))
    assert harness.fetched() == {("u", 1): 5}
    assert harness.fetched(group="other") == {}


def test_a_simple_groups_offsets_age_from_their_commit() -> None:
    harness = Harness()
    harness.commit({("t", 0): 1})
    harness.advance(DAY)
    harness.commit({("t", 1): 1})
    harness.advance(6 * DAY - 1)
    assert len(harness.fetched()) == 2
    harness.advance(600_000)
    assert harness.fetched() == {("t", 1): 1}
    harness.advance(DAY)
    assert harness.fetched() == {}
    assert harness.shard.list_groups(set(), set()) == []
    assert harness.log[-1] == Record(b"\0\2\0\1g", None)


def test_an_empty_groups_offsets_age_from_when_it_became_empty() -> None:
    harness = Harness()
    member = harness.stable(session_ms=1_800_000)[0]
    harness.commit({("t", 0): 1, ("u", 0): 1}, member, 1)
    for _ in range(8 * 96):
        harness.advance(DAY // 96)
        assert harness.heartbeat(member, 1) == 0
    assert harness.fetched() == {("t", 0): 1}  # nobody is subscribed to u any more
    harness.leave((member, None))
    emptied = harness.now
    assert harness.shard._groups["g"].current_state_timestamp == emptied
    harness.advance(7 * DAY - 1)
    assert harness.fetched() == {("t", 0): 1}
    harness = harness.restart()
    harness.advance(600_000)
    assert harness.fetched() == {}
    assert harness.shard._groups == {}


def test_offsets_of_other_protocols_do_not_age_while_there_are_members() -> None:
    harness = Harness()
    member = harness.stable(session_ms=1_800_000, protocol_type="connect")[0]
    harness.commit({("t", 0): 1}, member, 1)
    for _ in range(8 * 96):
        harness.advance(DAY // 96)
        harness.heartbeat(member, 1)
    assert harness.fetched() == {("t", 0): 1}


def test_a_retention_time_in_the_request_counts() -> None:
    harness = Harness()
    harness.commit({("t", 0): 1}, retention_ms=1_000_000, version=4)
    harness.commit({("t", 1): 1}, retention_ms=30 * DAY, version=4)
    assert harness.log[0].value is not None
    assert harness.log[0].value[:2] == b"\0\1"
    harness.advance(1_000_000)
    assert len(harness.fetched()) == 2
    harness.advance(600_000)
    assert harness.fetched() == {("t", 1): 1}
    harness.advance(20 * DAY)
    assert harness.fetched() == {("t", 1): 1}
    harness.advance(10 * DAY)
    assert harness.fetched() == {}


def test_a_group_from_before_state_timestamps() -> None:
    harness = Harness()
    value = b"\0\1\0\x08consumer\0\0\0\x03\xff\xff\xff\xff\0\0\0\0"
    harness.append(Record(b"\0\2\0\1g", value))
    harness.commit({("t", 0): 1})
    harness.advance(7 * DAY + 600_000)
    assert harness.fetched() == {}


def test_an_id_that_was_just_given_out_keeps_its_group() -> None:
    harness = Harness()
    member = harness.new_id(session_ms=1_800_000)
    harness.advance(1_200_000)
    ticket = harness.join(member)
    harness.advance(3000)
    assert harness.answers[ticket].error_code == 0
    harness = Harness()
    harness.new_id()
    harness.advance(1_200_000)
    assert harness.shard._groups == {}


def test_retention_goes_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "SLICE", 3)
    harness = Harness(GroupConfig(offsets_retention_minutes=10))
    for group in "abcde":
        harness.commit({("t", partition): 1 for partition in range(4)}, group=group)
    harness.advance(599_999)
    done = []
    for _ in range(6):
        harness.advance(1)
        done.append(len(harness.shard._groups))
    assert done == [4, 3, 2, 1, 0, 0]
    assert harness.timers[("offsets",)] == harness.now + 600_000 - 1


def test_retention_can_be_shorter() -> None:
    harness = Harness(GroupConfig(offsets_retention_minutes=1, offsets_retention_check_interval_ms=1000))
    harness.commit({("t", 0): 1})
    harness.advance(59_999)
    assert len(harness.fetched()) == 1
    harness.advance(1)
    assert harness.fetched() == {}


def test_records_of_kafkas_past_and_of_other_groups() -> None:
    harness = Harness()
    legacy = Record(
        b"\0\0\0\1g\0\1t\0\0\0\7", b"\0\0" + (9).to_bytes(8, "big") + b"\0\1m" + START_MS.to_bytes(8, "big")
    )
    harness.append(legacy)
    assert harness.fetched() == {("t", 7): 9}
    harness.commit({("t", 7): 10})
    assert harness.fetched() == {("t", 7): 10}
    for number in (9, 10, 17, 25, 300, 0x0101, 0x0001 << 8):
        harness.append(Record(number.to_bytes(2, "big") + b"\0\1x", b"\0\0nothing"))
    assert harness.delete_group() == 0
    assert harness.shard._offsets._by_prefix == {}


def test_tombstones_of_what_is_not_there() -> None:
    harness = Harness()
    for topic, partition in (("t", 0), ("u", 0)):
        harness.append(Record(offset_record("g", topic, partition, CommittedOffset(1, 1, "", 1, -1, ID)).key, None))
    harness.append(Record(b"\0\2\0\1g", None))
    assert harness.shard._groups == {}
    harness.commit({("t", 0): 1})
    harness.append(Record(b"\0\2\0\1g", None))  # the offsets are still there, so is their group
    assert harness.fetched() == {("t", 0): 1}
    assert [each.group_type for each in harness.shard.list_groups(set(), set())] == ["classic"]


def test_values_that_are_none() -> None:
    harness = Harness()
    key = offset_record("g", "t", 0, CommittedOffset(1, 1, "", 1, -1, ID)).key
    for value in (b"\0\5abc", b"\1\1abc"):
        with pytest.raises(MalformedRecord):
            harness.shard.replay(Record(key, value), 0)
