"""`kafpy topic`: kafka-topics, verb by verb, with its flags and its output lines."""

import re
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import click

from kafpy.cli.main import fail
from kafpy.cli.options import bootstrap_option
from kafpy.client.connection import ClientError, Connection, connect, error_name
from kafpy.metadata.topic_name import has_collision_characters
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode
from kafpy.storage.partition_folder import format_id

COLLISION_WARNING = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. "
    "To avoid issues it is best to use either, but not both."
)
TIMEOUT_MS = 60_000
TOPIC = 2
"""A resource's type, in DescribeConfigs."""
DEFAULT_CONFIG = 5

F = TypeVar("F", bound=Callable[..., Any])


def topic_options(function: F) -> F:
    function = click.argument("name", required=False)(function)
    return click.option("--topic", "-t", "flag", metavar="NAME", help="The topic; as an argument too.")(function)


@click.group("topic")
def command() -> None:
    """Create, list, describe and delete topics."""


@command.command()
@bootstrap_option
@topic_options
@click.option("--partitions", "-p", type=int, default=-1, help="How many; the broker's num.partitions if not given.")
@click.option("--replication-factor", "-r", type=int, default=-1, help="The broker's default if not given.")
@click.option("--config", "-c", "configs", multiple=True, metavar="KEY=VALUE", help="A topic config. Repeatable.")
@click.option("--if-not-exists", is_flag=True, help="No error when the topic is there already.")
def create(
    bootstrap: str,
    name: str | None,
    flag: str | None,
    partitions: int,
    replication_factor: int,
    configs: tuple[str, ...],
    if_not_exists: bool,
) -> None:
    """Create a topic."""
    topic = _required(name, flag)
    if partitions < 1 and partitions != -1:
        _refuse("The partitions must be greater than 0")
    if not 1 <= replication_factor <= 32767 and replication_factor != -1:
        _refuse("The replication factor must be between 1 and 32767 inclusive")
    request = api.CREATE_TOPICS.request
    wanted = request.Topic(
        name=topic,
        num_partitions=partitions,
        replication_factor=replication_factor,
        configs=[request.Config(name=key, value=value) for key, value in map(_config, configs)],
    )
    if has_collision_characters(topic):
        click.echo(COLLISION_WARNING)
    with _connected(bootstrap) as connection:
        answer = _call(connection, api.CREATE_TOPICS, request(topics=[wanted], timeout_ms=TIMEOUT_MS))
    code, message = answer.topics[0].error_code, answer.topics[0].error_message
    if code == ErrorCode.TOPIC_ALREADY_EXISTS and if_not_exists:
        return
    if code:
        _refuse(message or error_name(code))
    click.echo(f"Created topic {topic}.")


@command.command("list")
@bootstrap_option
@topic_options
@click.option("--exclude-internal", is_flag=True, help="Leave internal topics out.")
def list_topics(bootstrap: str, name: str | None, flag: str | None, exclude_internal: bool) -> None:
    """List topics; with a name, those that it matches as a regular expression."""
    with _connected(bootstrap) as connection:
        for topic in _topics(connection, name or flag, exclude_internal):
            click.echo(topic.name)


@command.command()
@bootstrap_option
@topic_options
@click.option("--if-exists", is_flag=True, help="No error when there is no such topic.")
@click.option("--exclude-internal", is_flag=True, help="Leave internal topics out.")
def describe(bootstrap: str, name: str | None, flag: str | None, if_exists: bool, exclude_internal: bool) -> None:
    """Describe topics; with a name, those that it matches as a regular expression."""
    pattern = name or flag
    with _connected(bootstrap) as connection:
        topics = _topics(connection, pattern, exclude_internal)
        _expect(topics, pattern, if_exists)
        configs = _configs(connection, [topic.name for topic in topics])
    for topic in topics:
        click.echo(_description(topic, configs.get(topic.name, "")))


@command.command()
@bootstrap_option
@topic_options
@click.option("--if-exists", is_flag=True, help="No error when there is no such topic.")
def delete(bootstrap: str, name: str | None, flag: str | None, if_exists: bool) -> None:
    """Delete topics: those that the name matches as a regular expression."""
    pattern = _required(name, flag)
    request = api.DELETE_TOPICS.request
    with _connected(bootstrap) as connection:
        topics = _topics(connection, pattern, exclude_internal=False)
        _expect(topics, pattern, if_exists)
        names = [topic.name for topic in topics]
        if not names:
            return
        asked = request(topics=[request.Topic(name=each) for each in names], topic_names=names, timeout_ms=TIMEOUT_MS)
        answer = _call(connection, api.DELETE_TOPICS, asked)
    for each in answer.responses:
        if each.error_code:
            _refuse(each.error_message or error_name(each.error_code))


def _configs(connection: Connection, names: list[str]) -> dict[str, str]:
    """What is not a default, as kafka-topics writes it."""
    if not names:
        return {}
    request = api.DESCRIBE_CONFIGS.request
    resources = [request.Resource(resource_type=TOPIC, resource_name=name, configuration_keys=None) for name in names]
    answer = _call(connection, api.DESCRIBE_CONFIGS, request(resources=resources))
    return {
        each.resource_name: ",".join(
            f"{config.name}={config.value}" for config in each.configs if config.config_source != DEFAULT_CONFIG
        )
        for each in answer.results
    }


def _description(topic: Any, configs: str) -> str:
    factor = len(topic.partitions[0].replica_nodes) if topic.partitions else 0
    lines = [
        f"Topic: {topic.name}\tTopicId: {format_id(topic.topic_id)}\tPartitionCount: {len(topic.partitions)}"
        f"\tReplicationFactor: {factor}\tConfigs: {configs}"
    ]
    for each in sorted(topic.partitions, key=lambda partition: int(partition.partition_index)):
        leader = "none" if each.leader_id < 0 else each.leader_id
        lines.append(
            f"\tTopic: {topic.name}\tPartition: {each.partition_index}\tLeader: {leader}"
            f"\tReplicas: {_nodes(each.replica_nodes)}\tIsr: {_nodes(each.isr_nodes)}\tElr: \tLastKnownElr: "
        )
    return "\n".join(lines)


def _nodes(nodes: list[int]) -> str:
    return ",".join(map(str, nodes))


def _topics(connection: Connection, pattern: str | None, exclude_internal: bool) -> list[Any]:
    answer = _call(connection, api.METADATA, api.METADATA.request(topics=None, allow_auto_topic_creation=False))
    try:
        # commas separate alternatives (TopicFilter.IncludeList)
        chosen = re.compile((pattern or ".*").replace(",", "|"))
    except re.error as error:
        raise click.UsageError(f"{pattern!r} is not a regular expression: {error}") from None
    topics = [each for each in answer.topics if chosen.fullmatch(each.name)]
    kept = [each for each in topics if not (exclude_internal and each.is_internal)]
    return sorted(kept, key=lambda each: str(each.name))


def _expect(topics: list[Any], pattern: str | None, if_exists: bool) -> None:
    if pattern is not None and not topics and not if_exists:
        _refuse(f"Topic '{pattern}' does not exist as expected")


def _required(name: str | None, flag: str | None) -> str:
    if not (name or flag):
        raise click.UsageError("name the topic, as an argument or with --topic")
    return name or flag or ""


def _config(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError(f"--config {text}: not KEY=VALUE")
    return key.strip(), value.strip()


def _connected(bootstrap: str) -> Connection:
    try:
        return connect(bootstrap)
    except ClientError as error:
        fail(str(error))


def _call(connection: Connection, asked: api.Api, request: Any) -> Any:
    try:
        return connection.call(asked, request)
    except ClientError as error:
        fail(str(error))


def _refuse(message: str) -> NoReturn:
    """kafka-topics' words, though on stderr."""
    click.echo(f"Error while executing topic command : {message}", err=True)
    sys.exit(1)
