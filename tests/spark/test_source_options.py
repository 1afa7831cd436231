"""Options of a read: names, defaults, refusals, and what is said of those without effect. Pure."""

import pytest

from spark_source.options import OptionError
from spark_source.source_options import EARLIEST, LATEST, SourceOptions, Where, parse

BASE = {"kafka.bootstrap.servers": "b:1", "subscribe": "t"}


def parsed(*, streaming: bool = False, **given: str) -> SourceOptions:
    return parse({**BASE, **{name.replace("_", "."): value for name, value in given.items()}}, streaming=streaming)


def test_defaults() -> None:
    batch, stream = parsed(), parsed(streaming=True)
    assert (batch.starting, stream.starting) == (Where(everywhere=EARLIEST), Where(everywhere=LATEST))
    assert batch.ending == Where(everywhere=LATEST)
    assert (batch.subscribe, batch.fail_on_data_loss, batch.max_delay_ms) == (("t",), True, 900_000)
    assert batch.warnings == stream.warnings == ()


def test_names_in_any_case() -> None:
    found = parse({name.upper(): value for name, value in {**BASE, "minPartitions": "3"}.items()}, streaming=False)
    assert (found.min_partitions, found.properties["bootstrap.servers"]) == (3, "b:1")


def test_a_time_beats_times_and_they_beat_offsets() -> None:
    times, offsets = '{"t": {"0": 5}}', '{"t": {"0": 7}}'
    assert parsed(startingOffsets=offsets).starting == Where(offsets={"t": {0: 7}})
    assert parsed(startingOffsets=offsets, startingOffsetsByTimestamp=times).starting == Where(times={"t": {0: 5}})
    assert parsed(startingOffsetsByTimestamp=times, startingTimestamp="9").starting == Where(time=9)


@pytest.mark.parametrize(("text", "ms"), [("500ms", 500), ("30s", 30_000), ("15m", 900_000), ("2 h", 7_200_000)])
def test_delays(text: str, ms: int) -> None:
    assert parsed(streaming=True, maxTriggerDelay=text).max_delay_ms == ms


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"startingOffset": "earliest"}, "there is no option startingoffset; is startingOffsets meant?"),
        ({"colour": "blue"}, "there is no option colour"),
        ({"maxOffsetsPerTrigger": "5"}, "maxOffsetsPerTrigger has no effect in a batch query"),
        ({"groupIdPrefix": "x"}, "groupIdPrefix has no effect: reading takes no group"),
        ({"kafka_group_id": "x"}, "kafka.group.id names no group here: reading takes none"),
    ],
)
def test_what_has_no_effect_is_said(given: dict[str, str], said: str) -> None:
    found = parsed(**given)
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith(said)


@pytest.mark.parametrize(
    "given",
    [
        {"assign": '{"t": [0]}'},
        {"startingOffsets": "latest"},
        {"endingOffsets": "earliest"},
        {"endingOffsets": '{"t": {"0": -2}}'},
        {"startingOffsets": '{"t": {"0": -3}}'},
        {"startingOffsets": '{"t": {"0": true}}'},
        {"startingOffsets": "[]"},
        {"startingOffsets": "{"},
        {"minPartitions": "0"},
        {"failOnDataLoss": "perhaps"},
        {"kafpy_read": "files"},
        {"kafka_isolation_level": "serializable"},
        {"kafka_enable_auto_commit": "true"},
        {"kafka_key_deserializer": "x"},
        {"kafka_bootstrap_servers": " "},
        {"subscribe": " , "},
    ],
)
def test_what_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(OptionError):
        parsed(**given)
