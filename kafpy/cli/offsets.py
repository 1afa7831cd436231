"""`kafpy offsets`: kafka-get-offsets with its flags and lines."""

import re
import sys
import time
from collections.abc import Callable, Iterable
from typing import NoReturn

import click

from kafpy.cli.main import fail
from kafpy.cli.options import bootstrap_option, format_option
from kafpy.cli.output import emit
from kafpy.cli.time_range import TimeError, parse_time
from kafpy.client.cluster import Cluster, TopicPartition
from kafpy.client.connection import ClientError, error_name
from kafpy.client.settings import ClientSettings
from kafpy.protocol import api

TIMES = {
    "latest": -1,
    "earliest": -2,
    "max-timestamp": -3,
    "earliest-local": -4,
    "latest-tiered": -5,
    "earliest-pending-upload": -6,
}
SINCE = {-3: 7, -4: 8, -5: 9, -6: 11}
"""The version of ListOffsets that knows each."""
PATTERN = re.compile(r"([^:,]*)(?::(?:([0-9]*)|(?:([0-9]*)-([0-9]*))))?\Z")
Wanted = Callable[[TopicPartition], bool]


@click.command("offsets")
@bootstrap_option
@click.argument("topics", nargs=-1, metavar="[TOPIC]…")
@click.option("--topic", "-t", metavar="REGEX", help="Topics whose whole name matches; all if not given.")
@click.option("--partitions", "-p", metavar="N,…", help="Only these partitions.")
@click.option("--topic-partitions", metavar="REGEX:N,…", help="As topic1:1,topic2:0-3,topic3,topic4:5-,topic5:-3.")
@click.option(
    "--time", "when", default="latest", show_default=True, help="latest, earliest, …, -1 to -6, ms, or @TIME."
)
@click.option("--exclude-internal-topics", is_flag=True, help="Not the brokers' own.")
@format_option
def command(
    bootstrap: ClientSettings,
    topics: tuple[str, ...],
    topic: str | None,
    partitions: str | None,
    topic_partitions: str | None,
    when: str,
    exclude_internal_topics: bool,
    format_: str,
) -> None:
    """Print the offsets of partitions: TOPIC:PARTITION:OFFSET.

    \b
    --time latest (-1)      the next record's        earliest (-2)   the first record's
    --time max-timestamp (-3)                        the record's with the latest time
    --time earliest-local (-4)  latest-tiered (-5)  earliest-pending-upload (-6)   of tiered logs
    --time 1700000000000    the first record's that is not older; nothing where there is none
    --time @-1h             the same with times as kafpy consume takes them
    """
    if topic_partitions and (topic or partitions or topics):
        _refuse("--topic-partitions cannot be used with --topic or --partitions")
    at = _time(when)
    wanted = (
        _by_patterns(topic_partitions) if topic_partitions else _by_topic([*topics, *filter(None, [topic])], partitions)
    )
    try:
        with Cluster(bootstrap) as cluster:
            found = _partitions(cluster, wanted, exclude_internal_topics)
            if not found:
                _refuse("Could not match any topic-partitions with the specified filters")
            least = SINCE.get(at, 1)
            if cluster.first.version(api.LIST_OFFSETS) < least:
                raise ClientError(f"{bootstrap} does not know --time {when}: that takes ListOffsets version {least}")
            listed = cluster.list_offsets(dict.fromkeys(found, at))
    except ClientError as error:
        fail(str(error))
    rows: list[dict[str, object]] = []
    for name, index in sorted(found, key=lambda each: f"{each[0]}-{each[1]}"):
        answer = listed[name, index]
        if answer.error_code:
            reason = error_name(answer.error_code)
            click.echo(f"Skip getting offsets for topic-partition {name}-{index} due to error: {reason}", err=True)
        elif answer.offset != -1:
            row = {"topic": name, "partition": index, "offset": answer.offset}
            rows.append(row | ({"timestamp": answer.timestamp} if answer.timestamp >= 0 else {}))
            if format_ == "text":
                click.echo(f"{name}:{index}:{answer.offset}")
    if format_ != "text":
        emit(rows, format_)


def _time(word: str) -> int:
    if word in TIMES:
        return TIMES[word]
    if word.startswith("@"):
        try:
            return parse_time(word[1:], time.time_ns() // 1_000_000)
        except TimeError as error:
            _refuse(str(error))
    try:
        return int(word)
    except ValueError:
        _refuse(
            f"Malformed time argument {word}. Please use -1 or latest / -2 or earliest / -3 or max-timestamp / "
            "-4 or earliest-local / -5 or latest-tiered / -6 or earliest-pending-upload, "
            "or a specified long format timestamp"
        )


def _partitions(cluster: Cluster, wanted: Wanted, no_internal: bool) -> list[TopicPartition]:
    return [
        (topic.name, each.partition_index)
        for topic in cluster.metadata().topics
        if not topic.error_code and not (no_internal and topic.is_internal)
        for each in topic.partitions
        if wanted((topic.name, each.partition_index))
    ]


def _by_topic(topics: Iterable[str], partitions: str | None) -> Wanted:
    patterns = [_compiled(each) for each in topics]
    indexes: set[int] = set()
    for each in (partitions or "").split(","):
        if each and not each.strip().isdecimal():
            _refuse(f"--partitions expects a list of numeric partition ids, but received: {partitions}")
        if each:
            indexes.add(int(each))
    return lambda each: (
        (not patterns or any(pattern.fullmatch(each[0]) for pattern in patterns))
        and (not indexes or each[1] in indexes)
    )


def _by_patterns(text: str) -> Wanted:
    rules = []
    for word in text.split(","):
        match = PATTERN.match(word)
        if match is None:
            _refuse(f"Invalid rule specification: {word}")
        name, one, low, high = match.groups()
        bounds = (int(one), int(one) + 1) if one else (int(low or 0), int(high) if high else 1 << 31)
        rules.append((_compiled(name or ".*"), bounds))
    return lambda each: any(
        pattern.fullmatch(each[0]) is not None and low <= each[1] < high for pattern, (low, high) in rules
    )


def _compiled(pattern: str) -> re.Pattern[str]:
    """Kafka's tool takes commas between topics for `or`."""
    try:
        return re.compile(pattern.strip("\"'").replace(",", "|"))
    except re.error as error:
        _refuse(f"{pattern} is not a regular expression: {error}")


def _refuse(message: str) -> NoReturn:
    click.echo(f"Error occurred: {message}", err=True)
    sys.exit(1)
