"""Histograms of how long requests took; see Planes.request_times()."""

def bucket_of(us: int) -> int:
    """The bucket that counts a request of so many microseconds."""

def bounds() -> list[int]:
    """Of each bucket, the first microsecond above it; the last bucket takes all that is longer."""
