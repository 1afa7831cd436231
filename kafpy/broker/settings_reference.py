"""The sample server.properties and docs/settings.md, made from the settings themselves."""

from collections.abc import Iterator
from typing import Any

from kafpy.broker.config_documentation import DOCUMENTATION
from kafpy.broker.dynamic_config import DYNAMIC
from kafpy.broker.explanation import kind_words
from kafpy.broker.known_keys import REFUSED, WITHOUT_EFFECT
from kafpy.broker.setting_types import to_text
from kafpy.broker.settings import default_of, honoured
from kafpy.broker.topic_config import CONFIGS

SECTIONS = {
    "node.id": "Identity and files",
    "listeners": "Network",
    "quota.window.num": "Quotas",
    "num.partitions": "Topics",
    "fetch.max.bytes": "Fetch",
    "message.max.bytes": "Logs: defaults of topic configs",
    "offsets.topic.num.partitions": "Groups and their offsets",
    "num.recovery.threads.per.data.dir": "Housekeeping",
    "kafpy.http.listener": "Metrics and the broker's own log",
}
"""By the first key of each, in the order of Settings."""


def sections() -> Iterator[tuple[str, list[str]]]:
    """Titles with their keys."""
    title = ""
    keys: list[str] = []
    for name in honoured():
        if name in SECTIONS:
            if keys:
                yield title, keys
            title, keys = SECTIONS[name], []
        keys.append(name)
    yield title, keys


def sample_file() -> str:
    """A server.properties in which every setting stands, commented out, with its default."""
    lines = [
        "# Settings of a kafpy broker: kafpy serve server.properties",
        "# Every setting stands here with its default; take the # away to change one. Keys are those of Apache Kafka;",
        "# a key that Kafka knows and this broker has no use for is accepted, and said to have no effect at the start.",
    ]
    for title, keys in sections():
        lines += ["", f"# ---- {title}"]
        for name in keys:
            value = to_text(default_of(name))
            lines += ["", f"# {DOCUMENTATION[name]}", f"#{name}={value or ''}"]
    return "\n".join(lines) + "\n"


def reference() -> str:
    """docs/settings.md."""
    parts = [_HEAD]
    for title, keys in sections():
        parts.append(f"\n## {title}\n\n| key | default | value | dynamic | what it does |\n|---|---|---|---|---|\n")
        parts += [_row(name) for name in keys]
    parts.append("\n## Topic configs\n\n| key | default | value | what it does |\n|---|---|---|---|\n")
    for name, config in sorted(CONFIGS.items()):
        default = f"`{config.synonym}`" if config.synonym else f"`{config.default}`" if config.default else ""
        without = "" if config.setting is not None else " Kept, without effect yet."
        parts.append(f"| `{name}` | {default} | {kind_words(config.kind)} | {DOCUMENTATION[name]}{without} |\n")
    parts.append("\n## Accepted without effect\n\n| key | why |\n|---|---|\n")
    parts += [f"| `{name}` | {inert.reason} |\n" for name, inert in WITHOUT_EFFECT.items()]
    parts.append("\n## Refused\n\n| key | accepted value | why others are not |\n|---|---|---|\n")
    parts += [f"| `{name}` | {each.allowed[0] or 'empty'} | {each.why} |\n" for name, each in REFUSED.items()]
    return "".join(parts)


def _row(name: str) -> str:
    field: Any = honoured()[name]
    dynamic = "yes" if name in DYNAMIC else ""
    default = to_text(default_of(name))
    shown = f"`{default}`" if default else ""
    return f"| `{name}` | {shown} | {kind_words(field.metadata['kind'])} | {dynamic} | {DOCUMENTATION[name]} |\n"


_HEAD = """# Settings

`kafpy serve server.properties` reads Kafka's keys; `kafpy config sample` writes a file with all of them, and
`kafpy config explain KEY` tells what is below, key by key.

A setting can be given in several places. Later ones win:

1. the default
2. the file
3. the environment: `KAFKA_` and the key in capitals, `_` for `.`, `__` for `_`, `___` for `-`; then `KAFKA_CFG_…` the
   same way. `CLUSTER_ID` is `kafpy.cluster.id`. With `KAFKA_ADVERTISED_LISTENERS` alone, `listeners` are the same on
   all addresses
4. `--override KEY=VALUE`
5. `--data`, `--port`, `--http`, `--log-format`, `--log-level`
6. dynamic configs of all brokers, then of this broker (`kafpy config set`, `kafka-configs.sh`), for keys marked
   dynamic; they survive a restart
7. a topic's own configs, for what concerns its logs

Of keys for the same thing the finer unit wins: `.ms` over `.minutes` over `.hours`; and `log.dirs` over `log.dir`,
`node.id` over `broker.id`.

An unknown key, a value of the wrong type or out of range stops the start with the file and line, or the variable, and
the nearest known key. A variable that looks like a setting and is none is only told of.
"""
