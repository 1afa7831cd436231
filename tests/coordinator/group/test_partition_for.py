"""The same partition as Java computes: `("…".hashCode() & 0x7fffffff) % 50` in jshell."""

import pytest

from kafpy.coordinator.group.partition_for import partition_for


@pytest.mark.parametrize(
    ("group_id", "of_50", "of_7"),
    [
        ("", 0, 0),
        ("a", 47, 6),
        ("console-consumer-12345", 6, 6),
        ("polygenelubricants", 0, 0),  # Integer.MIN_VALUE, which Math.abs would leave negative
        ("grüße", 23, 4),
        ("漢字", 33, 2),
        ("🎈", 10, 6),
        ("a🎈b", 35, 5),
        ("\ud800", 46, 3),
        ("group/../x\0", 15, 6),
    ],
)
def test_as_java(group_id: str, of_50: int, of_7: int) -> None:
    assert partition_for(group_id, 50) == of_50
    assert partition_for(group_id, 7) == of_7
    assert partition_for(group_id, 1) == 0
