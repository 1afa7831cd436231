"""Broker configs that can change while the broker runs (DynamicBrokerConfig): which, and the settings they result in.

Kafka's list, as far as this broker honours a key and can change it; the defaults of topic configs are most of it.
"""

from collections.abc import Mapping
from dataclasses import replace

from kafpy.broker.known_keys import REFUSED, WITHOUT_EFFECT
from kafpy.broker.setting_types import SettingError, Words, to_text
from kafpy.broker.settings import Settings, default_of, honoured
from kafpy.metadata import MetadataError

INVALID_CONFIG = 40
INVALID_REQUEST = 42

DYNAMIC = frozenset(
    {
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.type",
        "compression.zstd.level",
        "kafpy.validate.compressed",
        "log.cleanup.policy",
        "log.flush.interval.messages",
        "log.index.interval.bytes",
        "log.index.size.max.bytes",
        "log.message.timestamp.after.max.ms",
        "log.message.timestamp.before.max.ms",
        "log.message.timestamp.type",
        "log.retention.bytes",
        "log.retention.ms",
        "log.roll.jitter.ms",
        "log.roll.ms",
        "log.segment.bytes",
        "log.segment.delete.delay.ms",
        "max.connection.creation.rate",
        "max.connections",
        "max.connections.per.ip",
        "max.connections.per.ip.overrides",
        "message.max.bytes",
        "min.insync.replicas",
        "num.recovery.threads.per.data.dir",
        "producer.id.expiration.ms",
    }
)

LISTS = {
    name: to_text(default_of(name)) or ""
    for name, field in honoured().items()
    if name in DYNAMIC and isinstance(field.metadata["kind"], Words)
}
"""Configs that are lists, with their defaults."""


def validate(configs: Mapping[str, str]) -> None:
    """MetadataError 40 for a name that is none, 42 for one that cannot change now and for a bad value, as in Kafka."""
    for name in configs:
        if name not in honoured() and name not in WITHOUT_EFFECT and name not in REFUSED:
            raise MetadataError(INVALID_CONFIG, f"Unknown broker config name: {name}")
    fixed = sorted(set(configs) - DYNAMIC)
    if fixed:
        raise MetadataError(INVALID_REQUEST, f"Cannot update these configs dynamically: [{', '.join(fixed)}]")
    try:
        settings = effective(Settings(), configs)
        if settings.compression_gzip_level == 0:
            raise SettingError("Invalid value 0 for configuration compression.gzip.level: -1 or 1 to 9")
        if settings.retention_ms == 0:
            raise SettingError("log.retention.ms must be unlimited (-1) or, equal or greater than 1")
    except SettingError as error:
        raise MetadataError(INVALID_REQUEST, str(error)) from None


def effective(static: Settings, *layers: Mapping[str, str]) -> Settings:
    """`layers`: later ones win; in a broker the cluster's default, then the broker's own."""
    values = {}
    for layer in layers:
        for name, text in layer.items():
            field = honoured()[name]
            values[field.name] = field.metadata["kind"].parse(name, text)
    return replace(static, **values)
