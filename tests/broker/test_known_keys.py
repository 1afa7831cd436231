"""Every key that Kafka documents is honoured, passed over with a reason, or refused for what it asks."""

import pytest

from kafpy.broker.known_keys import REFUSED, WITHOUT_EFFECT
from kafpy.broker.setting_types import SettingError
from kafpy.broker.settings import Given, honoured, load


def test_a_key_is_of_one_group() -> None:
    assert not set(honoured()) & set(WITHOUT_EFFECT)
    assert not set(honoured()) & set(REFUSED)
    assert not set(WITHOUT_EFFECT) & set(REFUSED)


@pytest.mark.parametrize("name", sorted(WITHOUT_EFFECT))
def test_its_default_is_taken_and_the_reason_told(name: str) -> None:
    default = WITHOUT_EFFECT[name].default
    _, warnings = load([Given(name, default, "here")] if default else [])
    assert warnings == ([f"here: {name} has no effect: {WITHOUT_EFFECT[name].reason}"] if default else [])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("num.io.threads", "0"),
        ("num.io.threads", "many"),
        ("unclean.leader.election.enable", "yes"),
        ("log.cleaner.min.cleanable.ratio", "1.5"),
        ("replica.lag.time.max.ms", "99999999999999999999"),
    ],
)
def test_nonsense_is_refused_all_the_same(name: str, text: str) -> None:
    with pytest.raises(SettingError, match=f"^here: Invalid value {text} for configuration {name}"):
        load([Given(name, text, "here")])


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_would_be_missed_is_refused(name: str) -> None:
    load([Given(name, REFUSED[name].allowed[0], "here")])
    wanted = "true" if name.endswith("enable") else "org.example.Some"
    with pytest.raises(SettingError, match="remove the key"):
        load([Given(name, wanted, "here")])
