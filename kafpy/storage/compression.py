"""Record batch codecs: gzip, snappy (raw and xerial framing), lz4 (Kafka's frame rules), zstd.

decompress() never makes much more than `max_output` bytes, whatever a header claims: what is made is counted, and a
claimed size is compared with the cap before anything is allocated. Each call releases the GIL inside its library.

lz4: one frame of independent blocks without checksums or content size (Lz4BlockOutputStream); readers accept what
LZ4F accepts except linked blocks and dictionaries, as Kafka's reader does.
xerial: 82 'SNAPPY' 00, version i32, compatible i32, then blocks: size i32, raw snappy (SnappyOutputStream).
"""

import struct
from typing import Final

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
CODECS: Final = {"none": NONE, "gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4, "zstd": ZSTD}
DEFAULT_LEVELS: Final = {NONE: 0, GZIP: -1, SNAPPY: 0, LZ4: 9, ZSTD: 3}

_XERIAL: Final = b"\x82SNAPPY\x00"
_XERIAL_BLOCK: Final = 32 * 1024
_SNAPPY_MAX_RATIO: Final = 64
"""Snappy's densest element makes 64 bytes of 3; a claim above that is a lie."""
_ZSTD_MAX_RATIO: Final = 32768
_ZSTD_MAX_WINDOW: Final = 1 << 27
_STEP: Final = 1 << 20


class CompressionError(Exception):
    """The bytes are not what their codec says, or not all of it."""


class TooLarge(CompressionError):
    def __init__(self, max_output: int) -> None:
        super().__init__(f"more than {max_output} bytes when decompressed")


def compress(codec: int, data: bytes, level: int | None = None) -> bytes:
    if codec == NONE:
        return data
    if level is None:
        level = DEFAULT_LEVELS.get(codec, 0)
    if codec == GZIP:
        import zlib

        engine = zlib.compressobj(level, zlib.DEFLATED, 31)
        return engine.compress(data) + engine.flush()
    if codec == SNAPPY:
        return _compress_xerial(data)
    if codec == LZ4:
        return _compress_lz4(data, level)
    if codec == ZSTD:
        import zstandard

        return zstandard.ZstdCompressor(level=level).compress(data)
    raise CompressionError(f"unknown codec {codec}")


def decompress(codec: int, data: bytes, max_output: int) -> bytes:
    if codec == NONE:
        if len(data) > max_output:
            raise TooLarge(max_output)
        return data
    engines = {GZIP: _gunzip, SNAPPY: _unsnappy, LZ4: _unlz4, ZSTD: _unzstd}
    engine = engines.get(codec)
    if engine is None:
        raise CompressionError(f"unknown codec {codec}")
    return engine(data, max_output)


def _compress_xerial(data: bytes) -> bytes:
    import cramjam

    out = [_XERIAL, struct.pack(">ii", 1, 1)]
    for start in range(0, len(data), _XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK]))
        out += [struct.pack(">i", len(block)), block]
    return b"".join(out)


def _compress_lz4(data: bytes, level: int) -> bytes:
    import lz4.frame

    # Kafka's default level 9 names its fast compressor, every other level the high-compression one (Lz4Compression)
    own = 0 if level == DEFAULT_LEVELS[LZ4] else max(3, min(level, 12))
    frame: bytes = lz4.frame.compress(
        data,
        compression_level=own,
        block_size=lz4.frame.BLOCKSIZE_MAX64KB,
        block_linked=False,
        content_checksum=False,
        block_checksum=False,
        store_size=False,
    )
    return frame


def _gunzip(data: bytes, max_output: int) -> bytes:
    import zlib

    out = bytearray()
    rest = data
    # members may follow each other, as Java's GZIPInputStream allows
    while True:
        engine = zlib.decompressobj(31)
        try:
            while not engine.eof:
                piece = engine.decompress(rest, min(_STEP, max_output - len(out) + 1))
                out += piece
                if len(out) > max_output:
                    raise TooLarge(max_output)
                rest = engine.unconsumed_tail
                if not piece and not rest and not engine.eof:
                    raise CompressionError("gzip: the data ends early")
        except zlib.error as error:
            raise CompressionError(f"gzip: {error}") from None
        rest = engine.unused_data
        if not rest:
            return bytes(out)


def _unsnappy(data: bytes, max_output: int) -> bytes:
    if not data.startswith(_XERIAL):
        return _snappy_block(data, max_output, max_output)
    out = bytearray()
    position = len(_XERIAL) + 8
    if len(data) < position:
        raise CompressionError("snappy: the data ends early")
    while position < len(data):
        if position + 4 > len(data):
            raise CompressionError("snappy: the data ends early")
        size = int.from_bytes(data[position : position + 4], "big")
        position += 4
        if size == 0 or size > len(data) - position:
            raise CompressionError("snappy: a block's size is wrong")
        out += _snappy_block(data[position : position + size], max_output - len(out), max_output)
        position += size
    return bytes(out)


def _snappy_block(data: bytes, room: int, max_output: int) -> bytes:
    import cramjam

    claimed = shift = 0
    for position in range(5):
        if position >= len(data):
            raise CompressionError("snappy: the data ends early")
        claimed |= (data[position] & 0x7F) << shift
        shift += 7
        if not data[position] & 0x80:
            break
    else:
        raise CompressionError("snappy: malformed length")
    if claimed > _SNAPPY_MAX_RATIO * len(data):
        raise CompressionError("snappy: a block claims more than it can hold")
    if claimed > room:
        raise TooLarge(max_output)
    try:
        return bytes(cramjam.snappy.decompress_raw(data))
    except cramjam.DecompressionError as error:
        raise CompressionError(f"snappy: {error}") from None


def _unlz4(data: bytes, max_output: int) -> bytes:
    import lz4.frame

    _check_lz4_header(data)
    engine = lz4.frame.LZ4FrameDecompressor()
    out = bytearray()
    piece = data
    try:
        while not engine.eof:
            made = engine.decompress(piece, max_length=min(_STEP, max_output - len(out) + 1))
            piece = b""
            out += made
            if len(out) > max_output:
                raise TooLarge(max_output)
            if not made and not engine.eof and engine.needs_input:
                raise CompressionError("lz4: the data ends early")
    except RuntimeError as error:
        raise CompressionError(f"lz4: {error}") from None
    if engine.unused_data:
        raise CompressionError("lz4: bytes after the frame")
    return bytes(out)


def _check_lz4_header(data: bytes) -> None:
    if len(data) < 7 or data[:4] != b"\x04\x22\x4d\x18":
        raise CompressionError("lz4: no frame")
    flags = data[4]
    if flags >> 6 != 1:
        raise CompressionError("lz4: unknown frame version")
    if not flags & 0x20:
        raise CompressionError("lz4: linked blocks are not allowed")
    if flags & 0x01:
        raise CompressionError("lz4: dictionaries are not allowed")


def _unzstd(data: bytes, max_output: int) -> bytes:
    import zstandard

    out: list[bytes] = []
    made = 0
    rest = memoryview(data)
    if not rest:
        raise CompressionError("zstd: the data ends early")
    # zstd-jni's stream reads frame after frame
    while rest:
        engine = zstandard.ZstdDecompressor(max_window_size=_ZSTD_MAX_WINDOW).decompressobj()
        try:
            while not engine.eof:
                if not rest:
                    raise CompressionError("zstd: the data ends early")
                # decompressobj() cannot stop in the middle of its input: a slice so small that even the densest frame
                # cannot pass the cap by more than what is left of it
                step = 64 + (max_output - made) // _ZSTD_MAX_RATIO
                piece = engine.decompress(rest[:step])
                rest = rest[step:]
                out.append(piece)
                made += len(piece)
                if made > max_output:
                    raise TooLarge(max_output)
        except zstandard.ZstdError as error:
            raise CompressionError(f"zstd: {error}") from None
        if engine.unused_data:
            rest = memoryview(engine.unused_data + bytes(rest))
    return b"".join(out)
