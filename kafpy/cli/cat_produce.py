"""kcat -P: standard input, lines of a file, or whole files as messages."""

import os
import sys
import time
from pathlib import Path
from typing import Any

import click

from kafpy._core.lines import Form, Packer
from kafpy.cli import client_properties
from kafpy.cli.cat_properties import Properties
from kafpy.cli.input_format import headers_of
from kafpy.cli.output_format import unescaped
from kafpy.cli.piping import Feed, pipe
from kafpy.cli.printing import write
from kafpy.client.cluster import Cluster
from kafpy.client.connection import ClientError
from kafpy.client.producer import Producer

BATCH_BYTES = 1 << 18


class Enough(Exception):
    """As many as -c said are sent."""


def run(properties: Properties, given: dict[str, Any]) -> None:
    client = dict(properties.client)
    if given["codec"]:
        client["compression.type"] = given["codec"]
    client.setdefault("enable.idempotence", "false")
    policy = client_properties.policy(client, batch_bytes=BATCH_BYTES, crc_keys=properties.crc_keys)
    if given["lines"] and len(given["names"]) != 1:
        raise click.UsageError("-l takes one file")
    with Cluster(properties.settings, timeout_s=given["timeout_s"]) as cluster, Producer(cluster, policy) as producer:
        packer = producer.topic(given["topics"][0])
        if given["partition"] >= packer.partitions:
            there = f"(with partitions 0..{packer.partitions - 1})"
            raise ClientError(f"Topic {given['topics'][0]} {there}: partition {given['partition']} does not exist")
        if given["names"] and not given["lines"]:
            _whole_files(producer, packer, given)
        else:
            _lines(producer, packer, given)
    for reason, count in producer.failed.items():
        click.echo(f"% Delivery failed for {count} messages: {reason}", err=True)
    if producer.failed:
        sys.exit(1)


def _key(given: dict[str, Any]) -> bytes | None:
    return None if given["key"] is None else given["key"].encode("utf-8", "surrogateescape")


def _whole_files(producer: Producer, packer: Packer, given: dict[str, Any]) -> None:
    headers = headers_of(given["headers"], "=")
    for name in given["names"]:
        now_ms = time.time_ns() // 1_000_000
        data = Path(name).read_bytes()
        packer.add(data, _key(given), timestamp=now_ms, headers=headers, partition=given["partition"])
        producer.pump(flush=True)
    producer.flush()


def _lines(producer: Producer, packer: Packer, given: dict[str, Any]) -> None:
    delimiter = unescaped(given["delimiter"])
    fields = [("value", b"")]
    if given["key_delimiter"]:
        fields.insert(0, ("key", unescaped(given["key_delimiter"])))
    form = Form(
        fields,
        delimiter=delimiter,
        ignore_errors=True,
        skip_empty=True,
        empty_key_null=given["nulls"],
        empty_value_null=given["nulls"],
        key=_key(given),
        headers=headers_of(given["headers"], "="),
        partition=given["partition"],
    )
    source = os.open(given["names"][0], os.O_RDONLY) if given["names"] else sys.stdin.fileno()
    try:
        pipe(source, producer, _feed(packer, form, delimiter, given["most"], given["tee"]))
    except Enough:
        producer.flush()


def _feed(packer: Packer, form: Form, delimiter: bytes, most: int | None, tee: bool) -> Feed:
    def feed(data: bytes, now_ms: int, last: bool) -> int:
        enough = False
        if most is not None:
            pieces = data.split(delimiter, most - packer.lines)
            enough = len(pieces) > most - packer.lines
            if enough:
                data = data[: len(data) - len(pieces[-1])]
        done = packer.add_lines(data, form, timestamp=now_ms, last=last)
        if tee and done:
            write(data[:done])
        if most is not None and packer.lines >= most:
            raise Enough
        return done

    return feed
