"""What is said of settings is true of them, and what was written from it is current."""

from pathlib import Path

import pytest

from kafpy.broker import explanation, settings_reference
from kafpy.broker.known_keys import REFUSED, WITHOUT_EFFECT
from kafpy.broker.setting_types import SettingError, to_text
from kafpy.broker.settings import Settings, default_of, honoured, load, read_file
from kafpy.broker.topic_config import CONFIGS

DOCS = Path(__file__).parents[2] / "docs"


def test_every_key_of_the_sample_file_can_be_used(tmp_path: Path) -> None:
    """Uncommented, it is the default."""
    lines = settings_reference.sample_file().splitlines()
    keys = [line[1:] for line in lines if line.startswith("#") and not line.startswith("# ")]
    assert {line.partition("=")[0] for line in keys} == set(honoured())
    path = tmp_path / "server.properties"
    path.write_text("\n".join(line for line in keys if not line.endswith("=")))
    settings, warnings = load(read_file(path))
    assert warnings == []
    assert settings == Settings()


@pytest.mark.parametrize("name", sorted(honoured()))
def test_each_key_can_be_given_its_default(name: str, tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text(f"{name}={to_text(default_of(name)) or ''}")
    if default_of(name) is not None:
        settings, _ = load(read_file(path))
        assert getattr(settings, honoured()[name].name) == default_of(name)


@pytest.mark.parametrize("name", sorted({*honoured(), *CONFIGS, *WITHOUT_EFFECT, *REFUSED}))
def test_everything_is_explained(name: str) -> None:
    first, *rest = explanation.explain(name).splitlines()
    assert first == name
    assert rest


def test_some_explanations() -> None:
    told = explanation.explain("segment.bytes")
    assert "default: the broker's log.segment.bytes" in told
    assert "whole number, 1048576 or more" in told
    assert "can change while the broker runs" in explanation.explain("log.segment.bytes")
    assert "needs a restart" in explanation.explain("num.network.threads")
    assert "Accepted without effect: " in explanation.explain("num.io.threads")
    with pytest.raises(SettingError, match=r"did you mean 'segment.bytes'|did you mean 'log.segment.bytes'"):
        explanation.explain("segment.byte")


@pytest.mark.parametrize(
    ("name", "made"),
    [("settings.md", settings_reference.reference), ("server.properties", settings_reference.sample_file)],
)
def test_the_docs_are_current(name: str, made: object) -> None:
    """Make them again with `kafpy config sample` and `kafpy generate settings-reference`."""
    assert callable(made)
    assert (DOCS / name).read_text() == made()
