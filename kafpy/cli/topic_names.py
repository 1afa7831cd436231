"""Naming topics on the command line, and the words of kafka-topics when it cannot go on."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, TypeVar

import click

from kafpy.cli.session import Refusal
from kafpy.client.topics import Outcome, Topic

F = TypeVar("F", bound=Callable[..., Any])

dry_run_option = click.option("--dry-run", "-d", is_flag=True, help="Only say what would be done.")
exclude_internal_option = click.option("--exclude-internal", is_flag=True, help="Leave internal topics out.")
if_exists_option = click.option("--if-exists", is_flag=True, help="No error when there is no such topic.")


def topic_options(function: F) -> F:
    return _topic_options(function, "--topic", "-t")


def long_topic_options(function: F) -> F:
    """Where -t is something else."""
    return _topic_options(function, "--topic")


def _topic_options(function: F, *spelt: str) -> F:
    function = click.argument("names", nargs=-1, metavar="[TOPIC]…")(function)
    return click.option(*spelt, "flags", multiple=True, metavar="TOPIC", help="As an argument too.")(function)


def named(names: Iterable[str], flags: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*flags, *names]))


def required(names: Iterable[str], flags: Iterable[str]) -> list[str]:
    found = named(names, flags)
    if not found:
        raise click.UsageError("name the topic, as an argument or with --topic")
    return found


def matching(topics: Sequence[Topic], patterns: Sequence[str], *, exclude_internal: bool = False) -> list[Topic]:
    """All of them without patterns. Commas separate alternatives (Kafka's IncludeList)."""
    chosen = [_compiled(pattern) for pattern in patterns]
    return [
        each
        for each in topics
        if (not chosen or any(pattern.fullmatch(each.name) for pattern in chosen))
        and not (exclude_internal and each.internal)
    ]


def expected(topics: Sequence[Topic], patterns: Sequence[str], if_exists: bool) -> None:
    for pattern in patterns:
        if not if_exists and not any(_compiled(pattern).fullmatch(each.name) for each in topics):
            refuse(f"Topic '{pattern}' does not exist as expected")


def _compiled(pattern: str) -> "re.Pattern[str]":
    try:
        return re.compile(pattern.strip().replace(",", "|").replace(" ", "").strip("\"'"))
    except re.error as error:
        raise click.UsageError(f"{pattern!r} is not a regular expression: {error}") from None


def settle(outcomes: Iterable[Outcome]) -> None:
    for each in outcomes:
        if each.code:
            refuse(each.message)


def replica_assignment(text: str) -> tuple[tuple[int, ...], ...]:
    """`1:2,2:3`: the replicas of each partition."""
    lists: list[tuple[int, ...]] = []
    for part in text.split(","):
        if not all(word.strip().isdecimal() for word in part.split(":")):
            refuse(f'For input string: "{part}"')
        replicas = tuple(int(word) for word in part.split(":"))
        twice = sorted({each for each in replicas if replicas.count(each) > 1})
        if twice:
            refuse(f"Partition replica lists may not contain duplicate entries: {','.join(map(str, twice))}")
        if lists and len(replicas) != len(lists[0]):
            refuse(f"Partition {len(lists)} has different replication factor: {list(replicas)}")
        lists.append(replicas)
    return tuple(lists)


def refuse(message: str) -> NoReturn:
    raise Refusal(f"Error while executing topic command : {message}")
