import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from kafpy.cli.main import COMMANDS, cli


def test_help_lists_every_command() -> None:
    output = CliRunner().invoke(cli, ["--help"]).output
    assert all(name in output for name in COMMANDS)
    for name in COMMANDS:
        done = CliRunner().invoke(cli, [name, "--help"])
        assert done.exit_code == 0
        assert "Usage:" in done.output


def test_what_was_misspelt() -> None:
    done = CliRunner().invoke(cli, ["tpic"])
    assert done.exit_code == 2
    assert "No such command 'tpic'. Did you mean 'topic'?" in done.output
    assert "Did you mean 'list'?" in CliRunner().invoke(cli, ["topic", "lst"]).output
    assert "Did you" not in CliRunner().invoke(cli, ["zzz"]).output


def test_a_full_disk_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "kafpy.cli.main", "config", "sample"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "kafpy: cannot write the output: No space left on device\n")


def test_version() -> None:
    from kafpy import __version__

    assert CliRunner().invoke(cli, ["--version"]).output == f"kafpy {__version__}\n"


def test_help_imports_neither_trio_nor_the_broker() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from kafpy.cli.main import cli;"
        "CliRunner().invoke(cli, ['--help']);"
        "print([name for name in ('trio', 'numpy', 'sqlite3', 'kafpy.broker') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
