"""One row against one target, once: what it did and what that cost."""

import os
import signal
import stat
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bench.cost import tools
from bench.cost.servers import Server
from bench.suite import drivers
from bench.suite.accounting import Account, Spent, resident_mb
from bench.suite.drivers import Made, Order
from bench.suite.targets import Running, Target
from bench.suite.workload import Load, Row, Topic
from kafpy.client.connection import ClientError, Connection, error_name
from kafpy.protocol import api

Outcome = dict[str, Any]

SETTLE_S = 3.0
"""After which an idle broker's memory is looked at."""
PATIENCE_S = 120.0
ASK_S = 0.005
GB = 1e9
FILLING = Load("produce", tools.SHAPES["64x1K"], in_flight=5)


class RowFailed(Exception):
    """Why there is no figure."""


@dataclass(frozen=True)
class Terms:
    """How much each run may take."""

    driver: str
    seconds: float
    most_bytes: int


def run_load(running: Running, row: Row, rate: float, terms: Terms) -> Outcome:
    """Of a row that makes a load; its topic is there, and what it wants stored."""
    assert row.load is not None
    server = replace(running.server, topic=topic_name(row))
    if row.cold:
        drop_from_page_cache(running)
    stored_before = stored_bytes(running.data)
    beside = replace(terms, seconds=terms.seconds + 2)
    try:
        with ExitStack() as stack:
            for load in row.beside:
                stack.enter_context(drivers.start("native", _order(server, row, load, load.rate.per_s, beside)))
            with Account(server.pids) as account:
                made = drivers.make(terms.driver, _order(server, row, row.load, rate, terms))
    except drivers.DriverError as error:
        raise RowFailed(str(error)) from None
    outcome = figures(made, account.spent, alone=not row.beside)
    if running.data is not None and row.load.kind == "produce":
        outcome["disk_bytes"] = stored_bytes(running.data) - stored_before
    return outcome


def _order(server: Server, row: Row, load: Load, rate: float, terms: Terms) -> Order:
    return Order(server, load, row.topic.partitions, rate, terms.seconds, terms.most_bytes)


def figures(made: Made, spent: Spent, *, alone: bool) -> Outcome:
    """`alone`: nothing else was asked of the broker meanwhile, so that its cost can be laid on these requests."""
    found: Outcome = asdict(made)
    found["mb_s"] = made.bytes / made.seconds / 1e6 if made.seconds else 0.0
    found["records_s"] = made.records / made.seconds if made.seconds else 0.0
    found["requests_s"] = made.requests / made.seconds if made.seconds else 0.0
    found["cpu_s"] = spent.cpu_s
    found["cpu_share"] = spent.cpu_s / made.seconds if made.seconds else 0.0
    found["wait_share"] = spent.wait_s / (spent.wait_s + spent.cpu_s) if spent.cpu_s else 0.0
    found["peak_mb"] = spent.peak_mb
    if alone:
        if made.requests:
            found["cpu_us"] = spent.cpu_s / made.requests * 1e6
            found["switches"] = spent.switches / made.requests
        if made.bytes:
            found["cpu_s_gb"] = spent.cpu_s / made.bytes * GB
        if made.records:
            found["cpu_s_million"] = spent.cpu_s / made.records * 1e6
    return found


def prepare(running: Running, row: Row) -> None:
    """Makes the row's topic, once, and stores what it wants stored; has its members join their groups."""
    if running.bare and (row.topic.configs or row.kind == "members"):
        raise RowFailed("left out, the loop has neither settings nor groups")
    server = replace(running.server, topic=topic_name(row))
    try:
        if not running.bare:
            create(server, server.topic, row.topic)
        if row.stored:
            load = replace(FILLING, connections=row.topic.partitions)
            drivers.make("native", Order(server, load, row.topic.partitions, 0, 600, row.stored))
        if row.load is not None and row.kind == "members":
            drivers.form_groups(server, row.load)
    except (ClientError, RuntimeError, drivers.DriverError) as error:
        raise RowFailed(str(error)) from None


def clear(running: Running, rows: Sequence[Row]) -> None:
    """Removes the topics of these rows."""
    if running.bare:
        return
    names = [topic_name(row) for row in rows]
    request = api.DELETE_TOPICS.request
    with suppress(ClientError), running.server.connect() as connection:
        version = min(5, connection.version(api.DELETE_TOPICS))
        connection.call(api.DELETE_TOPICS, request(topic_names=names, timeout_ms=60_000), version=version)


def topic_name(row: Row) -> str:
    return "bench-" + "".join(each if each.isalnum() else "-" for each in row.name.lower())[:100]


def create(server: Server, name: str, topic: Topic) -> None:
    request = api.CREATE_TOPICS.request
    wished = {"file.delete.delay.ms": "1000", **topic.configs}
    configs = [request.Config(name=key, value=value) for key, value in wished.items()]
    wanted = request.Topic(name=name, num_partitions=topic.partitions, replication_factor=1, configs=configs)
    with server.connect() as connection:
        answer = connection.call(api.CREATE_TOPICS, request(topics=[wanted], timeout_ms=300_000)).topics[0]
        if answer.error_code and answer.error_code != TOPIC_ALREADY_EXISTS:
            raise RuntimeError(f"{name}: {answer.error_message or error_name(answer.error_code)}")
        _until_led(connection, name, topic.partitions)


TOPIC_ALREADY_EXISTS = 36


def _until_led(connection: Connection, name: str, partitions: int) -> None:
    """Metadata names leaders before they lead: ListOffsets tells."""
    request = api.LIST_OFFSETS.request
    asked = [request.Partition(partition_index=index, timestamp=-1) for index in range(partitions)]
    body = request(replica_id=-1, topics=[request.Topic(name=name, partitions=asked)])
    deadline = time.monotonic() + PATIENCE_S
    while True:
        answer = connection.call(api.LIST_OFFSETS, body)
        if all(each.error_code == 0 for topic in answer.topics for each in topic.partitions):
            return
        if time.monotonic() > deadline:
            raise RuntimeError(f"{name} has no leaders after {PATIENCE_S:.0f} s")
        time.sleep(0.1)


# ---- rows that start brokers of their own


def idle(target: Target, data: Path, row: Row) -> Outcome:
    """Memory of a broker that has just these partitions and nothing to do."""
    running = target.start(data)
    try:
        create(running.server, "idle", row.topic)
        time.sleep(SETTLE_S)
        with Account(running.server.pids) as account:
            time.sleep(SETTLE_S)
        return {
            "idle_mb": resident_mb(running.server.pids),
            "peak_mb": account.spent.peak_mb,
            "cpu_share": account.spent.cpu_s / SETTLE_S,
        }
    except RuntimeError as error:
        raise RowFailed(str(error)) from None
    finally:
        running.stop()


def start(target: Target, data: Path, row: Row) -> Outcome:
    """From the start of the process to the first acknowledged record, in a topic that is there already."""
    running = target.start(data)
    create(running.server, "first", row.topic)
    running.stop()
    return _first_ack(target, data, "first")


def restart(target: Target, data: Path, row: Row) -> Outcome:
    """The same after kill -9 with so much stored."""
    running = target.start(data)
    try:
        prepare(running, row)
    finally:
        running.stop(signal.SIGKILL)
    return _first_ack(target, data, topic_name(row))


def _first_ack(target: Target, data: Path, topic: str) -> Outcome:
    begun = time.monotonic()
    running = target.start(data)
    try:
        deadline = begun + PATIENCE_S
        while not _acknowledged(running.server, topic):
            if time.monotonic() > deadline:
                raise RowFailed(f"nothing was acknowledged after {PATIENCE_S:.0f} s: {running.complaint()}")
            time.sleep(ASK_S)
        seconds = time.monotonic() - begun
        return {"first_ack_s": seconds, "peak_mb": resident_mb(running.server.pids)}
    finally:
        running.stop()


def _acknowledged(server: Server, topic: str) -> bool:
    request = api.PRODUCE.request
    data = request.Topic(
        name=topic, partition_data=[request.Partition(index=0, records=tools.encoded(tools.SHAPES["1x1K"]))]
    )
    try:
        with server.connect() as connection:
            body = request(acks=-1, timeout_ms=10_000, topic_data=[data])
            answer = connection.call(api.PRODUCE, body, version=min(9, connection.version(api.PRODUCE)))
    except ClientError:
        return False
    return bool(answer.responses[0].partition_responses[0].error_code == 0)


# ---- files


def stored_bytes(data: Path | None) -> int:
    """What is in the target's files: neither space allocated ahead nor holes."""
    if data is None:
        return 0
    total = 0
    for path in data.rglob("*"):
        try:
            status = path.stat()
        except OSError:  # deleted meanwhile
            continue
        if stat.S_ISREG(status.st_mode):
            total += min(status.st_size, status.st_blocks * 512)
    return total


def drop_from_page_cache(running: Running) -> None:
    """Every segment, so that what is read comes from the disk."""
    if running.data is None:
        raise RowFailed("a cold reader needs a broker that the tool started: it drops files from the page cache")
    os.sync()
    for path in running.data.rglob("*.log"):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
