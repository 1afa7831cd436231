"""`kafpy topic analyze`: how much was written, when and in what batches, from batch headers alone."""

import time
from collections.abc import Iterable, Mapping
from typing import Any

import click

from kafpy.cli.group_tables import table
from kafpy.cli.options import bootstrap_option, format_option
from kafpy.cli.session import session
from kafpy.cli.time_range import TimeError, parse_range
from kafpy.cli.topic_names import expected, long_topic_options, matching, required
from kafpy.client import volume
from kafpy.client.cluster import TopicPartition
from kafpy.client.settings import ClientSettings
from kafpy.client.topics import Topics
from kafpy.client.volume import Volume

HEADER = [
    "TOPIC", "PARTITION", "RECORDS", "BYTES", "BATCHES", "RECORDS/S", "BYTES/S",
    "BYTES/RECORD", "RECORDS/BATCH", "BYTES/BATCH", "LARGEST-BATCH", "COMPRESSED",
]  # fmt: skip


@click.command()
@bootstrap_option
@long_topic_options
@click.option(
    "--time-range", "-t", "range_", default="start:end", show_default=True, metavar="FROM:TO",
    help="-24h:end, -48h:-24h, 2026-11-01:2026-11-02, milliseconds …",
)  # fmt: skip
@format_option
def analyze(
    bootstrap: ClientSettings, names: tuple[str, ...], flags: tuple[str, ...], range_: str, format_: str
) -> None:
    """Records, bytes, batches and rates per partition over a time range.

    Reads what lies in the range over the network, and of that the batches' headers only: nothing is decompressed.
    A rate is over the time from the first record to the last.
    """
    patterns = required(names, flags)
    try:
        now_ms = time.time_ns() // 1_000_000
        from_ms, end_ms = parse_range(range_.removeprefix("@"), now_ms)
    except TimeError as error:
        raise click.UsageError(f"--time-range: {error}") from None
    with session(bootstrap) as cluster:
        topics = matching(Topics(cluster).all(), patterns)
        expected(topics, patterns, if_exists=False)
        partitions = [(topic.name, each.partition) for topic in topics for each in topic.partitions]
        measured = volume.measure(cluster, partitions, from_ms, now_ms if end_ms is None else end_ms)
    if format_ != "text":
        from kafpy.cli.output import emit

        emit([_data(each, found) for each, found in measured.items()], format_)
        return
    rows = [[topic, index, *_cells(found)] for (topic, index), found in measured.items()]
    rows.append(["TOTAL", None, *_cells(_sum(measured.values()))])
    click.echo(table(HEADER, [len(title) for title in HEADER[:-1]] + [0], rows))


def _sum(volumes: Iterable[Volume]) -> Volume:
    found = [each for each in volumes if each.records]
    if not found:
        return Volume()
    return Volume(
        records=sum(each.records for each in found),
        size=sum(each.size for each in found),
        batches=sum(each.batches for each in found),
        largest_batch=max(each.largest_batch for each in found),
        compressed=sum(each.compressed for each in found),
        first_ms=min(each.first_ms for each in found),
        last_ms=max(each.last_ms for each in found),
    )


def _cells(found: Volume) -> list[Any]:
    if not found.records:
        return [0, 0, 0, None, None, None, None, None, None, None]
    return [
        found.records,
        found.size,
        found.batches,
        f"{found.records / found.seconds:.1f}",
        f"{found.size / found.seconds:.1f}",
        f"{found.size / found.records:.1f}",
        f"{found.records / found.batches:.1f}",
        f"{found.size / found.batches:.1f}",
        found.largest_batch,
        f"{100 * found.compressed / found.batches:.0f}%",
    ]


def _data(partition: TopicPartition, found: Volume) -> Mapping[str, Any]:
    rates: dict[str, float | None] = {"records_per_second": None, "bytes_per_second": None}
    if found.records:
        rates = {"records_per_second": found.records / found.seconds, "bytes_per_second": found.size / found.seconds}
    return {
        "topic": partition[0],
        "partition": partition[1],
        "records": found.records,
        "bytes": found.size,
        "batches": found.batches,
        "largest_batch": found.largest_batch,
        "compressed_batches": found.compressed,
        "first_timestamp": found.first_ms if found.records else None,
        "last_timestamp": found.last_ms if found.records else None,
        **rates,
    }
