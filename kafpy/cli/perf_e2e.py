"""`kafpy perf e2e`: kafka-e2e-latency with its flags, its positional form and its lines."""

import os
import sys
import time
from pathlib import Path
from typing import Any

import click

from kafpy._core.batch import decode_pairs
from kafpy.cli import client_properties as properties
from kafpy.cli.main import fail
from kafpy.cli.options import bootstrap_option, with_file
from kafpy.client.cluster import LATEST, Cluster
from kafpy.client.connection import ClientError, error_name
from kafpy.client.consumer import Consumer, opened
from kafpy.client.producer import Producer
from kafpy.client.settings import ClientSettings
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

TIMEOUT_S = 60.0
POSITIONAL = ("bootstrap", "topic", "num_records", "producer_acks", "record_size", "config")


@click.command("e2e")
@bootstrap_option
@click.option("--topic", metavar="TOPIC", help="Made with one partition if it is not there.")
@click.option("--num-records", type=int, help="How many, one after the other.")
@click.option("--producer-acks", metavar="1|all", help="Who has to have a record.")
@click.option("--record-size", type=int, help="Bytes of a value.")
@click.option("--record-key-size", type=click.IntRange(min=0), default=0, help="Bytes of a key; 0: none.")
@click.option("--num-headers", type=click.IntRange(min=0), default=0, help="Of each record.")
@click.option("--record-header-key-size", type=click.IntRange(min=0), default=0, help="Bytes of a header's name.")
@click.option("--record-header-size", type=click.IntRange(min=0), default=0, help="Bytes of a header's value.")
@click.argument("more", nargs=-1, metavar="[BOOTSTRAP TOPIC RECORDS ACKS SIZE [FILE]]")
def e2e(more: tuple[str, ...], **given: Any) -> None:
    """Time a record from the producer's send to the consumer's hands, one record at a time."""
    if more:
        if len(more) not in (5, 6):
            raise click.UsageError(f"five or six positional arguments, not {len(more)}: {' '.join(POSITIONAL)}")
        given.update(zip(POSITIONAL[1:5], more[1:5], strict=True))
    missing = [f"--{name.replace('_', '-')}" for name in POSITIONAL[1:5] if given[name] is None]
    if missing:
        raise click.UsageError(f"missing: {', '.join(missing)}")
    if given["producer_acks"] not in ("1", "all"):
        raise click.UsageError("Latency testing requires synchronous acknowledgement. Please use 1 or all")
    try:
        count, size = int(given["num_records"]), int(given["record_size"])
    except ValueError:
        raise click.UsageError("the numbers of records and of bytes are numbers") from None
    if count < 1 or size < 0:
        raise click.UsageError("--num-records is at least 1, --record-size at least 0")
    settings: ClientSettings = given["bootstrap"]
    if more:
        settings = settings._replace(bootstrap=more[0])
    if len(more) == len(POSITIONAL):
        settings = with_file(settings, Path(more[-1]))
    client = dict(settings.properties)
    properties.warn_of_others(client, properties.PRODUCER | properties.CONSUMER)
    client["acks"] = given["producer_acks"]
    try:
        with Cluster(settings, timeout_s=TIMEOUT_S) as cluster:
            _make_topic(cluster, given["topic"])
            _run(cluster, client, given, count, size)
    except ClientError as error:
        fail(str(error))


def _make_topic(cluster: Cluster, name: str) -> None:
    if not cluster.metadata([name]).topics[0].error_code:
        return
    click.echo(f'Topic "{name}" does not exist. Will create topic with 1 partition(s) and replication factor = 1')
    request = api.CREATE_TOPICS.request
    topic = request.Topic(name=name, num_partitions=1, replication_factor=1)
    code = cluster.first.call(api.CREATE_TOPICS, request(topics=[topic], timeout_ms=30_000)).topics[0].error_code
    if code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
        click.echo(f"Creation of topic {name} failed")
        raise ClientError(f"cannot create topic {name}: {error_name(code)}")


def _run(cluster: Cluster, client: dict[str, str], given: dict[str, Any], count: int, size: int) -> None:
    latencies: list[int] = []
    try:
        _measure(cluster, client, given, count, size, latencies)
    except KeyboardInterrupt:
        if latencies:
            _report(latencies)
        sys.exit(130)
    _report(latencies)


def _measure(
    cluster: Cluster, client: dict[str, str], given: dict[str, Any], count: int, size: int, latencies: list[int]
) -> None:
    topic = given["topic"]
    with (
        Producer(cluster, properties.policy(client)) as producer,
        Consumer(cluster, properties.terms(client)) as consumer,
    ):
        packer = producer.topic(topic)
        consumer.assign(cluster.offsets(dict.fromkeys(((topic, each) for each in range(packer.partitions)), LATEST)))
        consumer.poll(0)  # a Fetch waits at the broker from here on
        for number in range(count):
            value = _letters(size)
            key = _letters(given["record_key_size"]) if given["record_key_size"] else None
            headers = [
                (_letters(given["record_header_key_size"]), _letters(given["record_header_size"]))
                for _ in range(given["num_headers"])
            ]
            began = time.perf_counter_ns()
            packer.add(value, key, timestamp=time.time_ns() // 1_000_000, headers=headers)
            producer.flush()
            if producer.failed:
                raise ClientError(f"the record was not delivered: {next(iter(producer.failed))}")
            found = consumer.poll(TIMEOUT_S)
            elapsed = time.perf_counter_ns() - began
            _check(
                [pair for each in found for pair in decode_pairs(each.records, opened)[0] if pair[0] >= each.start],
                value,
            )
            latencies.append(elapsed)
            if number % 1000 == 0:
                click.echo(f"{number}\t{elapsed / 1000.0 / 1000.0}")


def _letters(size: int) -> bytes:
    return bytes(65 + each % 26 for each in os.urandom(size))


def _check(records: list[tuple[int, bytes | None, bytes | None]], sent: bytes) -> None:
    if not records:
        raise ClientError(f"poll() timed out before finding a result (timeout:[{int(TIMEOUT_S * 1000)}ms])")
    if len(records) != 1:
        raise ClientError(f"Only one result was expected during this test. We found [{len(records)}]")
    if records[0][2] != sent:
        raise ClientError("The message read did not match the message sent")


def _report(latencies: list[int]) -> None:
    count = len(latencies)
    click.echo(f"Avg latency: {sum(latencies) / count / 1000.0 / 1000.0:.4f} ms")
    whole = sorted(each // 1_000_000 for each in latencies)
    p50, p99, p999 = (whole[int(count * each)] for each in (0.5, 0.99, 0.999))
    click.echo(f"Percentiles: 50th = {p50}, 99th = {p99}, 99.9th = {p999}")
