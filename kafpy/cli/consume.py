"""`kafpy consume`: what is in topics, with the flags of kafka-console-consumer and of rpk."""

import re
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from kafpy._core.batch import CorruptBatch
from kafpy._core.templates import Op, Template
from kafpy.cli import client_properties as properties
from kafpy.cli import offset_spec, output_format
from kafpy.cli.main import fail
from kafpy.cli.offset_spec import Place, Spec
from kafpy.cli.options import client_option, read_pairs
from kafpy.cli.printing import Limits, Printed, print_all
from kafpy.client.cluster import Cluster, TopicPartition
from kafpy.client.connection import ClientError
from kafpy.client.consumer import Consumer, Terms
from kafpy.client.leaders import unknown_topic
from kafpy.client.settings import ClientSettings
from kafpy.client.subscription import NO_COMMITS, Subscription

FORMATTERS = {"DefaultMessageFormatter", "NoOpMessageFormatter"}
TEXT_DESERIALIZERS = {"StringDeserializer", "ByteArrayDeserializer", "BytesDeserializer"}
FORMATTER_KEYS = {
    "print.timestamp",
    "print.key",
    "print.offset",
    "print.delivery",
    "print.epoch",
    "print.partition",
    "print.headers",
    "print.value",
    "key.separator",
    "line.separator",
    "headers.separator",
    "null.literal",
}
F = TypeVar("F", bound=Callable[..., Any])


def console_options(function: F) -> F:
    """kafka-console-consumer's, where they are not rpk's as well; those that it calls deprecated too."""
    path = click.Path(dir_okay=False, path_type=Path)
    for option in (
        click.option("--include", metavar="REGEX", help="Every topic whose whole name matches."),
        click.option("--from-beginning", is_flag=True, help="As -o start; of a group, where it has no offset."),
        click.option("--timeout-ms", type=int, metavar="MS", help="End when no message comes for so long."),
        click.option("--skip-message-on-error", is_flag=True, help="Pass over batches that are damaged."),
        click.option(
            "--isolation-level", type=click.Choice([*properties.ISOLATIONS]), help="[default: read_uncommitted]"
        ),
        click.option(
            "--formatter", metavar="CLASS", help="DefaultMessageFormatter, or NoOpMessageFormatter to only count."
        ),
        click.option("--formatter-property", "--property", multiple=True, metavar="KEY=VALUE", help="print.key=true …"),
        click.option("--formatter-config", type=path, metavar="FILE", help="The same from a file."),
        click.option("--key-deserializer", metavar="CLASS", help="Only those that print bytes as they are."),
        click.option("--value-deserializer", metavar="CLASS", help="Only those that print bytes as they are."),
    ):
        function = option(function)
    return function


@click.command("consume")
@click.argument("topics", nargs=-1, metavar="[TOPIC]…")
@client_option("--consumer.config", "--consumer-property")
@click.option("--topic", "-t", "topic_flags", multiple=True, metavar="TOPIC", help="As an argument too.")
@click.option(
    "--offset", "-o", metavar="OFFSET", help="start, end, N, +N, -N, N:M, :end, @TIME, @TIME:TIME.  [default: end]"
)
@click.option("--num", "-n", "--max-messages", "most", type=click.IntRange(min=0), help="End after so many.")
@click.option("--exit", "-e", "exit_at_end", is_flag=True, help="End where the partitions end now.")
@click.option("--group", "-g", metavar="GROUP", help="Share the partitions with this group, and commit.")
@click.option("--partition", "-p", "partitions", multiple=True, metavar="N,…", help="Only these partitions.")
@click.option(
    "--format", "-f", "form", metavar="text|json|yaml|FORMAT", help=r"As '%t %p %o %k %v\n'; json: a line each."
)
@click.option("--read-committed", is_flag=True, help="As --isolation-level read_committed.")
@console_options
def command(topics: tuple[str, ...], bootstrap: ClientSettings, topic_flags: tuple[str, ...], **given: Any) -> None:
    """Print messages as they come; with -e, what is there.

    \b
    kafpy consume orders -o start -e
    kafpy consume orders -o @-2h:-1h -f '%d{strftime[%F %T]} %k %v\\n'
    kafpy consume orders --format json -n 10
    """
    if bool(topics or topic_flags) == bool(given["include"]):
        raise click.UsageError("name a topic, or topics by --include: kafpy consume TOPIC")
    client = dict(bootstrap.properties)
    properties.warn_of_others(client, properties.CONSUMER)
    try:
        template = Template(_parts(given))
        spec = _spec(given, client)
        terms = _terms(given, client)
        with Cluster(bootstrap) as cluster:
            names = _topics(cluster, [*topics, *topic_flags], given["include"])
            group = given["group"] or client.get("group.id")
            if group:
                done = _as_member(cluster, group, names, template, terms, given, client)
            else:
                done = _alone(cluster, names(), template, terms, spec, given)
    except (ClientError, CorruptBatch, ValueError) as error:
        fail(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
    _close(done, given["timeout_ms"])


def _close(done: Printed, timeout_ms: int | None) -> None:
    if done.timed_out:
        click.echo(f"kafpy: no message came for {timeout_ms} ms", err=True)
    click.echo(f"Processed a total of {done.count} messages", err=True)
    if done.interrupted:
        sys.exit(130)


def _parts(given: dict[str, Any]) -> list[Op]:
    form = given["form"]
    formatter = (given["formatter"] or "DefaultMessageFormatter").rpartition(".")[2]
    if formatter not in FORMATTERS:
        raise click.UsageError(f"--formatter {given['formatter']}: Java classes do not run here; see --format")
    for name in ("key_deserializer", "value_deserializer"):
        if given[name] and given[name].rpartition(".")[2] not in TEXT_DESERIALIZERS:
            raise click.UsageError(f"--{name.replace('_', '-')} {given[name]} is not there; see --format and %v{{hex}}")
    wanted = properties.from_file(given["formatter_config"])
    wanted |= read_pairs(given["formatter_property"], "--formatter-property")
    for key in sorted(set(wanted) - FORMATTER_KEYS):
        if not key.endswith(".deserializer") or wanted[key].rpartition(".")[2] not in TEXT_DESERIALIZERS:
            click.echo(f"kafpy: {key} has no effect here", err=True)
    if formatter == "NoOpMessageFormatter":
        return []
    if form == "json":
        return output_format.ndjson()
    if form == "yaml":
        return output_format.yaml()
    return output_format.console(wanted) if form in (None, "text") else output_format.rpk(form)


def _spec(given: dict[str, Any], client: dict[str, str]) -> Spec:
    if given["offset"] is not None:
        if given["from_beginning"]:
            raise click.UsageError("--from-beginning and --offset exclude each other")
        if given["group"]:
            raise click.UsageError("a group has its own offsets: --group does not go with --offset")
        return offset_spec.parse(given["offset"], time.time_ns() // 1_000_000)
    start = given["from_beginning"] or given["exit_at_end"] or client.get("auto.offset.reset") == "earliest"
    return Spec(Place("start" if start else "end"))


def _terms(given: dict[str, Any], client: dict[str, str]) -> Terms:
    if given["read_committed"] or given["isolation_level"]:
        client["isolation.level"] = "read_committed" if given["read_committed"] else given["isolation_level"]
    return properties.terms(client, reset="earliest" if given["from_beginning"] else "latest")


def _topics(cluster: Cluster, names: list[str], include: str | None) -> Callable[[], list[str]]:
    """Those that there are, asked anew each time for a pattern."""
    if include is None:
        return lambda: names
    try:
        pattern = re.compile(include)
    except re.error as error:
        fail(f"--include {include}: {error}")
    return lambda: sorted(
        each.name for each in cluster.metadata().topics if not each.is_internal and pattern.fullmatch(each.name)
    )


def partitions_of(cluster: Cluster, topics: Iterable[str], wanted: Iterable[int] = ()) -> list[TopicPartition]:
    """ClientError for a topic or a partition that is not there."""
    found: list[TopicPartition] = []
    for topic in cluster.metadata(topics).topics:
        if topic.error_code:
            raise ClientError(unknown_topic(topic.name, topic.error_code))
        there = {each.partition_index for each in topic.partitions}
        missing = sorted(set(wanted) - there)
        if missing:
            raise ClientError(f"topic {topic.name} has no partition {missing[0]}; it has {len(there)}")
        found += [(topic.name, index) for index in sorted(there) if not set(wanted) or index in set(wanted)]
    return found


def _alone(
    cluster: Cluster, names: list[str], template: Template, terms: Terms, spec: Spec, given: dict[str, Any]
) -> Printed:
    words = ",".join(given["partitions"])
    if words and not all(each.isdecimal() for each in words.split(",")):
        raise click.UsageError(f"--partition {words}: not N or N,N,…")
    wanted = [int(each) for each in words.split(",")] if words else []
    partitions = partitions_of(cluster, names, wanted) if names else []
    at_end = given["exit_at_end"]
    positions, ends = offset_spec.resolve(cluster, partitions, spec, isolation=terms.isolation, exit_at_end=at_end)
    with Consumer(cluster, terms) as consumer:
        consumer.assign(positions, ends)
        finished = (lambda: consumer.finished) if ends or at_end else (lambda: False)
        return print_all(consumer, template, _limits(given), finished=finished, ends=ends)


def _as_member(
    cluster: Cluster,
    group: str,
    names: Callable[[], list[str]],
    template: Template,
    terms: Terms,
    given: dict[str, Any],
    client: dict[str, str],
) -> Printed:
    if given["partitions"] or given["exit_at_end"]:
        raise click.UsageError("a group gives out partitions: --group goes neither with --partition nor with --exit")
    every_s = properties.number(client, "auto.commit.interval.ms", 5000) / 1000
    if not properties.flag(client, "enable.auto.commit", default=True):
        every_s = NO_COMMITS
    session_ms = properties.number(client, "session.timeout.ms", 45_000)
    partitions_of(cluster, names())
    with Subscription(
        cluster, group, names, terms, commit_every_s=every_s, session_timeout_ms=session_ms
    ) as subscription:
        return print_all(
            subscription, template, _limits(given), finished=lambda: False, ends={}, read=subscription.read
        )


def _limits(given: dict[str, Any]) -> Limits:
    timeout_ms = given["timeout_ms"]
    idle_s = None if timeout_ms is None or timeout_ms < 0 else timeout_ms / 1000
    return Limits(given["most"], idle_s, given["skip_message_on_error"])
