"""`kafpy perf consume`: kafka-consumer-perf-test with its flags and lines."""

import random
import re
import sys
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import click

from kafpy._core.batch import CorruptBatch
from kafpy._core.templates import tally
from kafpy.cli import client_properties as properties
from kafpy.cli.main import fail
from kafpy.cli.options import client_option
from kafpy.client.cluster import Cluster
from kafpy.client.connection import ClientError
from kafpy.client.consumer import opened
from kafpy.client.settings import ClientSettings
from kafpy.client.subscription import Subscription

COLUMNS = "data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec"
TIMES = "rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
DATE = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}


@click.command("consume")
@client_option("--consumer.config", "--consumer-props")
@click.option("--topic", metavar="TOPIC", help="What to read.")
@click.option("--include", metavar="REGEX", help="Every topic whose whole name matches.")
@click.option("--num-records", "--messages", "most", required=True, type=click.IntRange(min=1), help="How many.")
@click.option(
    "--group", default=lambda: f"perf-consumer-{random.randrange(100_000)}", help="A random one if not given."
)
@click.option("--fetch-size", type=click.IntRange(min=1), default=1 << 20, show_default=True, help="Of a partition.")
@click.option("--from-latest", is_flag=True, help="Not from the beginning, where the group has no offset.")
@click.option("--timeout", "timeout_ms", type=int, default=10_000, show_default=True, help="Without a record, in ms.")
@click.option("--show-detailed-stats", "detailed", is_flag=True, help="A line for each interval instead of a total.")
@click.option("--reporting-interval", "interval_ms", type=click.IntRange(min=1), default=5000, show_default=True)
@click.option("--hide-header", is_flag=True, help="No line of column names.")
@click.option("--date-format", default="yyyy-MM-dd HH:mm:ss:SSS", show_default=True, help="yyyy MM dd HH mm ss SSS.")
@click.option("--socket-buffer-size", type=int, hidden=True)
@click.option("--print-metrics", is_flag=True, hidden=True)
def consume(bootstrap: ClientSettings, topic: str | None, include: str | None, **given: Any) -> None:
    """Read records as fast as they come, as a member of a group."""
    if bool(topic) == bool(include):
        raise click.UsageError("choose one of --topic and --include")
    for name in ("socket_buffer_size", "print_metrics"):
        if given[name]:
            click.echo(f"kafpy: --{name.replace('_', '-')} has no effect here", err=True)
    client = dict(bootstrap.properties)
    properties.warn_of_others(client, properties.CONSUMER)
    client["max.partition.fetch.bytes"] = str(given["fetch_size"])
    terms = properties.terms(client, reset="latest" if given["from_latest"] else "earliest")
    if not given["hide_header"]:
        click.echo(f"{'time, threadId' if given['detailed'] else 'start.time, end.time'}, {COLUMNS}, {TIMES}")
    try:
        with Cluster(bootstrap) as cluster:
            wanted = _matching(cluster, include) if include else lambda: [topic or ""]
            with Subscription(cluster, given["group"], wanted, terms) as subscription:
                _run(subscription, given)
    except (ClientError, CorruptBatch) as error:
        fail(str(error))
    except KeyboardInterrupt:
        sys.exit(130)


def _matching(cluster: Cluster, include: str) -> Callable[[], list[str]]:
    pattern = re.compile(include)
    return lambda: [
        each.name for each in cluster.metadata().topics if not each.is_internal and pattern.fullmatch(each.name)
    ]


class Window:
    """What came since the last line of detailed statistics."""

    def __init__(self) -> None:
        self.began = _now_ms()
        self.bytes = self.count = 0
        self.joining_s = 0.0


def _run(subscription: Subscription, given: dict[str, Any]) -> None:
    began = last = _now_ms()
    window = Window()
    count = size = 0
    now = began
    interrupted = False
    try:
        while count < given["most"] and now - last <= given["timeout_ms"]:
            found = subscription.poll(0.1)
            now = _now_ms()
            for fetched in found:
                records, data, _ = tally(fetched.records, opened, start=fetched.start)
                count += records
                size += data
                last = now if records else last
                subscription.read[fetched.topic, fetched.partition] = fetched.end
            if found and now - window.began >= given["interval_ms"]:
                if given["detailed"]:
                    click.echo(_detail(window, now, count, size, subscription.joining_s, given["date_format"]))
                window = Window()
                window.bytes, window.count, window.joining_s = size, count, subscription.joining_s
    except KeyboardInterrupt:
        interrupted = True
    if count < given["most"] and not interrupted:
        click.echo(
            "WARNING: Exiting before consuming the expected number of records: "
            f"timeout ({given['timeout_ms']} ms) exceeded. "
            "You can use the --timeout option to increase the timeout."
        )
    if not given["detailed"]:
        click.echo(_total(began, _now_ms(), count, size, subscription.joining_s, given["date_format"]))
    if interrupted:
        sys.exit(130)


def _total(began: int, ended: int, count: int, size: int, joining_s: float, form: str) -> str:
    joining_ms = round(joining_s * 1000)
    fetching_ms = ended - began - joining_ms
    mb = size / (1 << 20)
    elapsed_s, fetching_s = max(ended - began, 1) / 1000, max(fetching_ms, 1) / 1000
    return (
        f"{_date(began, form)}, {_date(ended, form)}, {mb:.4f}, {mb / elapsed_s:.4f}, {count}, "
        f"{count / elapsed_s:.4f}, {joining_ms}, {fetching_ms}, {mb / fetching_s:.4f}, {count / fetching_s:.4f}"
    )


def _detail(window: Window, now: int, count: int, size: int, joining_s: float, form: str) -> str:
    elapsed_ms = max(now - window.began, 1)
    joining_ms = round((joining_s - window.joining_s) * 1000)
    fetching_ms = elapsed_ms - joining_ms
    mb, records = (size - window.bytes) / (1 << 20), count - window.count
    rates = (1000 * mb / fetching_ms, 1000 * records / fetching_ms) if fetching_ms > 0 else (0.0, 0.0)
    return (
        f"{_date(now, form)}, 0, {size / (1 << 20):.4f}, {1000 * mb / elapsed_ms:.4f}, {count}, "
        f"{1000 * records / elapsed_ms:.4f}, {joining_ms}, {fetching_ms}, {rates[0]:.4f}, {rates[1]:.4f}"
    )


def _date(ms: int, form: str) -> str:
    """The common letters of Java's SimpleDateFormat, in local time as there."""
    moment = datetime.fromtimestamp(ms / 1000)
    text = re.sub("SSS", f"{ms % 1000:03}", form)
    return re.sub("yyyy|MM|dd|HH|mm|ss", lambda match: moment.strftime(DATE[match[0]]), text)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
