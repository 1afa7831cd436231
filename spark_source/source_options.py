"""The options of a read: names, defaults and refusals of Spark's Kafka connector, and our own, `kafpy.…`. Pure."""

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafpy.client.local_log import AUTO, LOCAL, TCP
from spark_source.options import Options, refuse

EARLIEST, LATEST = -2, -1
"""In JSON offsets, as in Kafka's protocol."""

Offsets = Mapping[str, Mapping[int, int]]

STRATEGIES = ("assign", "subscribe", "subscribePattern")
ENDING = ("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets")
OF_STREAMS = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", "kafpy.commit.group")
KNOWN = (
    *STRATEGIES,
    *(f"{side}{kind}" for side in ("starting", "ending") for kind in ("Offsets", "Timestamp", "OffsetsByTimestamp")),
    *OF_STREAMS,
    "startingOffsetsByTimestampStrategy",
    "failOnDataLoss",
    "includeHeaders",
    "minPartitions",
    "maxRecordsPerPartition",
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "partition.metadata.cache.ttl.ms",
    "groupIdPrefix",
    *(f"kafpy.{name}" for name in ("read", "split.bytes", "batch.rows", "batch.bytes", "fetch.bytes")),
)
REFUSED = {
    "auto.offset.reset": "use startingOffsets; Spark itself keeps track of what was read",
    "key.deserializer": "keys are binary; cast the column",
    "value.deserializer": "values are binary; cast the column",
    "enable.auto.commit": "nothing is committed for a group unless kafpy.commit.group names one",
    "interceptor.classes": "there are none",
}
UNITS = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


@dataclass(frozen=True)
class Where:
    """A place in every partition: earliest or latest for all, offsets or times by partition, or one time for all."""

    everywhere: int | None = None
    offsets: Offsets | None = None
    times: Offsets | None = None
    time: int | None = None


@dataclass(frozen=True)
class SourceOptions:
    properties: Mapping[str, str]
    subscribe: tuple[str, ...] = ()
    pattern: str | None = None
    assign: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    starting: Where = Where(everywhere=EARLIEST)
    ending: Where = Where(everywhere=LATEST)
    unmatched_starts_latest: bool = False
    fail_on_data_loss: bool = True
    include_headers: bool = False
    min_partitions: int | None = None
    max_records_per_partition: int | None = None
    max_offsets: int | None = None
    min_offsets: int | None = None
    max_delay_ms: int = 900_000
    read_committed: bool = False
    read: str = AUTO
    split_bytes: int = 64 << 20
    batch_rows: int = 10_000
    batch_bytes: int = 8 << 20
    fetch_bytes: int = 4 << 20
    commit_group: str | None = None
    metadata_ttl_ms: int = -1
    retries: int = 3
    retry_ms: int = 1000
    warnings: tuple[str, ...] = ()


def parse(given: Mapping[str, str], *, streaming: bool) -> SourceOptions:
    """OptionError for what cannot be."""
    options = Options(given)
    properties = options.kafka(REFUSED)
    without_effect = []
    if "group.id" in properties:
        without_effect.append(
            "kafka.group.id names no group here: reading takes none, and kafpy.commit.group commits to one"
        )
    if options.text("groupIdPrefix") is not None:
        without_effect.append("groupIdPrefix has no effect: reading takes no group")
    without_effect += options.unknown(KNOWN)
    if not streaming:
        without_effect += [f"{name} has no effect in a batch query" for name in options.given(OF_STREAMS)]
    ending = options.given(ENDING)
    if streaming and ending:
        refuse(f"{ending[0]} is of batch queries; a streaming query has no end")
    poll_ms = options.whole("kafkaConsumer.pollTimeoutMs")
    if poll_ms is not None:
        properties.setdefault("request.timeout.ms", str(poll_ms))
    most, least = options.whole("maxOffsetsPerTrigger"), options.whole("minOffsetsPerTrigger")
    if most is not None and least is not None and least > most:
        refuse(f"minOffsetsPerTrigger={least} is above maxOffsetsPerTrigger={most}")
    default = LATEST if streaming else EARLIEST
    chosen = _chosen(options)
    return SourceOptions(
        properties=_without_group(properties),
        **chosen,
        starting=_where(options, "starting", default, LATEST if not streaming else None),
        ending=_where(options, "ending", LATEST, EARLIEST),
        unmatched_starts_latest=options.choice("startingOffsetsByTimestampStrategy", ("error", "latest"), "error")
        == "latest",
        fail_on_data_loss=options.flag("failOnDataLoss", True),
        include_headers=options.flag("includeHeaders", False),
        min_partitions=options.whole("minPartitions"),
        max_records_per_partition=options.whole("maxRecordsPerPartition"),
        max_offsets=most,
        min_offsets=least,
        max_delay_ms=_duration(options, "maxTriggerDelay", 900_000),
        read_committed=properties.get("isolation.level", "read_uncommitted") == "read_committed",
        read=options.choice("kafpy.read", (AUTO, TCP, LOCAL), AUTO),
        split_bytes=options.whole("kafpy.split.bytes", 64 << 20) or 0,
        batch_rows=options.whole("kafpy.batch.rows", 10_000) or 0,
        batch_bytes=options.whole("kafpy.batch.bytes", 8 << 20) or 0,
        fetch_bytes=options.whole("kafpy.fetch.bytes", 4 << 20) or 0,
        commit_group=options.text("kafpy.commit.group"),
        metadata_ttl_ms=options.whole("partition.metadata.cache.ttl.ms", -1, least=-1) or 0,
        retries=options.whole("fetchOffset.numRetries", 3, least=0) or 0,
        retry_ms=options.whole("fetchOffset.retryIntervalMs", 1000, least=0) or 0,
        warnings=tuple(without_effect),
    )


def warn(options: SourceOptions) -> None:
    """On the driver's standard error, where Spark sends what its Python processes say."""
    for each in options.warnings:
        warnings.warn(f"kafpy: {each}", stacklevel=3)


def _without_group(properties: Mapping[str, str]) -> dict[str, str]:
    isolation = properties.get("isolation.level", "read_uncommitted")
    if isolation not in ("read_uncommitted", "read_committed"):
        refuse(f"kafka.isolation.level={isolation}: read_uncommitted or read_committed")
    return {name: value for name, value in properties.items() if name != "group.id"}


def _chosen(options: Options) -> dict[str, Any]:
    given = options.given(STRATEGIES)
    if len(given) != 1:
        refuse(f"exactly one of {', '.join(STRATEGIES)} says what is read, not {' and '.join(given) or 'none of them'}")
    text = options.text(given[0]) or ""
    if given[0] == "subscribe":
        topics = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
        if not topics:
            refuse("subscribe is empty: names of topics, with commas between them")
        return {"subscribe": topics}
    if given[0] == "subscribePattern":
        if not text.strip():
            refuse("subscribePattern is empty: a regular expression that whole names of topics match")
        return {"pattern": text.strip()}
    found = _json("assign", text)
    try:
        assigned = {topic: tuple(sorted({int(each) for each in parts})) for topic, parts in found.items()}
    except (TypeError, ValueError):
        refuse(f'assign={text}: JSON such as {{"topic": [0, 1]}}')
    if not any(assigned.values()):
        refuse(f"assign={text} names no partition")
    return {"assign": assigned}


def _where(options: Options, side: str, default: int, forbidden: int | None) -> Where:
    """One time beats times by partition, and these beat offsets, as in Spark's connector."""
    one = options.whole(f"{side}Timestamp", least=0)
    if one is not None:
        return Where(time=one)
    by_time = options.text(f"{side}OffsetsByTimestamp")
    if by_time is not None:
        return Where(times=_by_partition(f"{side}OffsetsByTimestamp", by_time))
    name = f"{side}Offsets"
    text = options.text(name)
    if text is None:
        return Where(everywhere=default)
    word = {"earliest": EARLIEST, "latest": LATEST}.get(text.strip().lower())
    if word is not None:
        if word == forbidden:
            refuse(f"{name}={text}: a batch query would read nothing; {_other(word)} or offsets as JSON")
        return Where(everywhere=word)
    offsets = _by_partition(name, text)
    if any(offset == forbidden for parts in offsets.values() for offset in parts.values()):
        refuse(f"{name}: {forbidden} ({_name(forbidden)}) is not possible in a batch query")
    if any(offset < EARLIEST for parts in offsets.values() for offset in parts.values()):
        refuse(f"{name}: an offset is 0 or more, -2 (earliest) or -1 (latest)")
    return Where(offsets=offsets)


def _name(place: int | None) -> str:
    return "earliest" if place == EARLIEST else "latest"


def _other(place: int) -> str:
    return _name(LATEST if place == EARLIEST else EARLIEST)


def _by_partition(name: str, text: str) -> dict[str, dict[int, int]]:
    found = _json(name, text)
    try:
        return {topic: {int(index): _int(value) for index, value in parts.items()} for topic, parts in found.items()}
    except (AttributeError, TypeError, ValueError):
        refuse(f'{name}={text}: JSON such as {{"topic": {{"0": 23, "1": -2}}}}')


def _int(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError
    return value


def _json(name: str, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        refuse(f"{name}={text}: this is no JSON ({error})")
    if not isinstance(found, dict):
        refuse(f"{name}={text}: a JSON object with topics as its names")
    return found


def _duration(options: Options, name: str, default: int) -> int:
    text = options.text(name)
    if text is None:
        return default
    digits = text.strip().rstrip("abcdefghijklmnopqrstuvwxyz ").strip()
    unit = text.strip()[len(digits) :].strip() or "ms"
    if not digits.isdecimal() or unit not in UNITS:
        refuse(f"{name}={text}: a time such as 500ms, 30s or 15m")
    return int(digits) * UNITS[unit]
