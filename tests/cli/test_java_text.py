import pytest

from kafpy.cli.java_text import double_text, map_order


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (1024.0, "1024.0"),
        (0.001, "0.001"),
        (0.0005, "5.0E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (123456789.0, "1.23456789E8"),
        (-1.5e300, "-1.5E300"),
        (0.1, "0.1"),
    ],
)
def test_doubles_as_java_prints_them(value: float, text: str) -> None:
    assert double_text(value) == text


def test_the_order_of_a_hash_map() -> None:
    """As kafka-configs prints quotas."""
    assert map_order(["producer_byte_rate", "consumer_byte_rate"]) == ["consumer_byte_rate", "producer_byte_rate"]
    assert map_order(["request_percentage", "producer_byte_rate", "consumer_byte_rate"]) == [
        "consumer_byte_rate",
        "request_percentage",
        "producer_byte_rate",
    ]
    assert map_order(
        ["request_percentage", "controller_mutation_rate", "producer_byte_rate", "consumer_byte_rate"]
    ) == [
        "producer_byte_rate",
        "consumer_byte_rate",
        "controller_mutation_rate",
        "request_percentage",
    ]
