"""OffsetFetch where the group cannot be asked: its shard never gets to load here."""

import pytest

from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode
from tests.handlers.real import RealBroker

LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


@pytest.mark.parametrize("version", api.OFFSET_FETCH.versions)
def test_while_groups_are_loaded(real: RealBroker, version: int) -> None:
    """Nobody may take it for offsets that were never committed, wherever a client looks for the error."""
    real.ask(api.FIND_COORDINATOR, coordinator_keys=["g"])
    made = real.create("t", 2)
    request = api.OFFSET_FETCH.request
    topics = [request.Topic(name="t", topic_id=made.topic_id, partition_indexes=[0, 1])]
    groups = [request.Group(group_id="g", topics=topics)]
    answer = real.ask(api.OFFSET_FETCH, version, group_id="g", topics=topics, groups=groups)
    if version >= 8:
        assert [each.error_code for each in answer.groups] == [LOADING]
        return
    assert version < 2 or answer.error_code == LOADING
    assert [(each.partition_index, each.committed_offset, each.error_code) for each in answer.topics[0].partitions] == [
        (0, -1, LOADING),
        (1, -1, LOADING),
    ]


@pytest.mark.parametrize("version", range(2, 8))
def test_all_topics_while_groups_are_loaded(real: RealBroker, version: int) -> None:
    real.ask(api.FIND_COORDINATOR, coordinator_keys=["g"])
    answer = real.ask(api.OFFSET_FETCH, version, group_id="g", topics=None)
    assert (answer.error_code, answer.topics) == (LOADING, [])
