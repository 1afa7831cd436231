"""Batch boundaries of a segment file, for those who read a broker's files beside it."""

def seek(fd: int, start: int, end: int, offset: int) -> int:
    """Where between `start`, where a batch begins, and `end` the first batch begins that reaches `offset`; else where
    the whole batches end. OSError."""
