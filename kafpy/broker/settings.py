"""The broker's settings: server.properties keys with Kafka 4.x names, defaults and ranges.

Keys come in three groups: honoured (a field of Settings), accepted without effect (known_keys.py; one line each at
start, with the reason), unknown (refused with the place and the nearest known key). Precedence of synonyms as in Kafka:
`.ms` over `.hours`, `log.dirs` over `log.dir`, `node.id` over `broker.id`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from kafpy.broker import properties
from kafpy.broker.known_keys import REFUSED, WITHOUT_EFFECT
from kafpy.broker.listeners import Listener, parse_listeners
from kafpy.broker.setting_types import (
    INT_MAX,
    LONG_MAX,
    Address,
    Choice,
    ClusterId,
    Flag,
    HostCounts,
    Kind,
    SettingError,
    Text,
    Value,
    Whole,
    Words,
)

COMPRESSION_TYPES = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
TIMESTAMP_TYPES = ("CreateTime", "LogAppendTime")
ASSIGNORS = ("uniform", "range")
MIGRATIONS = ("bidirectional", "upgrade", "downgrade", "disabled")
MINUTE_MS = 60_000
HOUR_MS = 3_600_000


def key(name: str, kind: Kind, default: Value | None) -> Any:
    return field(default=default, metadata={"name": name, "kind": kind})


def long(low: int, high: int = LONG_MAX) -> Whole:
    return Whole(low, high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    # identity and files
    node_id: int = key("node.id", Whole(0), 1)
    broker_rack: str | None = key("broker.rack", Text(), None)
    log_dir: str = key("log.dir", Text(listed=True), "/tmp/kafka-logs")
    log_dirs: tuple[str, ...] | None = key("log.dirs", Words(), None)
    cluster_id: str | None = key("kafpy.cluster.id", ClusterId(), None)
    # network
    listeners: str = key("listeners", Text(listed=True), "PLAINTEXT://127.0.0.1:9092")
    advertised_listeners: str | None = key("advertised.listeners", Text(listed=True), None)
    listener_security_protocol_map: str | None = key("listener.security.protocol.map", Text(), None)
    controller_listener_names: tuple[str, ...] = key("controller.listener.names", Words(), ())
    num_network_threads: int = key("num.network.threads", Whole(1), 1)
    socket_send_buffer_bytes: int = key("socket.send.buffer.bytes", Whole(-1), -1)
    socket_receive_buffer_bytes: int = key("socket.receive.buffer.bytes", Whole(-1), -1)
    socket_request_max_bytes: int = key("socket.request.max.bytes", Whole(1), 104857600)
    socket_listen_backlog_size: int = key("socket.listen.backlog.size", Whole(1), 50)
    max_connections: int = key("max.connections", Whole(0), INT_MAX)
    max_connections_per_ip: int = key("max.connections.per.ip", Whole(0), INT_MAX)
    max_connections_per_ip_overrides: tuple[str, ...] = key("max.connections.per.ip.overrides", HostCounts(), ())
    max_connection_creation_rate: int = key("max.connection.creation.rate", Whole(0), INT_MAX)
    connections_max_idle_ms: int = key("connections.max.idle.ms", long(-1), 600000)
    queued_max_request_bytes: int = key("queued.max.request.bytes", long(-1), -1)
    # quotas
    quota_window_num: int = key("quota.window.num", Whole(1), 11)
    quota_window_size_seconds: int = key("quota.window.size.seconds", Whole(1), 1)
    controller_quota_window_num: int = key("controller.quota.window.num", Whole(1), 11)
    controller_quota_window_size_seconds: int = key("controller.quota.window.size.seconds", Whole(1), 1)
    # topics
    num_partitions: int = key("num.partitions", Whole(1), 1)
    default_replication_factor: int = key("default.replication.factor", Whole(1), 1)
    auto_create_topics_enable: bool = key("auto.create.topics.enable", Flag(), True)
    delete_topic_enable: bool = key("delete.topic.enable", Flag(), True)
    min_insync_replicas: int = key("min.insync.replicas", Whole(1), 1)
    # fetch
    fetch_max_bytes: int = key("fetch.max.bytes", Whole(1024), 57671680)
    fetch_session_slots: int = key("max.incremental.fetch.session.cache.slots", Whole(0), 1000)
    # logs: defaults of the topic-level names, see topic_config.py
    message_max_bytes: int = key("message.max.bytes", Whole(0), 1048588)
    log_segment_bytes: int = key("log.segment.bytes", Whole(1048576), 1073741824)
    log_roll_ms: int | None = key("log.roll.ms", long(1), None)
    log_roll_hours: int = key("log.roll.hours", Whole(1), 168)
    log_roll_jitter_ms: int | None = key("log.roll.jitter.ms", long(0), None)
    log_roll_jitter_hours: int = key("log.roll.jitter.hours", Whole(0), 0)
    log_retention_ms: int | None = key("log.retention.ms", long(-(2**63)), None)
    log_retention_minutes: int | None = key("log.retention.minutes", Whole(), None)
    log_retention_hours: int = key("log.retention.hours", Whole(), 168)
    log_retention_bytes: int = key("log.retention.bytes", long(-(2**63)), -1)
    log_index_size_max_bytes: int = key("log.index.size.max.bytes", Whole(4), 10485760)
    log_index_interval_bytes: int = key("log.index.interval.bytes", Whole(0), 4096)
    log_flush_interval_messages: int = key("log.flush.interval.messages", long(1), LONG_MAX)
    log_message_timestamp_type: str = key("log.message.timestamp.type", Choice(TIMESTAMP_TYPES), "CreateTime")
    log_message_timestamp_before_max_ms: int = key("log.message.timestamp.before.max.ms", long(0), LONG_MAX)
    log_message_timestamp_after_max_ms: int = key("log.message.timestamp.after.max.ms", long(0), HOUR_MS)
    log_cleanup_policy: tuple[str, ...] = key("log.cleanup.policy", Words(("compact", "delete")), ("delete",))
    log_segment_delete_delay_ms: int = key("log.segment.delete.delay.ms", long(0), 60000)
    compression_type: str = key("compression.type", Choice(COMPRESSION_TYPES), "producer")
    compression_gzip_level: int = key("compression.gzip.level", Whole(-1, 9), -1)
    compression_lz4_level: int = key("compression.lz4.level", Whole(1, 17), 9)
    compression_zstd_level: int = key("compression.zstd.level", Whole(-131072, 22), 3)
    validate_compressed: bool = key("kafpy.validate.compressed", Flag(), False)
    producer_id_expiration_ms: int = key("producer.id.expiration.ms", Whole(1), 86400000)
    # groups and their offsets
    offsets_topic_num_partitions: int = key("offsets.topic.num.partitions", Whole(1), 50)
    offsets_topic_segment_bytes: int = key("offsets.topic.segment.bytes", Whole(1048576), 104857600)
    offsets_topic_compression_codec: int = key("offsets.topic.compression.codec", Whole(0, 4), 0)
    offsets_load_buffer_size: int = key("offsets.load.buffer.size", Whole(1), 5242880)
    offsets_commit_timeout_ms: int = key("offsets.commit.timeout.ms", Whole(1), 5000)
    offsets_retention_minutes: int = key("offsets.retention.minutes", Whole(1), 10080)
    offsets_retention_check_interval_ms: int = key("offsets.retention.check.interval.ms", long(1), 600000)
    offset_metadata_max_bytes: int = key("offset.metadata.max.bytes", Whole(), 4096)
    group_min_session_timeout_ms: int = key("group.min.session.timeout.ms", Whole(), 6000)
    group_max_session_timeout_ms: int = key("group.max.session.timeout.ms", Whole(), 1800000)
    group_initial_rebalance_delay_ms: int = key("group.initial.rebalance.delay.ms", Whole(), 3000)
    group_max_size: int = key("group.max.size", Whole(1), INT_MAX)
    group_consumer_session_timeout_ms: int = key("group.consumer.session.timeout.ms", Whole(1), 45000)
    group_consumer_min_session_timeout_ms: int = key("group.consumer.min.session.timeout.ms", Whole(1), 45000)
    group_consumer_max_session_timeout_ms: int = key("group.consumer.max.session.timeout.ms", Whole(1), 60000)
    group_consumer_heartbeat_interval_ms: int = key("group.consumer.heartbeat.interval.ms", Whole(1), 5000)
    group_consumer_min_heartbeat_interval_ms: int = key("group.consumer.min.heartbeat.interval.ms", Whole(1), 5000)
    group_consumer_max_heartbeat_interval_ms: int = key("group.consumer.max.heartbeat.interval.ms", Whole(1), 15000)
    group_consumer_max_size: int = key("group.consumer.max.size", Whole(1), INT_MAX)
    group_consumer_assignors: tuple[str, ...] = key("group.consumer.assignors", Words(ASSIGNORS), ASSIGNORS)
    group_consumer_migration_policy: str = key("group.consumer.migration.policy", Choice(MIGRATIONS), "bidirectional")
    # housekeeping
    num_recovery_threads_per_data_dir: int = key("num.recovery.threads.per.data.dir", Whole(1), 2)
    log_retention_check_interval_ms: int = key("log.retention.check.interval.ms", long(1), 300000)
    log_initial_task_delay_ms: int = key("log.initial.task.delay.ms", long(0), 30000)
    log_flush_offset_checkpoint_interval_ms: int = key("log.flush.offset.checkpoint.interval.ms", Whole(1), 60000)
    # sight
    http_listener: str | None = key("kafpy.http.listener", Address(), None)
    log_format: str = key("kafpy.log.format", Choice(("text", "json")), "text")
    log_level: str = key("kafpy.log.level", Choice(("debug", "info", "warning", "error")), "info")
    written: frozenset[str] = field(default=frozenset(), compare=False)
    """Names that a user wrote, whatever the value."""

    @property
    def directories(self) -> tuple[Path, ...]:
        return tuple(Path(name).absolute() for name in (self.log_dirs or (self.log_dir,)))

    @property
    def segment_ms(self) -> int:
        return self.log_roll_ms if self.log_roll_ms is not None else self.log_roll_hours * HOUR_MS

    @property
    def segment_jitter_ms(self) -> int:
        return self.log_roll_jitter_ms if self.log_roll_jitter_ms is not None else self.log_roll_jitter_hours * HOUR_MS

    @property
    def retention_ms(self) -> int:
        """-1: for ever, as for anything below 0."""
        if self.log_retention_ms is not None:
            return max(self.log_retention_ms, -1)
        if self.log_retention_minutes is not None:
            return max(self.log_retention_minutes * MINUTE_MS, -1)
        return max(self.log_retention_hours * HOUR_MS, -1)

    def client_listeners(self) -> list[Listener]:
        protocols, controllers = self.listener_security_protocol_map, self.controller_listener_names
        return parse_listeners("listeners", self.listeners, protocols, controllers)

    def advertised(self) -> dict[str, Listener]:
        """By listener name; empty: each client is told the address it connected to."""
        text = self.advertised_listeners
        if not text:
            return {}
        protocols, controllers = self.listener_security_protocol_map, self.controller_listener_names
        found = parse_listeners("advertised.listeners", text, protocols, controllers)
        return {each.name: each for each in found}


_ORDERED = (
    ("group.min.session.timeout.ms", "group.max.session.timeout.ms"),
    ("group.consumer.min.session.timeout.ms", "group.consumer.session.timeout.ms"),
    ("group.consumer.session.timeout.ms", "group.consumer.max.session.timeout.ms"),
    ("group.consumer.min.heartbeat.interval.ms", "group.consumer.heartbeat.interval.ms"),
    ("group.consumer.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"),
    ("group.consumer.heartbeat.interval.ms", "group.consumer.session.timeout.ms"),
)
"""Keys whose value is not above that of another (GroupCoordinatorConfig)."""
_RETENTION = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")
_SYNONYMS = {"broker.id": "node.id"}


@cache
def honoured() -> Mapping[str, Field[Any]]:
    return {each.metadata["name"]: each for each in fields(Settings) if "name" in each.metadata}


def default_of(name: str) -> Value | None:
    default: Any = honoured()[name].default
    return default  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Given:
    """One key as a user wrote it, and where (`server.properties:12`, `--override`)."""

    name: str
    text: str
    place: str


def read_file(path: Path) -> list[Given]:
    try:
        text = path.read_text("utf-8")
        return [Given(key, value, f"{path}:{line}") for key, value, line in properties.parse(text)]
    except properties.PropertiesError as error:
        raise SettingError(f"{path}:{error.line}: {error}") from None
    except OSError as error:
        raise SettingError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingError(f"cannot read {path}: it is not UTF-8 text") from None


def load(given: Iterable[Given]) -> tuple[Settings, list[str]]:
    """Later ones win. Gives the settings and a warning for each key that has no effect."""
    values: dict[str, tuple[Given, Any]] = {}
    warnings = []
    for each in given:
        name = _SYNONYMS.get(each.name, each.name)
        if name in honoured():
            values[each.name] = (each, _parse(each, honoured()[name].metadata["kind"]))
        elif name in WITHOUT_EFFECT:
            _parse(each, WITHOUT_EFFECT[name].kind)
            warnings.append(f"{each.place}: {each.name} has no effect: {WITHOUT_EFFECT[name].reason}")
        elif name in REFUSED:
            _refuse_unless_idle(each)
        else:
            raise SettingError(f"{each.place}: unknown key {each.name!r}{nearest(each.name)}")
    for alias, name in _SYNONYMS.items():
        if alias in values:
            moved = values.pop(alias)
            values.setdefault(name, moved)
    parsed = {honoured()[name].name: value for name, (_, value) in values.items()}
    settings = Settings(**parsed, written=frozenset(values))
    _check_together(settings, {name: each.place for name, (each, _) in values.items()})
    return settings, warnings


def _refuse_unless_idle(given: Given) -> None:
    refused = REFUSED[given.name]
    _parse(given, refused.kind)
    if given.text.strip() not in refused.allowed:
        raise SettingError(f"{given.place}: {given.name}={given.text}: {refused.why}")


def _parse(given: Given, kind: Kind) -> Value:
    try:
        return kind.parse(given.name, given.text)
    except SettingError as error:
        raise SettingError(f"{given.place}: {error}") from None


def _check_together(settings: Settings, places: Mapping[str, str]) -> None:
    try:
        name = "listeners"
        if not settings.client_listeners():
            raise SettingError("listeners names no listener for clients")
        name = "advertised.listeners"
        for each in settings.advertised().values():
            if not each.host or each.host in ("0.0.0.0", "::"):
                raise SettingError(f"advertised.listeners cannot use the nonroutable address {each.host!r}")
        name = "log.dirs"
        places_on_disk = [path.resolve() for path in settings.directories]
        for number, path in enumerate(settings.directories):
            if places_on_disk[number] in places_on_disk[:number]:
                raise SettingError(f"{path} stands twice in log.dirs")
        for low, high in _ORDERED:
            name = low
            if getattr(settings, honoured()[low].name) > getattr(settings, honoured()[high].name):
                raise SettingError(f"{high} must be greater than or equal to {low}")
        name = next((each for each in _RETENTION if each in settings.written), _RETENTION[-1])
        if settings.retention_ms == 0:
            raise SettingError(f"{name} must be unlimited (-1) or, equal or greater than 1")
        name = "compression.gzip.level"
        if settings.compression_gzip_level == 0:
            raise SettingError("Invalid value 0 for configuration compression.gzip.level: -1 or 1 to 9")
    except SettingError as error:
        raise SettingError(f"{places.get(name, 'settings')}: {error}") from None


def is_known(name: str) -> bool:
    return name in honoured() or name in _SYNONYMS or name in WITHOUT_EFFECT or name in REFUSED


def nearest(name: str) -> str:
    """The end of a sentence about an unknown key."""
    from difflib import get_close_matches

    close = get_close_matches(name, [*honoured(), *_SYNONYMS, *WITHOUT_EFFECT, *REFUSED], n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
