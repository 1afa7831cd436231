"""Topic-level configs: Kafka's names (LogConfig), their types, and the broker settings that are their defaults.

One table serves validation (CreateTopics, AlterConfigs) and the effective config of a topic's logs.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypedDict

from kafpy.broker.setting_types import (
    LONG_MAX,
    Choice,
    Flag,
    Fraction,
    Kind,
    SettingError,
    Value,
    Whole,
    Words,
    to_text,
)
from kafpy.broker.settings import COMPRESSION_TYPES, TIMESTAMP_TYPES, Settings, honoured
from kafpy.metadata import MetadataError
from kafpy.storage.compression import CODECS

INVALID_CONFIG = 40
MAX_VALUE_BYTES = 32767
TOO_LONG = (
    f"The configuration value cannot be added because it exceeds the maximum value size of {MAX_VALUE_BYTES} bytes."
)
AS_SENT = -1
"""For target_codec: no recompression."""

_LONG = Whole(0, LONG_MAX)
_RETENTION = Whole(-1, LONG_MAX)
_THROTTLED = re.compile(r"[0-9]+:[0-9]+")
_LOCAL_RETENTION = Whole(-2, LONG_MAX)


_FINEST = {
    "segment_ms": "log.roll.ms",
    "segment_jitter_ms": "log.roll.jitter.ms",
    "retention_ms": "log.retention.ms",
}
"""Where several keys give a setting."""
_NAMES = {field.name: name for name, field in honoured().items()}


class Config(NamedTuple):
    kind: Kind
    setting: str | None = None
    """The field of Settings that gives the default; None: accepted and kept, without effect in this broker."""
    broker_key: str | None = None
    """Where there is no such field: the broker key that Kafka would name with the default, if any."""
    default: str = ""

    @property
    def synonym(self) -> str | None:
        """The broker key that the default comes from (ServerTopicConfigSynonyms)."""
        if self.setting is None:
            return self.broker_key
        return _FINEST.get(self.setting) or _NAMES[self.setting]


CONFIGS: Mapping[str, Config] = {
    "cleanup.policy": Config(Words(("compact", "delete")), "log_cleanup_policy"),
    "compression.gzip.level": Config(Whole(-1, 9), "compression_gzip_level"),
    "compression.lz4.level": Config(Whole(1, 17), "compression_lz4_level"),
    "compression.type": Config(Choice(COMPRESSION_TYPES), "compression_type"),
    "compression.zstd.level": Config(Whole(-131072, 22), "compression_zstd_level"),
    "flush.messages": Config(Whole(1, LONG_MAX), "log_flush_interval_messages"),
    "index.interval.bytes": Config(Whole(0), "log_index_interval_bytes"),
    "kafpy.validate.compressed": Config(Flag(), "validate_compressed"),
    "max.message.bytes": Config(Whole(0), "message_max_bytes"),
    "message.timestamp.after.max.ms": Config(_LONG, "log_message_timestamp_after_max_ms"),
    "message.timestamp.before.max.ms": Config(_LONG, "log_message_timestamp_before_max_ms"),
    "message.timestamp.type": Config(Choice(TIMESTAMP_TYPES), "log_message_timestamp_type"),
    "min.insync.replicas": Config(Whole(1), "min_insync_replicas"),
    "segment.bytes": Config(Whole(1048576), "log_segment_bytes"),
    "segment.index.bytes": Config(Whole(4), "log_index_size_max_bytes"),
    "segment.ms": Config(Whole(1, LONG_MAX), "segment_ms"),
    "segment.jitter.ms": Config(_LONG, "segment_jitter_ms"),
    "retention.bytes": Config(_RETENTION, "log_retention_bytes"),
    "retention.ms": Config(_RETENTION, "retention_ms"),
    "delete.retention.ms": Config(_LONG, None, "log.cleaner.delete.retention.ms", "86400000"),
    "file.delete.delay.ms": Config(_LONG, "log_segment_delete_delay_ms"),
    "flush.ms": Config(_LONG, default=str(LONG_MAX)),
    "follower.replication.throttled.replicas": Config(Words()),
    "leader.replication.throttled.replicas": Config(Words()),
    "local.retention.bytes": Config(_LOCAL_RETENTION, None, "log.local.retention.bytes", "-2"),
    "local.retention.ms": Config(_LOCAL_RETENTION, None, "log.local.retention.ms", "-2"),
    "max.compaction.lag.ms": Config(Whole(1, LONG_MAX), None, "log.cleaner.max.compaction.lag.ms", str(LONG_MAX)),
    "min.cleanable.dirty.ratio": Config(Fraction(), None, "log.cleaner.min.cleanable.ratio", "0.5"),
    "min.compaction.lag.ms": Config(_LONG, None, "log.cleaner.min.compaction.lag.ms", "0"),
    "preallocate": Config(Flag(), None, "log.preallocate", "false"),
    "remote.log.copy.disable": Config(Flag(), default="false"),
    "remote.log.delete.on.disable": Config(Flag(), default="false"),
    "remote.storage.enable": Config(Flag(), default="false"),
    "unclean.leader.election.enable": Config(Flag(), None, "unclean.leader.election.enable", "false"),
}


class LogSettings(TypedDict):
    """The keywords of Log.configure."""

    segment_bytes: int
    segment_ms: int
    segment_jitter_ms: int
    index_interval_bytes: int
    segment_index_bytes: int
    max_message_bytes: int
    log_append_time: bool
    before_max_ms: int
    after_max_ms: int
    flush_messages: int
    keys_required: bool
    open_batches: bool
    target_codec: int
    producer_expiry_ms: int


@dataclass(frozen=True, slots=True)
class Opening:
    """What a topic wants to know of compressed batches; `codec` None: they are kept as the producer sent them."""

    codec: str | None
    level: int
    validate: bool
    keys_required: bool

    @property
    def needed(self) -> bool:
        return self.validate or self.keys_required or self.codec is not None


def validate(configs: Mapping[str, str | None]) -> None:
    """MetadataError 40 with Kafka's words for an unknown name, a wrong type or a value out of range."""
    for name, text in configs.items():
        config = CONFIGS.get(name)
        if config is None:
            raise MetadataError(INVALID_CONFIG, f"Unknown topic config name: {name}")
        if text is None:
            raise MetadataError(INVALID_CONFIG, f"Null value not supported for topic configs: {name}")
        if len(text.encode()) > MAX_VALUE_BYTES:
            raise MetadataError(INVALID_CONFIG, TOO_LONG)
        try:
            value = config.kind.parse(name, text)
        except SettingError as error:
            raise MetadataError(INVALID_CONFIG, str(error)) from None
        reason = _refusal(name, value)
        if reason is not None:
            raise MetadataError(INVALID_CONFIG, reason)


def _refusal(name: str, value: Value) -> str | None:
    """Why a value of the right type will not do."""
    if name == "compression.gzip.level" and value == 0:
        return f"Invalid value 0 for configuration {name}: -1 or 1 to 9"
    if name == "remote.storage.enable" and value:
        return (
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )
    if (
        name.endswith(".replication.throttled.replicas")
        and isinstance(value, tuple)
        and value != ("*",)
        and not all(_THROTTLED.fullmatch(each) for each in value)
    ):
        return (
            f"Invalid value [{', '.join(value)}] for configuration {name}: {name} must be the literal '*' or a list of "
            "replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."
        )
    return None


class Effective:
    """A topic's configs over the broker's settings; the topic's were validated when they were stored."""

    def __init__(self, settings: Settings, configs: Mapping[str, str]) -> None:
        self._settings = settings
        self._configs = configs

    def whole(self, name: str) -> int:
        value = self._value(name)
        assert isinstance(value, int)
        return value

    def text(self, name: str) -> str:
        value = self._value(name)
        assert isinstance(value, str)
        return value

    def _value(self, name: str) -> Value:
        config = CONFIGS[name]
        if name in self._configs:
            return config.kind.parse(name, self._configs[name])
        if config.setting is None:
            return config.kind.parse(name, config.default)
        value: Value = getattr(self._settings, config.setting)
        return value

    def as_text(self, name: str) -> str:
        return to_text(self._value(name)) or ""

    def cleanup_policy(self) -> tuple[str, ...]:
        value = self._value("cleanup.policy")
        assert isinstance(value, tuple)
        return value

    def opening(self) -> Opening:
        name = self.text("compression.type")
        codec = None if name == "producer" else "none" if name == "uncompressed" else name
        level = self.whole(f"compression.{codec}.level") if codec in ("gzip", "lz4", "zstd") else 0
        validate = bool(self._value("kafpy.validate.compressed"))
        return Opening(codec, level, validate, "compact" in self.cleanup_policy())

    def log_settings(self) -> LogSettings:
        opening = self.opening()
        return LogSettings(
            segment_bytes=self.whole("segment.bytes"),
            segment_ms=self.whole("segment.ms"),
            segment_jitter_ms=self.whole("segment.jitter.ms"),
            index_interval_bytes=self.whole("index.interval.bytes"),
            segment_index_bytes=self.whole("segment.index.bytes"),
            max_message_bytes=self.whole("max.message.bytes"),
            log_append_time=self.text("message.timestamp.type") == "LogAppendTime",
            before_max_ms=self.whole("message.timestamp.before.max.ms"),
            after_max_ms=self.whole("message.timestamp.after.max.ms"),
            flush_messages=self.whole("flush.messages"),
            keys_required=opening.keys_required,
            # a compacted topic refuses records without a key, and only an opened batch shows its keys
            open_batches=opening.validate or opening.keys_required,
            target_codec=AS_SENT if opening.codec is None else CODECS[opening.codec],
            producer_expiry_ms=self._settings.producer_id_expiration_ms,
        )


LISTS = {
    name: Effective(Settings(), {}).as_text(name) for name, config in CONFIGS.items() if isinstance(config.kind, Words)
}
"""Configs that are lists, with their defaults."""
