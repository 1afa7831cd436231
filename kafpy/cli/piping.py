"""From a file descriptor into a producer, as fast as both go.

While input keeps coming, only full batches go out; when it pauses, what there is goes out as soon as nothing else is
under way, so that a slow writer waits for nobody and a fast one gets large batches. Reading stops while more than
`held_bytes` wait for the brokers.
"""

import os
import select
import sys
import time
from collections.abc import Callable

from kafpy.client.producer import Producer

BLOCK = 1 << 18
LONGEST_LINE = 1 << 28
Feed = Callable[[bytes, int, bool], int]
"""feed(data, now_ms, last): packs what is whole, or all of it with `last`; the bytes that are done with."""


class TooLong(ValueError):
    """A line that no broker would take."""


def pipe(
    source: int,
    producer: Producer,
    feed: Feed,
    *,
    held_bytes: int = 32 << 20,
    prompt: bool = False,
    each_turn: Callable[[], None] | None = None,
) -> None:
    """Until the input ends and everything is delivered or has failed."""
    rest = b""
    if prompt:
        _prompt()
    while True:
        if not _readable(source, producer):
            continue
        block = os.read(source, BLOCK)
        data = rest + block if rest else block
        done = feed(data, time.time_ns() // 1_000_000, not block)
        rest = data[done:]
        if not block:
            break
        if len(rest) > LONGEST_LINE:
            raise TooLong(f"a line is longer than {LONGEST_LINE} bytes")
        producer.pump()
        while producer.held > held_bytes:
            producer.pump(flush=True, wait_s=0.1)
        if prompt and not rest:
            producer.flush()
            _prompt()
        if each_turn is not None:
            each_turn()
    producer.flush()


def _readable(source: int, producer: Producer) -> bool:
    """Whether there is input; where there is none, sends and waits for what comes first."""
    if select.select([source], [], [], 0)[0]:
        return True
    producer.pump(flush=not producer.under_way)
    waiting = producer.connections()
    timeout = 0.1 if producer.held else None
    descriptors = [source, *(each.fileno() for each in waiting)]
    return source in select.select(descriptors, [], [], timeout)[0]


def _prompt() -> None:
    sys.stdout.write(">")
    sys.stdout.flush()
