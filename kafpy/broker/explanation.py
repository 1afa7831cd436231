"""What there is to say of a setting: for `kafpy config explain` and the written reference."""

from typing import Any

from kafpy.broker.config_documentation import DOCUMENTATION
from kafpy.broker.dynamic_config import DYNAMIC
from kafpy.broker.known_keys import REFUSED, WITHOUT_EFFECT
from kafpy.broker.setting_types import (
    INT_MAX,
    LONG_MAX,
    Address,
    Choice,
    ClusterId,
    Flag,
    Fraction,
    HostCounts,
    Kind,
    SettingError,
    Text,
    Whole,
    to_text,
)
from kafpy.broker.settings import default_of, honoured, nearest
from kafpy.broker.topic_config import CONFIGS


def kind_words(kind: Kind) -> str:
    match kind:
        case Whole(low, high):
            return f"whole number{_range(low, high)}"
        case Fraction(low, high):
            return "number" if low == -high else f"number from {low:g} to {high:g}"
        case Flag():
            return "true or false"
        case Choice(words):
            return f"one of {', '.join(words)}"
        case Address():
            return "PORT or HOST:PORT"
        case ClusterId():
            return "22 characters of base64"
        case HostCounts():
            return "HOST:COUNT, separated by commas"
        case Text(listed=False):
            return "text"
        case _:
            words = getattr(kind, "words", ())
            return f"list of {', '.join(words)}" if words else "list"


def _range(low: int, high: int) -> str:
    at_most = high not in (INT_MAX, LONG_MAX)
    at_least = low not in (-(2**31), -LONG_MAX - 1)
    if at_least and at_most:
        return f" from {low} to {high}"
    return f", {low} or more" if at_least else f", at most {high}" if at_most else ""


def explain(name: str) -> str:
    """Some lines of text. SettingError, with the nearest names, for what is no setting."""
    if name in honoured():
        return _text(name, _broker_lines(name))
    if name in CONFIGS:
        return _text(name, _topic_lines(name))
    if name in WITHOUT_EFFECT:
        inert = WITHOUT_EFFECT[name]
        what = f"Accepted without effect: {inert.reason}."
        return _text(name, [what, f"value: {kind_words(inert.kind)}", f"default in Kafka: {inert.default or 'none'}"])
    if name in REFUSED:
        refused = REFUSED[name]
        return _text(name, [f"Refused with any other value than {refused.allowed[0]!r}: {refused.why}."])
    raise SettingError(f"there is no setting {name!r}{nearest(name)}")


def _text(name: str, lines: list[str]) -> str:
    return "\n  ".join([name, *lines])


def _broker_lines(name: str) -> list[str]:
    field: Any = honoured()[name]
    lines = [
        DOCUMENTATION[name],
        f"broker setting: {kind_words(field.metadata['kind'])}",
        f"default: {default_text(name)}",
    ]
    if name in DYNAMIC:
        lines.append(f"can change while the broker runs: kafpy config set broker default {name}=VALUE")
    else:
        lines.append("read at the start: a change needs a restart")
    topic = _topic_config_of(name)
    if topic:
        lines.append(f"topics can have their own: {topic}")
    return lines


def _topic_lines(name: str) -> list[str]:
    config = CONFIGS[name]
    lines = [DOCUMENTATION[name], f"topic config: {kind_words(config.kind)}"]
    if config.synonym is not None:
        lines.append(f"default: the broker's {config.synonym}")
    if config.setting is None:
        lines.append(f"kept with the topic, without effect yet; default: {config.default or 'none'}")
    else:
        lines.append(f"can change at any time: kafpy config set topic TOPIC {name}=VALUE")
    return lines


def _topic_config_of(broker_key: str) -> str | None:
    return next((name for name, config in CONFIGS.items() if config.synonym == broker_key and name != broker_key), None)


def default_text(name: str) -> str:
    return to_text(default_of(name)) or "not set"
