"""Configs as DescribeConfigs tells them: value, where it comes from, and what it would be without that (ConfigHelper).

A chain of synonyms begins with what counts: the topic's own value, then under each of the broker's names for it the
broker's dynamic value, the cluster's, the static one, the default. Where the chain begins with another name than the
one that is asked for, that beginning is left out, as in Kafka: segment.ms set by log.roll.hours has no chain.
"""

from collections.abc import Mapping
from itertools import dropwhile
from typing import NamedTuple

from kafpy.broker.config_documentation import DOCUMENTATION
from kafpy.broker.dynamic_config import DYNAMIC
from kafpy.broker.setting_types import to_text
from kafpy.broker.settings import Settings, default_of, honoured
from kafpy.broker.topic_config import CONFIGS, Config, Effective

DYNAMIC_TOPIC, DYNAMIC_BROKER, DYNAMIC_DEFAULT_BROKER, STATIC_BROKER, DEFAULT = range(1, 6)
"""ConfigSource."""

_SAME = {
    name: names
    for names in (
        ("log.roll.ms", "log.roll.hours"),
        ("log.roll.jitter.ms", "log.roll.jitter.hours"),
        ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    )
    for name in names
}


class Synonym(NamedTuple):
    name: str
    value: str | None
    source: int


class Entry(NamedTuple):
    name: str
    value: str | None
    read_only: bool
    synonyms: tuple[Synonym, ...]
    type: int

    @property
    def source(self) -> int:
        return self.synonyms[0].source if self.synonyms else DEFAULT

    @property
    def documentation(self) -> str | None:
        return DOCUMENTATION.get(self.name)


class Layers(NamedTuple):
    """Where a broker's settings come from."""

    static: Settings
    default: Mapping[str, str]
    own: Mapping[str, str]
    effective: Settings


class TopicEntries:
    """Of any topic of a broker; what a topic does not set is made once."""

    def __init__(self, layers: Layers) -> None:
        defaults = Effective(layers.effective, {})
        self._defaults = [
            Entry(name, defaults.as_text(name), False, _topic_synonyms(layers, config), config.kind.code)
            for name, config in sorted(CONFIGS.items())
        ]

    def of(self, configs: Mapping[str, str]) -> list[Entry]:
        return [_own(each, configs[each.name]) if each.name in configs else each for each in self._defaults]


def _own(default: Entry, text: str) -> Entry:
    value = to_text(CONFIGS[default.name].kind.parse(default.name, text))
    return default._replace(value=value, synonyms=(Synonym(default.name, text, DYNAMIC_TOPIC), *default.synonyms))


def _topic_synonyms(layers: Layers, config: Config) -> tuple[Synonym, ...]:
    name = config.synonym
    if name is None:
        return ()
    return _chain(layers, name) if name in honoured() else (Synonym(name, config.default, DEFAULT),)


def of_broker(layers: Layers) -> list[Entry]:
    entries = []
    for name, field in sorted(honoured().items()):
        value = to_text(getattr(layers.effective, field.name))
        entries.append(Entry(name, value, name not in DYNAMIC, _chain(layers, name), field.metadata["kind"].code))
    return entries


def of_cluster(default: Mapping[str, str]) -> list[Entry]:
    """What is set for all brokers at once; nothing else is listed."""
    return [
        Entry(
            name,
            value,
            False,
            (Synonym(name, value, DYNAMIC_DEFAULT_BROKER),),
            honoured()[name].metadata["kind"].code,
        )
        for name, value in sorted(default.items())
    ]


def _chain(layers: Layers, asked: str) -> tuple[Synonym, ...]:
    names = _SAME.get(asked, (asked,))
    found = [Synonym(name, layers.own[name], DYNAMIC_BROKER) for name in names if name in layers.own]
    found += [Synonym(name, layers.default[name], DYNAMIC_DEFAULT_BROKER) for name in names if name in layers.default]
    for source in (STATIC_BROKER, DEFAULT):
        for name in names:
            value, default = getattr(layers.static, honoured()[name].name), default_of(name)
            written = name in layers.static.written or value != default
            if source == STATIC_BROKER and written:
                found.append(Synonym(name, to_text(value), source))
            if source == DEFAULT and default is not None:
                found.append(Synonym(name, to_text(default), source))
    return tuple(dropwhile(lambda synonym: synonym.name != asked, found))
