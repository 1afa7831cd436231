"""`kafpy topic trim`: DeleteRecords, with the output of kafka-delete-records."""

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from kafpy.cli.options import bootstrap_option
from kafpy.cli.session import Refusal, session
from kafpy.cli.time_range import TimeError, parse_time
from kafpy.cli.topic_names import dry_run_option, named, topic_options
from kafpy.client.cluster import EARLIEST, LATEST, Cluster, TopicPartition
from kafpy.client.connection import error_name
from kafpy.client.settings import ClientSettings
from kafpy.client.topics import Topics
from kafpy.protocol.errors import ErrorCode

HIGH_WATERMARK = -1


@click.command()
@bootstrap_option
@topic_options
@click.option("--offset", "-o", "to", metavar="OFFSET|@TIME|end", help="Records below it go; end: all there are.")
@click.option("--partitions", "-p", metavar="0,2,…", help="Only these.")
@click.option(
    "--offset-json-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help='As for kafka-delete-records: {"partitions": [{"topic": "t", "partition": 0, "offset": 9}]}',
)
@dry_run_option
def trim(
    bootstrap: ClientSettings,
    names: tuple[str, ...],
    flags: tuple[str, ...],
    to: str | None,
    partitions: str | None,
    offset_json_file: Path | None,
    dry_run: bool,
) -> None:
    """Delete the records of topics below an offset or a time.

    \b
    kafpy topic trim orders -o @-24h        what is older than a day
    kafpy topic trim orders -p 0 -o 1000    partition 0 below offset 1000
    """
    topics = named(names, flags)
    if (offset_json_file is None) == (to is None) or bool(topics) != (to is not None):
        raise click.UsageError("say TOPIC… and --offset, or --offset-json-file")
    with session(bootstrap) as cluster:
        if to is None:
            assert offset_json_file is not None
            offsets = read_offsets(offset_json_file)
        else:
            offsets = _offsets(cluster, topics, _indexes(partitions), to)
        if dry_run:
            _show(cluster, offsets)
            return
        click.echo("Executing records delete operation")
        done = Topics(cluster).delete_records(offsets)
    click.echo("Records delete operation completed:")
    for (topic, index), (low_watermark, code) in done.items():
        said = f"error: {_reason(code)}" if code else f"low_watermark: {low_watermark}"
        click.echo(f"partition: {topic}-{index}\t{said}")
    if to is not None and any(code for _, code in done.values()):
        sys.exit(1)  # kafka-delete-records has no such status


def read_offsets(path: Path) -> dict[TopicPartition, int]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        raise Refusal("The input string is not a valid JSON") from None
    version = found.get("version", 1) if isinstance(found, dict) else 1
    if version != 1:
        raise Refusal(f"Not supported version field value {version}")
    if not isinstance(found, dict) or not isinstance(found.get("partitions"), list):
        raise Refusal("Missing partitions field")
    offsets: dict[TopicPartition, int] = {}
    twice = []
    for entry in found["partitions"]:
        partition, offset = _entry(entry)
        if partition in offsets:
            twice.append(f"{partition[0]}-{partition[1]}")
        offsets[partition] = offset
    if twice:
        raise Refusal(f"Offset json file contains duplicate topic partitions: {','.join(twice)}")
    return offsets


def _entry(entry: Any) -> tuple[TopicPartition, int]:
    match entry:
        case {"topic": str(topic), "partition": int(index), "offset": int(offset)}:
            return (topic, index), offset
    raise Refusal(f'{json.dumps(entry)}: expected {{"topic": "t", "partition": 0, "offset": 9}}')


def _indexes(text: str | None) -> set[int] | None:
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() for word in words):
        raise click.UsageError(f"--partitions {text}: numbers with commas between them")
    return set(map(int, words))


def _offsets(cluster: Cluster, topics: list[str], indexes: set[int] | None, to: str) -> dict[TopicPartition, int]:
    chosen = [each for each in cluster.partitions(topics) if indexes is None or each[1] in indexes]
    if not chosen:
        raise Refusal(f"no such partition of {', '.join(topics)}")
    if to == "end":
        return dict.fromkeys(chosen, HIGH_WATERMARK)
    if to.isdecimal():
        return dict.fromkeys(chosen, int(to))
    try:
        at = parse_time(to.removeprefix("@"), time.time_ns() // 1_000_000)
    except TimeError as error:
        raise click.UsageError(f"--offset: {error}, nor an offset, nor end") from None
    found = cluster.offsets(dict.fromkeys(chosen, at))
    return {each: found.get(each, HIGH_WATERMARK) for each in chosen}


def _show(cluster: Cluster, offsets: Mapping[TopicPartition, int]) -> None:
    first = cluster.offsets(dict.fromkeys(offsets, EARLIEST))
    end = cluster.offsets(dict.fromkeys(offsets, LATEST))
    for (topic, index), offset in offsets.items():
        low, high = first.get((topic, index), 0), end.get((topic, index), 0)
        to = high if offset == HIGH_WATERMARK else min(offset, high)
        click.echo(f"partition: {topic}-{index}\twould go: {max(0, to - low)} records, offsets {low} to {max(low, to)}")


def _reason(code: int) -> str:
    try:
        return ErrorCode(code).message
    except ValueError:
        return error_name(code)
