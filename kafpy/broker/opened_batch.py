"""Looks inside one compressed record batch: its records checked under a cap, its codec changed where a topic says so,
its newest time written into the header where it is missing.

Runs on a helper thread. A batch that the plane's own checks refuse anyway (header, length, CRC) is left to them.
"""

from kafpy._core import batch
from kafpy.broker.topic_config import Opening
from kafpy.protocol.errors import ErrorCode
from kafpy.storage import compression

MAX_OPENED_BYTES = 64 << 20
HEADER_BYTES = 61
ZSTD_SINCE = 7
"""The version of Produce from which zstd is allowed (KIP-110)."""


class Refused(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def open_batch(data: bytes, opening: Opening, version: int) -> bytes | None:
    """The batch in the topic's codec and with its newest time in the header (Sarama leaves -1 there), None when it is
    both already. Refused when its records are not sound."""
    try:
        header = batch.header(data)
    except batch.CorruptBatch:
        return None
    untimed = header.max_timestamp < header.base_timestamp
    if not opening.needed and not untimed:
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
    if untimed:
        newest = batch.max_timestamp(records, header.record_count, header.base_timestamp)
        header = header._replace(max_timestamp=newest)
    if target == header.codec:
        return batch.rebuild(header, target, data[HEADER_BYTES:]) if untimed else None
    return batch.rebuild(header, target, compression.compress(target, records, opening.level))


def _decompress(codec_id: int, data: bytes) -> bytes:
    try:
        return compression.decompress(codec_id, data, MAX_OPENED_BYTES)
    except compression.TooLarge:
        raise Refused(ErrorCode.MESSAGE_TOO_LARGE) from None
    except compression.CompressionError:
        raise Refused(ErrorCode.INVALID_RECORD) from None
