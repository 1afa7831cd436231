"""From a consumer to standard output by a template, until enough is printed, the end is reached or nothing comes.

Output goes out with plain writes of whole blocks, so what is printed is there, and a reader that has gone ends it all
quietly.
"""

import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn, Protocol

from kafpy._core.batch import CorruptBatch
from kafpy._core.templates import Template
from kafpy.cli.progress import Progress
from kafpy.client.cluster import TopicPartition
from kafpy.client.consumer import Fetched, opened

ALL = (1 << 63) - 1
STDOUT = 1


class Source(Protocol):
    def poll(self, timeout_s: float = 0.5) -> list[Fetched]: ...


@dataclass
class Printed:
    count: int = 0
    timed_out: bool = False
    interrupted: bool = False
    read: dict[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Limits:
    most: int | None = None
    idle_s: float | None = None
    """Without a message for so long: done."""
    skip_damaged: bool = False


def print_all(
    source: Source,
    template: Template,
    limits: Limits,
    *,
    finished: Callable[[], bool],
    ends: Mapping[TopicPartition, int],
    read: dict[TopicPartition, int] | None = None,
    each_turn: Callable[[], None] | None = None,
) -> Printed:
    """read: filled with the offset after the last printed record, by partition."""
    done = Printed(read={} if read is None else read)
    progress = Progress("received", wanted=not sys.stdout.isatty())
    last = time.monotonic()
    try:
        while not finished() and (limits.most is None or done.count < limits.most):
            for fetched in source.poll(0.2):
                before = done.count
                _print(fetched, template, limits, ends, done)
                if done.count > before:
                    last = time.monotonic()
            progress.show(done.count)
            if each_turn is not None:
                each_turn()
            if limits.idle_s is not None and time.monotonic() - last > limits.idle_s:
                done.timed_out = True
                break
    except KeyboardInterrupt:
        done.interrupted = True
    progress.clear()
    return done


def _print(
    fetched: Fetched, template: Template, limits: Limits, ends: Mapping[TopicPartition, int], done: Printed
) -> None:
    most = ALL if limits.most is None else limits.most - done.count
    if most <= 0:
        return
    partition = fetched.topic, fetched.partition
    try:
        text, count, next_offset = template.render(
            fetched.records,
            opened,
            topic=fetched.topic.encode(),
            partition=fetched.partition,
            start=fetched.start,
            stop=ends.get(partition, ALL),
            most=most,
            index=done.count,
            broker=fetched.leader,
        )
    except CorruptBatch as error:
        if not limits.skip_damaged:
            raise
        sys.stderr.write(f"kafpy: {fetched.topic} [{fetched.partition}]: {error}; passed over\n")
        done.read[partition] = fetched.end
        return
    write(text)
    done.count += count
    done.read[partition] = fetched.end if count < most else next_offset


def write(text: bytes) -> None:
    """All of it; ends the program without a word when nobody reads any more."""
    view = memoryview(text)
    while view:
        try:
            view = view[os.write(STDOUT, view) :]
        except BrokenPipeError:
            _leave()


def _leave() -> NoReturn:
    """As a pipe's writer whose reader has gone: no message, and nothing left for Python to flush into it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)
    raise SystemExit(0)
