"""`kafpy cat`: kcat's letters and output, on kafpy's own client."""

import sys
from pathlib import Path
from typing import Any, NoReturn

import click

from kafpy._core.batch import CorruptBatch
from kafpy._core.lines import LineError
from kafpy.cli.cat_properties import Properties, gathered
from kafpy.client.connection import ClientError
from kafpy.client.settings import DEFAULT_BOOTSTRAP

REFUSED = {
    "mock": "kafpy is a broker itself: start one with `kafpy serve --data DIR` instead of -M",
    "deserializer": "-s is not supported: print bytes with %s, or `kafpy consume -f '%v{hex}'`",
    "registry": "-r (Avro and its schema registry) is not supported",
}


@click.command("cat", context_settings={"allow_interspersed_args": True})
@click.option("-C", "consume", is_flag=True, help="Mode: consume.")
@click.option("-P", "produce", is_flag=True, help="Mode: produce.")
@click.option("-L", "metadata", is_flag=True, help="Mode: list brokers, topics and partitions.")
@click.option("-Q", "query", is_flag=True, help="Mode: offsets by time, of each -t TOPIC:PARTITION:MS.")
@click.option("-G", "group", metavar="GROUP", help="Mode: consume the topics that follow as a member of a group.")
@click.option("-M", "mock", metavar="N", hidden=True)
@click.option("-b", "bootstrap", metavar="HOST:PORT,…", help=f"Brokers to ask first.  [default: {DEFAULT_BOOTSTRAP}]")
@click.option("-t", "topics", multiple=True, metavar="TOPIC", help="What to read, write or list.")
@click.option("-p", "partition", type=int, default=-1, help="One partition; -1: all, or by key.")
@click.option("-o", "offsets", multiple=True, metavar="OFFSET", help="beginning, end, stored, N, -N, s@MS, e@MS.")
@click.option("-e", "exit_at_end", is_flag=True, help="End where the partitions end now.")
@click.option("-c", "most", type=click.IntRange(min=1), help="End after so many messages.")
@click.option("-f", "form", metavar="FORMAT", help=r"%s %S %R %k %K %T %h %t %p %o \n \t \xNN")
@click.option("-J", "json_output", is_flag=True, help="A JSON envelope for each message, or for -L.")
@click.option("-D", "delimiter", default=r"\n", show_default=True, help="Between messages.")
@click.option("-K", "key_delimiter", metavar="DELIM", help="Between key and message.")
@click.option("-O", "print_offset", is_flag=True, help="Print offsets, with the delimiter of -K.")
@click.option("-k", "key", metavar="KEY", help="Of messages that bring none.")
@click.option("-H", "headers", multiple=True, metavar="NAME=VALUE", help="Of every message.")
@click.option("-Z", "nulls", is_flag=True, help="Send what is empty as null; print null as NULL.")
@click.option("-z", "codec", type=click.Choice(["none", "gzip", "snappy", "lz4", "zstd"]), help="Compression.")
@click.option("-l", "lines", is_flag=True, help="The file that follows holds lines, not one message.")
@click.option("-T", "tee", is_flag=True, help="Print what is sent, too.")
@click.option("-u", "unbuffered", is_flag=True, help="Accepted: output is never held back.")
@click.option("-q", "quiet", count=True, help="No news on stderr.")
@click.option("-v", "verbose", count=True, help="Accepted: there is no more to say.")
@click.option("-m", "timeout_s", type=float, default=5.0, show_default=True, help="For metadata, in seconds.")
@click.option("-F", "config", type=click.Path(path_type=Path), help="Properties, one KEY=VALUE a line.")
@click.option("-X", "properties", multiple=True, metavar="KEY=VALUE", help="A property, by its librdkafka name.")
@click.option("-E", "not_fatal", is_flag=True, hidden=True)
@click.option("-d", "debug", metavar="CONTEXTS", hidden=True)
@click.option("-s", "deserializer", multiple=True, hidden=True)
@click.option("-r", "registry", hidden=True)
@click.argument("names", nargs=-1, metavar="[FILE|TOPIC]…")
def command(**given: Any) -> None:
    """kcat's letters: consume, produce, list or query in one line.

    \b
    kafpy cat -t orders -o -10 -e -f '%p %o %k: %s\\n'
    kafpy cat -P -t orders -K: -z lz4 < orders.txt
    kafpy cat -G readers orders payments
    kafpy cat -L -J
    """
    for name, sentence in REFUSED.items():
        if given[name]:
            die(sentence)
    for letter, name in (("E", "not_fatal"), ("d", "debug")):
        if given[name]:
            click.echo(f"% -{letter} has no effect here", err=True)
    mode = _mode(given)
    properties = gathered(given["bootstrap"], given["config"], given["properties"])
    try:
        _run(mode, properties, given)
    except (ClientError, CorruptBatch, LineError, ValueError, OSError) as error:
        die(f"ERROR: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def _run(mode: str, properties: Properties, given: dict[str, Any]) -> None:
    if mode in "LQ":
        from kafpy.cli import cat_query

        (cat_query.list_metadata if mode == "L" else cat_query.query)(properties.settings, given)
    elif mode == "P":
        from kafpy.cli import cat_produce

        cat_produce.run(properties, given)
    else:
        from kafpy.cli import cat_consume

        cat_consume.run(properties, given)


def _mode(given: dict[str, Any]) -> str:
    letters = {"consume": "C", "produce": "P", "metadata": "L", "query": "Q", "group": "G"}
    chosen = [letter for name, letter in letters.items() if given[name]]
    if len(chosen) > 1:
        raise click.UsageError(f"one mode at a time, not {' and '.join(f'-{each}' for each in chosen)}")
    if not chosen:
        chosen = ["C" if sys.stdin.isatty() else "P"]
        if not given["quiet"]:
            name = "Consumer" if chosen == ["C"] else "Producer"
            click.echo(f"% Auto-selecting {name} mode (use -P or -C to override)", err=True)
    needed = {"C": len(given["topics"]) == 1, "P": len(given["topics"]) == 1, "Q": bool(given["topics"])}
    if not needed.get(chosen[0], True):
        raise click.UsageError(f"-{chosen[0]} needs -t TOPIC")
    if chosen == ["G"] and not given["names"]:
        raise click.UsageError("-G GROUP needs topics after it")
    return chosen[0]


def die(message: str) -> NoReturn:
    click.echo(f"% {message}", err=True)
    sys.exit(1)
