"""A Produce whose topics ask to see inside compressed batches, or to keep them in another codec, or whose batches do
not say how new they are.

The plane hands such a request over and serves nothing else of that connection meanwhile. A helper thread opens each
batch under a cap, checks its records, recompresses it where compression.type says so; then the plane appends it as
usual, with the error of each partition that did not pass. Anything this file does not understand is left as it is: the
plane's own checks refuse it.
"""

from array import array
from typing import Any

import trio

from kafpy._core.plane import Planes, Request
from kafpy.broker.opened_batch import Refused, open_batch
from kafpy.broker.state import BrokerState
from kafpy.broker.topic_config import Opening
from kafpy.protocol import MalformedRequest, codec

OPENED_AT_A_TIME = 2


class ProduceFallthrough:
    def __init__(self, planes: Planes, state: BrokerState) -> None:
        self._planes = planes
        self._state = state
        self._limit = trio.CapacityLimiter(OPENED_AT_A_TIME)

    async def serve(self, request: Request) -> None:
        try:
            header, body = codec.read_request(request.frame)
        except (MalformedRequest, codec.UnsupportedVersion):
            self._planes.reject(request.token)
            return
        entries = [
            (partition, self._opening(topic, header.api_version))
            for topic in body.topic_data
            for partition in topic.partition_data
        ]
        errors, changed = await trio.to_thread.run_sync(_open_all, entries, header.api_version, limiter=self._limit)
        frame = request.frame
        if changed:
            frame = codec.write_request(0, header.api_version, header.correlation_id, header.client_id, body)
        self._planes.resubmit(request.token, frame, errors)

    def _opening(self, topic: Any, version: int) -> Opening | None:
        if version < 13:
            return self._state.partitions.opening(topic.name)
        known = self._state.image.topic_by_id(topic.topic_id)
        return None if known is None else self._state.partitions.opening(known.name)


def _open_all(entries: list[tuple[Any, Opening | None]], version: int) -> tuple[bytes, bool]:
    """One int16 per entry, and whether any records were replaced."""
    errors = array("h", bytes(2 * len(entries)))
    changed = False
    for position, (partition, opening) in enumerate(entries):
        if opening is None or not partition.records:
            continue
        try:
            replaced = open_batch(bytes(partition.records), opening, version)
        except Refused as refused:
            errors[position] = refused.code
            continue
        if replaced is not None:
            partition.records = replaced
            changed = True
    return errors.tobytes(), changed
