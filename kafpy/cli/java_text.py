"""What Java prints where a tool's output is to be the same to the byte."""

from collections.abc import Collection
from decimal import Decimal


def double_text(value: float) -> str:
    """Double.toString: digits between 10^-3 and 10^7, else a mantissa and E."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return str(value) if "e" not in repr(value) else f"{value:f}"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    first, rest = digits[0], "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{first}.{rest}E{len(digits) - 1 + exponent}"


def map_order(keys: Collection[str]) -> list[str]:
    """As a java.util.HashMap made for so many keys gives them; those of one bucket keep the order they came in."""
    buckets = 1
    while len(keys) > buckets * 3 // 4:
        buckets *= 2
    return sorted(keys, key=lambda key: _spread(key) % buckets)


def _spread(key: str) -> int:
    code = 0
    for unit in memoryview(key.encode("utf-16-le")).cast("H"):
        code = (31 * code + unit) & 0xFFFFFFFF
    return code ^ (code >> 16)
