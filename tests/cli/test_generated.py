"""What is made from the commands: the reference, completion, the version."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kafpy import __version__
from kafpy.cli.main import cli

ROOT = Path(__file__).parents[2]


def test_the_reference_is_current() -> None:
    """Make it again: kafpy generate command-reference > docs/commands.md"""
    command = [sys.executable, "-m", "kafpy.cli.main", "generate", "command-reference"]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert (ROOT / "docs" / "commands.md").read_text() == made
    assert "\\b" not in made, "an example's lines have run together"


def test_the_settings_reference_is_printed() -> None:
    done = CliRunner().invoke(cli, ["generate", "settings-reference"])
    assert (ROOT / "docs" / "settings.md").read_text() == done.output


@pytest.mark.parametrize(
    ("shell", "words"),
    [("bash", "complete -o nosort -F"), ("zsh", "#compdef kafpy"), ("fish", "complete --no-files --command kafpy")],
)
def test_completion_is_what_the_shell_wants(shell: str, words: str) -> None:
    assert words in CliRunner().invoke(cli, ["completion", shell]).output


def test_bash_completes() -> None:
    environment = {"_KAFPY_COMPLETE": "bash_complete", "COMP_WORDS": "kafpy topic de", "COMP_CWORD": "2"}
    done = subprocess.run(
        [sys.executable, "-c", "from kafpy.cli.main import main; main()"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["plain,describe", "plain,delete"]


def test_version() -> None:
    assert CliRunner().invoke(cli, ["version"]).output.startswith(f"kafpy {__version__}  (Python 3.")
