"""What a producer is told by properties, and what does not go together."""

import pytest

from kafpy.client.producer import Policy
from kafpy.client.producer_settings import policy
from kafpy.client.security import SettingsError


def test_defaults_are_the_java_clients() -> None:
    assert policy({}) == Policy(idempotent=True)


def test_every_property() -> None:
    told = {
        "acks": "1",
        "compression.type": "zstd",
        "compression.zstd.level": "7",
        "compression.lz4.level": "2",
        "batch.size": "5",
        "max.request.size": "6",
        "max.in.flight.requests.per.connection": "7",
        "retries": "8",
        "retry.backoff.ms": "9",
        "request.timeout.ms": "10",
        "delivery.timeout.ms": "11",
        "max.block.ms": "12",
        "linger.ms": "13",
    }
    assert policy(told, crc_keys=True) == Policy(
        acks=1,
        codec=4,
        level=7,
        batch_bytes=5,
        request_bytes=6,
        in_flight=7,
        retries=8,
        backoff_s=0.009,
        request_timeout_s=0.01,
        delivery_timeout_s=0.011,
        max_block_s=0.012,
        crc_keys=True,
    )


@pytest.mark.parametrize(
    ("told", "idempotent"),
    [
        ({"acks": "all"}, True),
        ({"acks": "-1", "enable.idempotence": "false"}, False),
        ({"acks": "0"}, False),
        ({"retries": "0"}, False),
        ({"max.in.flight.requests.per.connection": "6"}, False),
        ({"enable.idempotence": "TRUE"}, True),
    ],
)
def test_idempotent_where_it_can_be(told: dict[str, str], idempotent: bool) -> None:
    assert policy(told).idempotent is idempotent


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"acks": "2"}, "acks can be 0, 1 or all, not 2"),
        ({"compression.type": "brotli"}, "no codec brotli: there are none, gzip, snappy, lz4, zstd"),
        ({"batch.size": "big"}, "batch.size=big is not a number"),
        ({"enable.idempotence": "true", "acks": "1"}, "enable.idempotence=true needs acks=all"),
        (
            {"enable.idempotence": "true", "retries": "0", "max.in.flight.requests.per.connection": "9"},
            "needs retries of 1 or more and max.in.flight.requests.per.connection up to 5",
        ),
    ],
)
def test_what_makes_no_sense(told: dict[str, str], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        policy(told)
