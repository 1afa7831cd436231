"""`kafpy group`: kafka-consumer-groups, verb by verb, with its flags and output lines, and lag in time besides."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from kafpy.cli import group_data, group_tables, offset_targets
from kafpy.cli.group_lag import rows_of
from kafpy.cli.offset_targets import TargetError, TopicPartition
from kafpy.cli.options import bootstrap_option, format_option, timeout_option
from kafpy.cli.output import emit
from kafpy.cli.session import session
from kafpy.client.cluster import EARLIEST, LATEST, Cluster
from kafpy.client.connection import error_name
from kafpy.client.groups import Description, Groups
from kafpy.client.settings import ClientSettings
from kafpy.protocol.errors import ErrorCode

F = TypeVar("F", bound=Callable[..., Any])
REBALANCING = {"PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"}


def connection_options(function: F) -> F:
    """Of every verb: where, and how long to wait."""
    return bootstrap_option(timeout_option(function))


def group_options(function: F) -> F:
    function = click.argument("names", nargs=-1, metavar="[GROUP]…")(function)
    function = click.option("--all-groups", is_flag=True, help="Every consumer group.")(function)
    return click.option("--group", "-g", "flags", multiple=True, metavar="GROUP", help="As an argument too.")(function)


def scope_options(function: F) -> F:
    function = click.option("--all-topics", is_flag=True, help="Every topic that the group has offsets of.")(function)
    return click.option(
        "--topic", "-t", "topics", multiple=True, metavar="TOPIC[:0,1]", help="A topic, or some of its partitions."
    )(function)


execute_option = click.option("--execute", is_flag=True, help="Do it; without, it is only shown (--dry-run).")
dry_run_option = click.option("--dry-run", is_flag=True, help="Only show what would be done; the default.")


@click.group("group")
def command() -> None:
    """List and describe consumer groups, and change their offsets."""


@command.command("list")
@connection_options
@click.option("--state", is_flag=False, flag_value="", metavar="[STATE,…]", help="Show states; only these, if given.")
@click.option("--type", "kind", is_flag=False, flag_value="", metavar="[TYPE,…]", help="The same for types.")
@format_option
def list_groups(bootstrap: ClientSettings, timeout_ms: int, state: str | None, kind: str | None, format_: str) -> None:
    """List groups."""
    with _session(bootstrap, timeout_ms) as (_, groups):
        found = groups.list(_words(state), _words(kind))
    if format_ != "text":
        emit(group_data.listed(found), format_)
        return
    if state is None and kind is None:
        for each in found:
            click.echo(each.group_id)
        return
    width = max([15, *(len(each.group_id) for each in found)]) + 10
    listed = [(each.group_id, each.type.capitalize(), each.state) for each in found]
    for name, type_, now in [("GROUP", "TYPE", "STATE"), *listed]:
        cells = [name.ljust(width), *([type_.ljust(20)] if kind is not None else [])]
        click.echo(" ".join([*cells, *([now.ljust(20)] if state is not None else [])]))


@command.command()
@connection_options
@group_options
@click.option("--offsets", is_flag=True, help="Offsets and lag; the default.")
@click.option("--members", is_flag=True, help="Members instead of offsets.")
@click.option("--state", is_flag=True, help="The group's state instead of offsets.")
@click.option("--verbose", "-v", is_flag=True, help="Leader epochs; with --members, assignments.")
@click.option("--no-lag-time", is_flag=True, help="Only the columns of kafka-consumer-groups.")
@format_option
def describe(
    bootstrap: ClientSettings,
    timeout_ms: int,
    names: tuple[str, ...],
    flags: tuple[str, ...],
    all_groups: bool,
    offsets: bool,
    members: bool,
    state: bool,
    verbose: bool,
    no_lag_time: bool,
    format_: str,
) -> None:
    """Describe groups: offsets and lag, members or state, and why members left; all of it as json or yaml."""
    if offsets + members + state > 1:
        raise click.UsageError("choose one of --offsets, --members and --state")
    missing, named = False, _named(names, flags, all_groups)
    data = []
    with _session(bootstrap, timeout_ms) as (cluster, groups):
        for group_id in _chosen(groups, named):
            group = groups.describe(group_id)
            if not _introduced(group):
                missing = True
                continue
            if format_ != "text":
                data.append(group_data.described(group, rows_of(cluster, groups, group, _now_ms())))
                continue
            if state:
                text = group_tables.states([group])
            elif members:
                text = group_tables.members(group, verbose)
            else:
                rows = rows_of(cluster, groups, group, _now_ms())
                text = group_tables.offsets(group_id, rows, verbose, lag_time=not no_lag_time) if rows else ""
            if text:
                click.echo(f"\n{text}")
            if group.notes:
                click.echo(f"\n{group.notes}")
    if format_ != "text":
        emit(data, format_)
    if missing:
        sys.exit(1)


@command.command()
@connection_options
@group_options
@scope_options
@click.option("--to-earliest", is_flag=True, help="The beginning of each log.")
@click.option("--to-latest", is_flag=True, help="The end of each log.")
@click.option("--to-current", is_flag=True, help="Where the group is; the end of the log where it never was.")
@click.option("--to-offset", type=int, metavar="N", help="An offset.")
@click.option("--to-datetime", metavar="YYYY-MM-DDThh:mm:ss.sss", help="The first record at or after a time (UTC).")
@click.option("--by-duration", metavar="PnDTnHnMnS", help="The first record no older than that.")
@click.option("--shift-by", type=int, metavar="N", help="Forward from where the group is, or back.")
@click.option("--from-file", type=click.Path(dir_okay=False, path_type=Path), help="TOPIC,PARTITION,OFFSET per line.")
@click.option("--export", is_flag=True, help="Print the plan as --from-file reads it.")
@execute_option
@dry_run_option
def reset(
    bootstrap: ClientSettings,
    timeout_ms: int,
    names: tuple[str, ...],
    flags: tuple[str, ...],
    all_groups: bool,
    topics: tuple[str, ...],
    all_topics: bool,
    export: bool,
    execute: bool,
    dry_run: bool,
    **targets: Any,
) -> None:
    """Move the offsets of groups without members. Shows the plan; --execute carries it out."""
    chosen = {name: value for name, value in targets.items() if value not in (None, False)}
    if len(chosen) != 1:
        raise click.UsageError("choose one target: --to-earliest, --to-latest, --to-offset, … (see --help)")
    if execute and dry_run:
        raise click.UsageError("--execute and --dry-run exclude each other")
    if not topics and not all_topics and "from_file" not in chosen:
        raise click.UsageError("say which topics: --topic TOPIC[:0,1] or --all-topics")
    ((how, value),) = chosen.items()
    plans, named = {}, _named(names, flags, all_groups)
    with _session(bootstrap, timeout_ms) as (cluster, groups):
        for group_id in _chosen(groups, named):
            _expect_inactive(groups.describe(group_id))
            plan, warnings = _plan(cluster, groups, group_id, topics, all_topics, how, value)
            plans[group_id] = plan
            for warning in warnings:
                click.echo(f"WARNING: {warning}", err=True)
            if execute:
                _carry_out(groups, group_id, plan)
    _show_plans(plans, export)
    if not execute and not export:
        click.echo("\nNothing was changed. Add --execute to do it.", err=True)


@command.command()
@connection_options
@click.argument("group_id", metavar="GROUP")
@click.argument("partition", metavar="TOPIC:PARTITION")
@click.argument("to", metavar="OFFSET|earliest|latest")
@execute_option
def seek(bootstrap: ClientSettings, timeout_ms: int, group_id: str, partition: str, to: str, execute: bool) -> None:
    """Move a group's offset of one partition."""
    target: tuple[str, Any] = {"earliest": ("to_earliest", True), "latest": ("to_latest", True)}.get(to, ("", None))
    if not target[0]:
        if not to.isdecimal():
            raise click.UsageError(f"{to!r} is neither an offset nor earliest nor latest")
        target = "to_offset", int(to)
    with _session(bootstrap, timeout_ms) as (cluster, groups):
        _expect_inactive(groups.describe(group_id))
        plan, warnings = _plan(cluster, groups, group_id, (partition,), False, *target)
        for warning in warnings:
            click.echo(f"WARNING: {warning}", err=True)
        if execute:
            _carry_out(groups, group_id, plan)
    _show_plans({group_id: plan}, export=False)
    if not execute:
        click.echo("\nNothing was changed. Add --execute to do it.", err=True)


@command.command()
@connection_options
@group_options
def delete(
    bootstrap: ClientSettings, timeout_ms: int, names: tuple[str, ...], flags: tuple[str, ...], all_groups: bool
) -> None:
    """Delete groups without members, with their offsets."""
    failed, named = [], _named(names, flags, all_groups)
    with _session(bootstrap, timeout_ms) as (_, groups):
        chosen = _chosen(groups, named)
        for group_id in chosen:
            code = groups.delete(group_id)
            if code:
                failed.append(f"* Group '{group_id}' could not be deleted due to: {_reason(code)}")
    if failed:
        _refuse("Deletion of some consumer groups failed:\n" + "\n".join(failed))
    quoted = ", ".join(f"'{group_id}'" for group_id in chosen)
    click.echo(f"Deletion of requested consumer groups ({quoted}) was successful.")


@command.command()
@connection_options
@click.argument("group_id", metavar="[GROUP]", required=False)
@click.option("--group", "-g", "flag", metavar="GROUP", help="As an argument too.")
@scope_options
@click.option("--delete", "remove", is_flag=True, help="Forget them; needs --execute.")
@execute_option
def offsets(
    bootstrap: ClientSettings,
    timeout_ms: int,
    group_id: str | None,
    flag: str | None,
    topics: tuple[str, ...],
    all_topics: bool,
    remove: bool,
    execute: bool,
) -> None:
    """Show a group's committed offsets as TOPIC,PARTITION,OFFSET, or delete some of them."""
    group_id = group_id or flag
    if group_id is None:
        raise click.UsageError("name the group, as an argument or with --group")
    if remove and not topics and not all_topics:
        raise click.UsageError("say which offsets to delete: --topic TOPIC[:0,1] or --all-topics")
    with _session(bootstrap, timeout_ms) as (_, groups):
        committed = groups.committed(group_id)
        wanted = offset_targets.parse_topics(topics)
        chosen = {each: value for each, value in committed.items() if not wanted or _within(each, wanted)}
        if not remove or not execute:
            for topic, index in sorted(chosen):
                click.echo(f"{topic},{index},{chosen[topic, index].offset}")
        else:
            _delete_offsets(groups, group_id, chosen)
    if remove and not execute:
        click.echo("\nNothing was deleted. Add --execute to do it.", err=True)


def _delete_offsets(groups: Groups, group_id: str, partitions: Iterable[TopicPartition]) -> None:
    codes = groups.delete_offsets(group_id, partitions)
    failed = any(codes.values())
    if failed:
        click.echo("\nEncountered some partition-level error, see the follow-up details.")
    else:
        click.echo(f"Request succeeded for deleting offsets from group {group_id}.")
    outcomes = {each: f"Error: {_reason(code)}" if code else "Successful" for each, code in codes.items()}
    click.echo(f"\n{group_tables.deleted(outcomes)}")
    if failed:
        sys.exit(1)


@command.command()
@connection_options
@click.argument("group_id", metavar="GROUP")
@click.option("--interval", type=float, default=2.0, show_default=True, help="Seconds between looks.")
@click.option("--count", type=int, default=0, help="Stop after so many looks; 0: never.")
def watch(bootstrap: ClientSettings, timeout_ms: int, group_id: str, interval: float, count: int) -> None:
    """Follow a group's lag and how fast it reads, until Ctrl-C."""
    before: dict[TopicPartition, int] = {}
    looked = 0
    with _session(bootstrap, timeout_ms) as (cluster, groups):
        while not count or looked < count:
            if looked:
                time.sleep(interval)
            looked += 1
            group = groups.describe(group_id)
            rows = rows_of(cluster, groups, group, _now_ms())
            now = {each: found.offset for each, found in groups.committed(group_id).items()}
            read = sum(now[each] - before.get(each, now[each]) for each in now)
            lag = sum(max(row.lag or 0, 0) for row in rows)
            oldest = max((row.lag_ms for row in rows if row.lag_ms is not None), default=None)
            speed = f"{read / interval:,.0f} records/s" if before else group_tables.MISSING
            click.echo(
                f"{time.strftime('%H:%M:%S')}  {group.state:<20} members {len(group.members):<4} "
                f"lag {lag:<12,} {group_tables.duration(oldest) or '-':<8} {speed}"
            )
            before = now


def _plan(
    cluster: Cluster,
    groups: Groups,
    group_id: str,
    topics: Iterable[str],
    all_topics: bool,
    how: str,
    value: Any,
) -> tuple[dict[TopicPartition, int], list[str]]:
    committed = {each: found.offset for each, found in groups.committed(group_id).items()}
    if how == "from_file":
        wanted = offset_targets.read_plan(_lines(value), group_id)
        partitions = set(wanted)
    else:
        partitions = _partitions(cluster, committed, offset_targets.parse_topics(topics), all_topics)
    first = cluster.offsets(dict.fromkeys(partitions, EARLIEST))
    end = cluster.offsets(dict.fromkeys(partitions, LATEST))
    lost = sorted(f"{topic}-{index}" for topic, index in partitions - set(end))
    if lost:
        raise TargetError(f"no such partition, or it has no leader: {', '.join(lost)}")
    if how == "to_earliest":
        return dict(sorted(first.items())), []
    if how == "to_latest":
        return dict(sorted(end.items())), []
    if how in ("to_datetime", "by_duration"):
        ago = how == "by_duration"
        at = _now_ms() - offset_targets.parse_duration(value) if ago else offset_targets.parse_datetime(value)
        found = cluster.offsets(dict.fromkeys(partitions, at))
        return {each: found.get(each, -1) if found.get(each, -1) >= 0 else end[each] for each in sorted(partitions)}, []
    if how == "to_current":
        wanted = {each: committed.get(each, end[each]) for each in partitions}
    elif how == "to_offset":
        wanted = dict.fromkeys(partitions, value)
    elif how == "shift_by":
        wanted = offset_targets.shifted({each: committed.get(each) for each in partitions}, value)
    return offset_targets.bounded(dict(sorted(wanted.items())), first, end)


def _partitions(
    cluster: Cluster, committed: Iterable[TopicPartition], wanted: Mapping[str, set[int] | None], all_topics: bool
) -> set[TopicPartition]:
    """Of all topics: what the group has offsets of."""
    committed = set(committed)
    names = {topic for topic, _ in committed} if all_topics else set(wanted)
    if not names:
        return set()
    known = cluster.partitions(names)
    if all_topics:
        return set(committed) & set(known)
    asked = {(topic, index) for topic, indexes in wanted.items() for index in indexes or ()}
    missing = sorted(f"{topic}-{index}" for topic, index in asked - set(known))
    if missing:
        raise TargetError(f"no such partition: {', '.join(missing)}")
    return {each for each in known if _within(each, wanted)}


def _within(partition: TopicPartition, wanted: Mapping[str, set[int] | None]) -> bool:
    indexes = wanted.get(partition[0], set())
    return indexes is None or partition[1] in indexes


def _carry_out(groups: Groups, group_id: str, plan: Mapping[TopicPartition, int]) -> None:
    codes = groups.commit(group_id, plan) if plan else {}
    failed = [f"{topic}-{index}: {_reason(code)}" for (topic, index), code in codes.items() if code]
    if failed:
        _refuse("; ".join(failed))


def _show_plans(plans: Mapping[str, Mapping[TopicPartition, int]], export: bool) -> None:
    if not export:
        click.echo(f"\n{group_tables.new_offsets(plans)}")
        return
    for group_id, plan in plans.items():
        for (topic, index), offset in plan.items():
            fields = [topic, index, offset] if len(plans) == 1 else [group_id, topic, index, offset]
            click.echo(",".join(map(str, fields)))


def _expect_inactive(group: Description) -> None:
    if group.state not in ("Empty", "Dead"):
        _refuse(
            f"Assignments can only be reset if the group '{group.group_id}' is inactive, but the current state is "
            f"{group.state}."
        )


def _introduced(group: Description) -> bool:
    """What kafka-consumer-groups says before its table; False: there is no such group."""
    if not group.exists:
        click.echo(f"\nError: Consumer group '{group.group_id}' does not exist.", err=True)
        return False
    if group.state == "Empty":
        click.echo(f"\nConsumer group '{group.group_id}' has no active members.", err=True)
    elif group.state in REBALANCING:
        click.echo(f"\nWarning: Consumer group '{group.group_id}' is rebalancing.", err=True)
    return True


def _named(names: Iterable[str], flags: Iterable[str], all_groups: bool) -> list[str] | None:
    """None: all of them."""
    chosen = list(dict.fromkeys([*names, *flags]))
    if not chosen and not all_groups:
        raise click.UsageError("name the group, as an argument or with --group, or say --all-groups")
    return None if all_groups else chosen


def _chosen(groups: Groups, named: list[str] | None) -> list[str]:
    return [each.group_id for each in groups.list()] if named is None else named


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TargetError(f"cannot read {path}: {error}") from None


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _reason(code: int) -> str:
    try:
        return f"{error_name(code)}: {ErrorCode(code).message}"
    except ValueError:
        return error_name(code)


@contextmanager
def _session(bootstrap: ClientSettings, timeout_ms: int) -> Iterator[tuple[Cluster, Groups]]:
    with session(bootstrap, timeout_ms) as cluster:
        try:
            yield cluster, Groups(cluster)
        except TargetError as error:
            _refuse(str(error))


def _refuse(message: str) -> NoReturn:
    click.echo(f"Error: {message}", err=True)
    sys.exit(1)
