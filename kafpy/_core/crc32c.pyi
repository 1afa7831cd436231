"""CRC-32C, the checksum of Kafka's record batches; the kernel is chosen once, at import, by what the CPU can do."""

from typing_extensions import Buffer

IMPLEMENTATION: str
"""The kernel in use: "avx512", "avx2", "sse42", "armv8" or "table"."""

def crc32c(data: Buffer, crc: int = 0) -> int:
    """The CRC of `data`, continued from `crc`. Releases the GIL."""

def kernels() -> list[str]:
    """The kernels this CPU can run, fastest first."""

def crc32c_with(name: str, data: Buffer, crc: int = 0) -> int:
    """`crc32c` by the kernel of that name, for tests and benchmarks; ValueError where the CPU lacks it."""
