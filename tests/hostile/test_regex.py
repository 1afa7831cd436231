"""Row N4: regular expressions in subscriptions."""

import uuid
from typing import Any

import pytest

from kafpy.protocol import api
from tests.broker_process import BrokerProcess
from tests.clients import raw_groups as groups
from tests.clients.raw import RawClient
from tests.hostile.conftest import Hostile

INVALID_REGULAR_EXPRESSION = 128
SLOW = "(a+)+$"
"""Takes a backtracking engine 2^n steps for n letters and something else behind them."""


def subscribe(client: RawClient, regex: str) -> Any:
    body = api.CONSUMER_GROUP_HEARTBEAT.request(
        group_id=f"N4-{uuid.uuid4()}",
        member_id=str(uuid.uuid4()),
        rebalance_timeout_ms=60_000,
        subscribed_topic_regex=regex,
        topic_partitions=[],
    )
    return client.call(api.CONSUMER_GROUP_HEARTBEAT, 1, body)


@pytest.fixture
def client(hostile: Hostile, target: BrokerProcess) -> Any:
    with RawClient(target.host, target.port) as made:
        groups.find_coordinator(made, "N4")
        yield made


@pytest.mark.parametrize(
    "regex",
    ["(", "a{1,99999}", "(?=a)", r"(a)\1", "[[:nothing:]]", "(" * 30_000],
    ids=["N4[unclosed]", "N4[repeat]", "N4[lookahead]", "N4[backreference]", "N4[class]", "N4[deep]"],
)
def test_refused(client: RawClient, regex: str) -> None:
    answer = subscribe(client, regex)
    assert answer.error_code == INVALID_REGULAR_EXPRESSION
    assert len(answer.error_message) < 1000


def test_N4_slow_for_others_is_quick_here(client: RawClient) -> None:
    client.create("a" * 200 + "-")
    answer = subscribe(client, SLOW)
    assert answer.error_code == 0
    assert answer.assignment.topic_partitions == []


def test_N4_internal_topics_are_nobodys(client: RawClient) -> None:
    ids = {topic.name: topic.topic_id for topic in client.metadata("quiet", "__consumer_offsets").topics}
    assigned = {each.topic_id for each in subscribe(client, ".*").assignment.topic_partitions}
    assert ids["quiet"] in assigned
    assert ids["__consumer_offsets"] not in assigned
