"""`kafpy produce`: lines into a topic, with the flags of kafka-console-producer and of rpk."""

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import click

from kafpy._core.lines import LineError
from kafpy.cli import client_properties as properties
from kafpy.cli import input_format
from kafpy.cli.json_input import JsonLines
from kafpy.cli.main import fail
from kafpy.cli.options import client_option, read_pairs
from kafpy.cli.output_format import FormatError
from kafpy.cli.piping import Feed, TooLong, pipe
from kafpy.cli.progress import Progress
from kafpy.client.cluster import Cluster
from kafpy.client.connection import ClientError
from kafpy.client.producer import Policy, Producer
from kafpy.client.settings import ClientSettings
from kafpy.storage.compression import CODECS

LINE_READER = "org.apache.kafka.tools.LineMessageReader"
BATCH_BYTES = 1 << 18
NAMES = {
    "compression_codec": "compression.type",
    "compression": "compression.type",
    "request_required_acks": "acks",
    "acks": "acks",
    "batch_size": "batch.size",
    "message_send_max_retries": "retries",
    "retry_backoff_ms": "retry.backoff.ms",
    "request_timeout_ms": "request.timeout.ms",
    "max_block_ms": "max.block.ms",
    "max_memory_bytes": "buffer.memory",
}
"""Options that are properties too; of two for the same, the later one wins."""
READER_KEYS = {
    "parse.key",
    "parse.headers",
    "key.separator",
    "headers.delimiter",
    "headers.separator",
    "headers.key.separator",
    "null.marker",
    "ignore.error",
}
F = TypeVar("F", bound=Callable[..., Any])


def console_options(function: F) -> F:
    """kafka-console-producer's, where they are not rpk's as well; those that it calls deprecated too."""
    path = click.Path(dir_okay=False, path_type=Path)
    for option in (
        click.option("--compression-codec", is_flag=False, flag_value="gzip", metavar="[CODEC]", help="As -z; gzip."),
        click.option("--sync", is_flag=True, help="One request at a time."),
        click.option("--batch-size", type=int, metavar="BYTES", help="Longest batch.  [default: 262144]"),
        click.option("--message-send-max-retries", type=int, metavar="N", help="Attempts after the first."),
        click.option(
            "--retry-backoff-ms", type=int, metavar="MS", help="Pause before another attempt.  [default: 100]"
        ),
        click.option("--request-required-acks", metavar="0|1|all", help="As --acks."),
        click.option("--request-timeout-ms", type=int, metavar="MS", help="For a broker's answer.  [default: 30000]"),
        click.option("--max-block-ms", type=int, metavar="MS", help="To reach a broker and find the topic."),
        click.option(
            "--max-memory-bytes", type=int, metavar="BYTES", help="Held for the brokers.  [default: 33554432]"
        ),
        click.option("--line-reader", metavar="CLASS", help=f"Only {LINE_READER}."),
        click.option(
            "--reader-property", "--property", multiple=True, metavar="KEY=VALUE", help="How lines are laid out."
        ),
        click.option("--reader-config", type=path, metavar="FILE", help="The same from a file."),
        click.option("--timeout", "linger_ms", type=int, metavar="MS", hidden=True),
        click.option("--max-partition-memory-bytes", type=int, metavar="BYTES", hidden=True),
        click.option("--metadata-expiry-ms", type=int, metavar="MS", hidden=True),
        click.option("--socket-buffer-size", type=int, metavar="BYTES", hidden=True),
    ):
        function = option(function)
    return function


@click.command("produce")
@click.argument("topic", required=False)
@client_option("--producer.config", "--producer-property")
@click.option("--topic", "-t", "topic_flag", metavar="TOPIC", help="As an argument too.")
@click.option("--key", "-k", metavar="TEXT", help="Of every record.")
@click.option("--header", "-H", "headers", multiple=True, metavar="KEY:VALUE", help="Of every record. Repeatable.")
@click.option("--partition", "-p", type=click.IntRange(min=0), help="Where every record goes, whatever its key.")
@click.option("--compression", "-z", type=click.Choice([*CODECS]), help="Of batches.  [default: none]")
@click.option("--format", "-f", "form", metavar="text|json|FORMAT", help=r"As '%k %v\n'; json: as consume prints it.")
@click.option("--tombstone", "-Z", is_flag=True, help="An empty value is null.")
@click.option("--acks", metavar="0|1|all", help="Who has to have a batch before it counts.  [default: all]")
@click.option("--any-partition", is_flag=True, help="With json: place records by key, not where they came from.")
@console_options
def command(topic: str | None, bootstrap: ClientSettings, topic_flag: str | None, **given: Any) -> None:
    """Send lines of standard input to a topic.

    \b
    seq 1000000 | kafpy produce numbers
    kafpy produce orders -f '%k %v\\n' -H source:shell -z zstd < orders.txt
    kafpy consume orders --format json -e | kafpy produce copy --format json
    """
    name = topic or topic_flag
    if topic and topic_flag and topic != topic_flag:
        raise click.UsageError(f"two topics: {topic} and {topic_flag}")
    if name is None and given["form"] != "json":
        raise click.UsageError("name the topic: kafpy produce TOPIC")
    policy, timeout_s, held_bytes = _policy(dict(bootstrap.properties), given)
    try:
        with Cluster(bootstrap, timeout_s=timeout_s) as cluster, Producer(cluster, policy) as producer:
            feed = _feed(producer, name, given)
            _run(producer, feed, held_bytes)
    except (ClientError, FormatError, ValueError) as error:
        fail(str(error))


def _policy(client: dict[str, str], given: dict[str, Any]) -> tuple[Policy, float, int]:
    """How to deliver, how long to wait for brokers, and how much to hold for them."""
    properties.warn_of_others(client, properties.PRODUCER)
    for name in ("linger_ms", "max_partition_memory_bytes", "metadata_expiry_ms", "socket_buffer_size"):
        if given[name] is not None:
            flag = "timeout" if name == "linger_ms" else name.replace("_", "-")
            click.echo(
                f"kafpy: --{flag} has no effect here: what is there goes out when nothing is under way", err=True
            )
    for name, key in NAMES.items():
        if given[name] is not None:
            client[key] = str(given[name])
    if given["sync"]:
        client["max.in.flight.requests.per.connection"] = "1"
    policy = properties.policy(client, batch_bytes=BATCH_BYTES)
    timeout_ms = properties.number(client, "max.block.ms", 30_000)
    return policy, timeout_ms / 1000, properties.number(client, "buffer.memory", 32 << 20)


def _feed(producer: Producer, topic: str | None, given: dict[str, Any]) -> Feed:
    if given["line_reader"] not in (None, LINE_READER, LINE_READER.rpartition(".")[2]):
        raise click.UsageError(f"--line-reader {given['line_reader']}: Java classes do not run here; see --format")
    reader = properties.from_file(given["reader_config"])
    reader |= read_pairs(given["reader_property"], "--reader-property")
    for name in sorted(set(reader) - READER_KEYS):
        click.echo(f"kafpy: {name} has no effect here", err=True)
    form, partition = given["form"], given["partition"]
    if form == "json":
        for flag in ("key", "headers", "reader_property"):
            if given[flag]:
                raise click.UsageError(
                    f"--{flag.replace('_', '-')} does not go with --format json: records bring their own"
                )
        keep = not given["any_partition"]
        return JsonLines(producer.topic, topic, partition=partition, keep_partitions=keep).feed
    key = None if given["key"] is None else given["key"].encode("utf-8", "surrogateescape")
    more: dict[str, Any] = {
        "key": key,
        "headers": input_format.headers_of(given["headers"]),
        "partition": -1 if partition is None else partition,
        "tombstones": given["tombstone"],
    }
    layout = input_format.console(reader, **more) if form in (None, "text") else input_format.tokens(form, **more)
    assert topic is not None
    packer = producer.topic(topic)
    if partition is not None and partition >= packer.partitions:
        raise ClientError(f"topic {topic} has no partition {partition}; it has {packer.partitions}")

    def feed(data: bytes, now_ms: int, last: bool) -> int:
        return packer.add_lines(data, layout, timestamp=now_ms, last=last)

    return feed


def _run(producer: Producer, feed: Feed, held_bytes: int) -> None:
    progress = Progress("sent", wanted=not sys.stdin.isatty())
    bad_line: str | None = None
    interrupted = False
    try:
        pipe(
            sys.stdin.fileno(),
            producer,
            feed,
            held_bytes=held_bytes,
            prompt=sys.stdin.isatty() and sys.stdout.isatty(),
            each_turn=lambda: progress.show(producer.delivered),
        )
    except (LineError, TooLong) as error:
        bad_line = str(error)
        producer.flush()
    except KeyboardInterrupt:
        interrupted = True
        with suppress(KeyboardInterrupt):
            producer.flush()
    progress.clear()
    for reason, count in producer.failed.items():
        click.echo(f"kafpy: {count} messages were not delivered: {reason}", err=True)
    if bad_line is not None:
        fail(bad_line)
    if interrupted:
        click.echo(f"Sent a total of {producer.delivered} messages", err=True)
        sys.exit(130)
    if producer.failed:
        sys.exit(1)
