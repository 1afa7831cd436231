"""Kafka's codecs by the libraries themselves, so that batch tests stand on nothing else of ours."""

import struct
import zlib
from collections.abc import Callable

import cramjam
import lz4.frame
import zstandard

XERIAL = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)


def gzip(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=31)
    return packer.compress(data) + packer.flush()


def snappy(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


def snappy_xerial(data: bytes, block: int = 32768) -> bytes:
    """As the JVM's clients frame it: blocks, each with its packed size."""
    parts = [snappy(data[start : start + block]) for start in range(0, len(data), block)]
    return XERIAL + b"".join(struct.pack(">i", len(part)) + part for part in parts)


def lz4_frame(data: bytes) -> bytes:
    return bytes(lz4.frame.compress(data, block_linked=False))


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


COMPRESS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "gzip": (1, gzip),
    "snappy": (2, snappy),
    "snappy-xerial": (2, snappy_xerial),
    "lz4": (3, lz4_frame),
    "zstd": (4, zstd),
}


def open_snappy(data: bytes) -> bytes:
    if not data.startswith(XERIAL[:8]):
        return bytes(cramjam.snappy.decompress_raw(data))
    parts, place = [], len(XERIAL)
    while place < len(data):
        (size,) = struct.unpack_from(">i", data, place)
        parts.append(bytes(cramjam.snappy.decompress_raw(data[place + 4 : place + 4 + size])))
        place += 4 + size
    return b"".join(parts)


def decompress(codec: int, payload: bytes | memoryview) -> bytes:
    data = bytes(payload)
    if codec == 1:
        return zlib.decompress(data, wbits=31)
    if codec == 2:
        return open_snappy(data)
    if codec == 3:
        return bytes(lz4.frame.decompress(data))
    return zstandard.ZstdDecompressor().decompressobj().decompress(data)
