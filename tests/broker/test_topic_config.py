import pytest

from kafpy.broker.settings import Settings
from kafpy.broker.topic_config import CONFIGS, Effective, validate
from kafpy.metadata import MetadataError


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("no.such", "1", "Unknown topic config name: no.such"),
        ("segment.bytes", "x", "Invalid value x for configuration segment.bytes: Not a number of type INT"),
        ("segment.bytes", "1", "Invalid value 1 for configuration segment.bytes: Value must be at least 1048576"),
        ("retention.ms", "-2", "Invalid value -2 for configuration retention.ms: Value must be at least -1"),
        (
            "preallocate",
            "1",
            "Invalid value 1 for configuration preallocate: Expected value to be either true or false",
        ),
        ("min.cleanable.dirty.ratio", "2", "between 0.0 and 1.0"),
        ("remote.storage.enable", "true", "Tiered Storage functionality is disabled"),
        ("leader.replication.throttled.replicas", "0:1,zzz", "[partitionId]:[brokerId]"),
        ("segment.ms", None, "Null value not supported for topic configs: segment.ms"),
    ],
)
def test_refusals_speak_as_kafka(name: str, text: str | None, message: str) -> None:
    with pytest.raises(MetadataError) as caught:
        validate({name: text})
    assert caught.value.code == 40
    assert message in caught.value.message


def test_a_topic_overrides_the_broker() -> None:
    settings = Settings(log_segment_bytes=2**21, log_roll_ms=77)
    plain = Effective(settings, {}).log_settings()
    assert plain["segment_bytes"] == 2**21
    assert plain["segment_ms"] == 77
    assert not plain["open_batches"]
    own = Effective(settings, {"segment.bytes": "1048576", "message.timestamp.type": "LogAppendTime"}).log_settings()
    assert own["segment_bytes"] == 2**20
    assert own["log_append_time"]


@pytest.mark.parametrize(
    "configs",
    [{"cleanup.policy": "compact,delete"}, {"kafpy.validate.compressed": "true"}],
)
def test_who_opens_batches(configs: dict[str, str]) -> None:
    assert Effective(Settings(), configs).log_settings()["open_batches"]


def test_compression_levels_go_with_their_codec() -> None:
    made = Effective(Settings(), {"compression.type": "zstd", "compression.zstd.level": "7"}).opening()
    assert (made.codec, made.level) == ("zstd", 7)
    assert Effective(Settings(), {"compression.type": "uncompressed"}).opening().codec == "none"
    assert Effective(Settings(), {}).opening().codec is None
    assert Effective(Settings(), {}).log_settings()["target_codec"] == -1
    for name, codec in (("uncompressed", 0), ("gzip", 1), ("snappy", 2), ("lz4", 3), ("zstd", 4)):
        settings = Effective(Settings(compression_type=name), {}).log_settings()
        assert (settings["target_codec"], settings["open_batches"]) == (codec, False)


def test_every_default_names_a_setting() -> None:
    for config in CONFIGS.values():
        assert config.setting is None or hasattr(Settings(), config.setting)
