"""Bytes along a partition: how many lie before an offset, by what is known of some offsets. Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

UNKNOWN_WEIGHT = 1000.0
"""Bytes of a record where nobody could say."""


class Ruler:
    """Between two marks bytes are spread evenly over offsets; outside, as they are on average."""

    def __init__(self, marks: Sequence[tuple[int, int]] = (), *, exact: bool = False) -> None:
        """`marks`: offsets and bytes before them, ascending. `exact`: batches begin there."""
        self._offsets = [offset for offset, _ in marks]
        self._bytes = [before for _, before in marks]
        self._exact = exact and bool(marks)
        self._weight = UNKNOWN_WEIGHT
        if len(marks) > 1 and self._offsets[-1] > self._offsets[0]:
            length = self._bytes[-1] - self._bytes[0]
            self._weight = max(1.0, length / (self._offsets[-1] - self._offsets[0]))

    def size(self, start: int, end: int) -> float:
        return max(self.before(end) - self.before(start), float(end - start))

    def before(self, offset: int) -> float:
        at = bisect_right(self._offsets, offset)
        if at == 0:
            return (self._bytes[0] if self._bytes else 0) - self._weight * (self._first - offset)
        if at == len(self._offsets):
            return self._bytes[-1] + self._weight * (offset - self._offsets[-1])
        low, high = self._offsets[at - 1], self._offsets[at]
        share = (offset - low) / (high - low)
        return self._bytes[at - 1] + share * (self._bytes[at] - self._bytes[at - 1])

    @property
    def _first(self) -> int:
        return self._offsets[0] if self._offsets else 0

    def cut(self, start: int, end: int, parts: int) -> list[int]:
        """Offsets that cut a range into at most so many parts of about one size; on batches where those are known."""
        piece = self.size(start, end) / parts
        origin = self.before(start)
        cuts = {self._near(origin + piece * number, piece / 4) for number in range(1, parts)}
        return sorted(each for each in cuts if start < each < end)

    def _near(self, wanted: float, tolerance: float) -> int:
        at = bisect_left(self._bytes, wanted)
        if self._exact:
            nearest = min(
                range(max(at - 1, 0), min(at + 1, len(self._bytes))), key=lambda i: abs(self._bytes[i] - wanted)
            )
            if abs(self._bytes[nearest] - wanted) <= tolerance:
                return self._offsets[nearest]
        if at == 0:
            return round(self._first + (wanted - (self._bytes[0] if self._bytes else 0)) / self._weight)
        if at == len(self._bytes):
            return round(self._offsets[-1] + (wanted - self._bytes[-1]) / self._weight)
        low, high = self._bytes[at - 1], self._bytes[at]
        share = (wanted - low) / (high - low)
        return round(self._offsets[at - 1] + share * (self._offsets[at] - self._offsets[at - 1]))
