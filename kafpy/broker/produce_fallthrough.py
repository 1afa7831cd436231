"""A Produce whose topics ask to see inside compressed batches, or to keep them in another codec.

The plane hands such a request over and serves nothing else of that connection meanwhile. A helper thread opens each
batch under a cap, checks its records, recompresses it where compression.type says so; then the plane appends it as
usual, with the error of each partition that did not pass. Anything this file does not understand is left as it is: the
plane's own checks refuse it.
"""

from array import array
from typing import Any

import trio

from kafpy._core.plane import Planes, Request
from kafpy.broker.state import BrokerState
from kafpy.broker.topic_config import Opening
from kafpy.protocol import MalformedRequest, codec
from kafpy.protocol.errors import ErrorCode
from kafpy.storage import compression

MAX_OPENED_BYTES = 64 << 20
OPENED_AT_A_TIME = 2

HEADER_BYTES = 61
ZSTD_SINCE = 7
"""The version of Produce from which zstd is allowed (KIP-110)."""


class Refused(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


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
        if opening is None or not opening.needed or not partition.records:
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


def open_batch(data: bytes, opening: Opening, version: int) -> bytes | None:
    """The batch in the topic's codec when that is another one, else None. Refused when its records are not sound."""
    from kafpy._core import batch

    try:
        header = batch.header(data)
    except batch.CorruptBatch:
        return None
    target = header.codec if opening.codec is None else compression.CODECS[opening.codec]
    if header.codec == target == compression.NONE or header.codec > compression.ZSTD:
        return None
    if (
        header.size != len(data)
        or not batch.intact(data)
        or (header.codec == compression.ZSTD and version < ZSTD_SINCE)
    ):
        return None
    records = _decompress(header.codec, data[HEADER_BYTES:])
    error = batch.check_records(
        records, header.record_count, base_timestamp=header.base_timestamp, keys_required=opening.keys_required
    )
    if error:
        raise Refused(error)
    if target == header.codec:
        return None
    return batch.rebuild(header, target, compression.compress(target, records, opening.level))


def _decompress(codec_id: int, data: bytes) -> bytes:
    try:
        return compression.decompress(codec_id, data, MAX_OPENED_BYTES)
    except compression.TooLarge:
        raise Refused(ErrorCode.MESSAGE_TOO_LARGE) from None
    except compression.CompressionError:
        raise Refused(ErrorCode.INVALID_RECORD) from None
