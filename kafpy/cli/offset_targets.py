"""Where a reset takes a group's offsets: kafka-consumer-groups' scopes and targets, read and worked out. Pure."""

import csv
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

TopicPartition = tuple[str, int]

_DURATION = re.compile(
    r"(?P<sign>-)?P(?:(?P<weeks>\d+)W)?(?:(?P<days>\d+)D)?"
    r"(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?\Z"
)


class TargetError(ValueError):
    """One line for the user."""


def parse_topics(words: Iterable[str]) -> dict[str, set[int] | None]:
    """`topic` or `topic:0,1`; None for all partitions."""
    found: dict[str, set[int] | None] = {}
    for word in words:
        name, colon, indexes = word.partition(":")
        if colon and not all(each.strip().isdecimal() for each in indexes.split(",")):
            raise TargetError(f"--topic {word}: not TOPIC or TOPIC:PARTITION,PARTITION")
        if not colon:
            found[name] = None
        elif found.setdefault(name, set()) is not None:
            found[name] = (found[name] or set()) | {int(each) for each in indexes.split(",")}
    return found


def parse_datetime(text: str) -> int:
    """`YYYY-MM-DDThh:mm:ss.sss`, UTC unless it ends in an offset; milliseconds."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise TargetError(f"{text!r} is not a time like 2026-11-18T09:30:00.000") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


def parse_duration(text: str) -> int:
    """ISO 8601, `P1DT2H`; milliseconds."""
    match = _DURATION.match(text.strip().upper())
    if match is None or not any(value for name, value in match.groupdict().items() if name != "sign"):
        raise TargetError(f"{text!r} is not a duration like PT30M or P1DT2H")
    parts = {name: float(value) for name, value in match.groupdict().items() if value and name != "sign"}
    length = timedelta(**parts)
    return round(length.total_seconds() * 1000) * (-1 if match["sign"] else 1)


def read_plan(lines: Iterable[str], group_id: str) -> dict[TopicPartition, int]:
    """`topic,partition,offset`, or with the group in front; other groups' lines are left out."""
    plan = {}
    for number, row in enumerate(csv.reader(lines), 1):
        if not row:
            continue
        fields = [each.strip() for each in row]
        if len(fields) == 4 and fields[0] != group_id:
            continue
        try:
            topic, partition, offset = fields[-3:]
            plan[topic, int(partition)] = int(offset)
        except ValueError:
            raise TargetError(f"line {number} of the plan is not TOPIC,PARTITION,OFFSET") from None
        if len(fields) > 4:
            raise TargetError(f"line {number} of the plan is not TOPIC,PARTITION,OFFSET")
    return plan


def shifted(
    current: Mapping[TopicPartition, int | None],
    by: int,
) -> dict[TopicPartition, int]:
    missing = [f"{topic}-{index}" for (topic, index), offset in current.items() if offset is None]
    if missing:
        raise TargetError(f"no offset is committed for {', '.join(missing)}: there is nothing to shift")
    return {each: offset + by for each, offset in current.items() if offset is not None}


def bounded(
    wanted: Mapping[TopicPartition, int], first: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]
) -> tuple[dict[TopicPartition, int], list[str]]:
    """Offsets within their logs, and a warning for each that was not."""
    plan, warnings = {}, []
    for (topic, index), offset in wanted.items():
        low, high = first[topic, index], end[topic, index]
        plan[topic, index] = min(max(offset, low), high)
        if offset < low:
            warnings.append(
                f"New offset ({offset}) is lower than earliest offset for topic partition {topic}-{index}. "
                f"Value will be set to {low}"
            )
        elif offset > high:
            warnings.append(
                f"New offset ({offset}) is higher than latest offset for topic partition {topic}-{index}. "
                f"Value will be set to {high}"
            )
    return plan, warnings
