"""Retention by age and by size in a whole broker, whose clock the test moves."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from kafpy._core import batch
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode
from tests.broker.conftest import Client, Running
from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient
from tests.core.served import until

DAY_MS = 86_400_000
SMALL = {"log_segment_bytes": 1500, "log_index_interval_bytes": 200}


def put(client: Client, topic: str, count: int, age_ms: int = 0) -> None:
    """A record of 100 bytes each, in a batch of its own."""
    now = time.time_ns() // 1_000_000 - age_ms
    for _ in range(count):
        assert client.produce(topic, batch.encode([b"x" * 100], timestamps=now))[0].error_code == 0


def log_of(broker: Running, topic: str) -> Any:
    log = broker.broker.partitions.log(topic, 0)
    assert log is not None
    return log


def retain(broker: Running) -> None:
    """Now, and not when the broker next would."""
    state = broker.broker.state
    assert state is not None
    trio.from_thread.run(state.delete_old_segments, trio_token=broker.broker.clock.token)


def settle(broker: Running) -> None:
    state = broker.broker.state
    assert state is not None
    trio.from_thread.run(state.settle, trio_token=broker.broker.clock.token)


def alter(client: Client, kind: int, name: str, **configs: str) -> None:
    request = api.INCREMENTAL_ALTER_CONFIGS.request
    listed = [request.Config(name=key.replace("_", "."), value=value) for key, value in configs.items()]
    resource = request.Resource(resource_type=kind, resource_name=name, configs=listed)
    assert client.call(api.INCREMENTAL_ALTER_CONFIGS, request(resources=[resource])).responses[0].error_code == 0


def test_eight_days_later_all_is_gone(start: Callable[..., Running], data: Path) -> None:
    """By the broker's own timers: the look at segments, and a minute later the removal of their files."""
    broker = start(**SMALL)
    with broker.connect() as client:
        client.create("t")
        put(client, "t", 30)
        log = log_of(broker, "t")
        broker.broker.clock.advance(60_000)
        broker.broker.clock.advance(8 * DAY_MS)
        until(lambda: log.log_start_offset == 30)
        until(lambda: list((data / "t-0").glob("*.log")) == [data / "t-0" / f"{30:020}.log"])
        assert list((data / "t-0").glob("*.log.deleted"))
        until(lambda: (data / "log-start-offset-checkpoint").read_text() == "0\n1\nt 0 30\n")
        settle(broker)  # the removal has been put off by now
        broker.broker.clock.advance(60_000)
        until(lambda: not list((data / "t-0").glob("*.deleted")))
        put(client, "t", 1)
        assert log.log_end_offset == 31
    with RawClient("127.0.0.1", broker.broker.port) as client:
        assert client.fetch("t", 5).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_old_records_go_and_young_ones_stay(start: Callable[..., Running]) -> None:
    broker = start(**SMALL)
    with broker.connect() as client:
        client.create("t")
        put(client, "t", 40, age_ms=8 * DAY_MS)
        put(client, "t", 20)
        log = log_of(broker, "t")
        retain(broker)
        assert 30 <= log.log_start_offset <= 40
        kept = log.log_start_offset
        retain(broker)
        assert log.log_start_offset == kept


def test_by_size(start: Callable[..., Running]) -> None:
    broker = start(**SMALL)
    with broker.connect() as client:
        client.create("t", retention_bytes="4000", retention_ms="-1")
        put(client, "t", 60, age_ms=100 * DAY_MS)
        log = log_of(broker, "t")
        retain(broker)
        assert 4000 <= log.size < 5500
        alter(client, 2, "t", retention_bytes="0")
        retain(broker)
        assert (log.size, log.log_start_offset, log.log_end_offset) == (0, 60, 60)


def test_a_segment_that_somebody_removed(
    start: Callable[..., Running], data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its records have no time, so its file's is asked for: that log is left alone, the others are looked at."""
    broker = start(**SMALL)
    with broker.connect() as client:
        for name in ("harmed", "old"):
            client.create(name)
        for _ in range(30):
            assert client.produce("harmed", batch.encode([b"x" * 100], timestamps=-1))[0].error_code == 0
        put(client, "old", 40, age_ms=8 * DAY_MS)
        (data / "harmed-0" / f"{0:020}.log").unlink()
        retain(broker)
        assert log_of(broker, "harmed").log_start_offset == 0
        assert log_of(broker, "old").log_start_offset >= 30
        put(client, "harmed", 1)
    assert "harmed-0: nobody can tell how old its segments are" in caplog.text


def test_changed_settings_count_at_once(start: Callable[..., Running]) -> None:
    broker = start(**SMALL)
    with broker.connect() as client:
        client.create("t")
        put(client, "t", 30, age_ms=DAY_MS)
        log = log_of(broker, "t")
        retain(broker)
        assert log.log_start_offset == 0
        alter(client, 4, "", log_retention_ms=str(DAY_MS // 2))
        alter(client, 2, "t", retention_ms="-1")
        retain(broker)
        assert log.log_start_offset == 0
        alter(client, 2, "t", retention_ms=str(2 * DAY_MS))
        retain(broker)
        assert log.log_start_offset == 0
        alter(client, 2, "t", retention_ms=str(DAY_MS // 2))
        retain(broker)
        assert log.log_start_offset == 30


def test_compacted_topics_are_left_alone(start: Callable[..., Running]) -> None:
    broker = start(**SMALL, group_initial_rebalance_delay_ms=0)
    with broker.connect() as client:
        for name, policy in (("kept", "compact"), ("both", "compact,delete")):
            client.create(name, cleanup_policy=policy)
            data = batch.encode([b"x" * 1000], keys=[b"k"], timestamps=1_600_000_000_000)
            for _ in range(3):
                assert client.produce(name, data)[0].error_code == 0
        retain(broker)
        assert log_of(broker, "kept").log_start_offset == 0
        assert log_of(broker, "both").log_start_offset == 3


def test_deleted_segments_stay_deleted_over_kill_9(tmp_path: Path) -> None:
    broker = BrokerProcess(
        tmp_path / "data",
        log_initial_task_delay_ms=0,
        log_retention_check_interval_ms=10,
        log_retention_bytes=2_200_000,
        log_segment_bytes=1 << 20,
    )
    folder = tmp_path / "data" / "t-0"
    with Client(broker.host, broker.port) as client:
        client.create("t")
        for number in range(40):
            data = batch.encode([number.to_bytes(4, "big") * 25_000], timestamps=time.time_ns() // 1_000_000)
            assert client.produce("t", data)[0].error_code == 0
    until(lambda: len(list(folder.glob("*.log"))) <= 3)
    broker.restart(crash=True)
    until(lambda: not list(folder.glob("*.deleted")))
    with RawClient(broker.host, broker.port) as client:
        first = client.offset("t", -2).offset
        assert first == min(int(path.stem) for path in folder.glob("*.log")) >= 10
        assert client.offset("t", -1).offset == 40
    broker.stop()
