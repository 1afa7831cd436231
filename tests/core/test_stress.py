"""A few seconds of the stress that the sanitizers watch for longer."""

from tests.core.stress import stress


def test_stress() -> None:
    assert stress(3, seed=2026).failures == []
