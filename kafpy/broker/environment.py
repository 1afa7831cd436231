"""Settings from environment variables, as Kafka's container images take them.

    KAFKA_LOG_RETENTION_HOURS      log.retention.hours     `_` for `.`, `__` for `_`, `___` for `-`
    KAFKA_CFG_…                    the same; wins over KAFKA_…
    CLUSTER_ID                     kafpy.cluster.id

With advertised.listeners alone, listeners are the same on all addresses.
"""

import re
from collections.abc import Mapping

from kafpy.broker.setting_types import SettingError
from kafpy.broker.settings import Given, is_known, nearest

_PREFIX = re.compile(r"KAFKA_(CFG_)?([A-Z0-9_]+)")
_MEANT_FOR_JAVA = re.compile(
    r"(HEAP|LOG4J|JMX|JVM_PERFORMANCE|GC_LOG)?_?OPTS|(TOOLS_)?LOG4J_.*|JMX_.*|HOME|VERSION|OPTS|DEBUG.*|"
    r"BOOTSTRAP_SERVERS?|BROKERS?|URL|TOPICS?|GROUP_ID|CLIENT_ID|USER(NAME)?|PASSWORD"
)
"""Also what applications commonly call their own settings: not worth a word."""
_UNDERSCORES = {"_": ".", "__": "_", "___": "-"}


def given(environ: Mapping[str, str]) -> tuple[list[Given], list[str]]:
    """What the environment sets, and a line for each variable that looks like a setting and is none."""
    plain: list[Given] = []
    wins: list[Given] = []
    notes: list[str] = []
    for variable in sorted(environ):
        match = _PREFIX.fullmatch(variable)
        if match is None or _MEANT_FOR_JAVA.fullmatch(match[2]):
            continue
        name = _key(variable, match[2])
        if is_known(name):
            (wins if match[1] else plain).append(Given(name, environ[variable], f"environment {variable}"))
        else:
            notes.append(f"environment {variable}: there is no setting {name!r}{nearest(name)}; passed over")
    found = [*plain, *wins]
    if environ.get("CLUSTER_ID"):
        found.append(Given("kafpy.cluster.id", environ["CLUSTER_ID"], "environment CLUSTER_ID"))
    return [*found, *_listeners(found)], notes


def _key(variable: str, text: str) -> str:
    def separator(match: re.Match[str]) -> str:
        if match[0] not in _UNDERSCORES:
            raise SettingError(f"environment {variable}: more than three underscores in a row mean nothing")
        return _UNDERSCORES[match[0]]

    return re.sub("_+", separator, text.lower())


def _listeners(found: list[Given]) -> list[Given]:
    """KafkaDockerWrapper: where only the advertised ones are set."""
    names = {each.name: each for each in found}
    advertised = names.get("advertised.listeners")
    if advertised is None or "listeners" in names:
        return []
    everywhere = re.sub(r"://[^,]*:", "://0.0.0.0:", advertised.text)
    return [Given("listeners", everywhere, advertised.place)]
