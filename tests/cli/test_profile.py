"""Profiles, and what counts more than what."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from kafpy.cli import options, profiles
from kafpy.cli.main import cli


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("KAFPY_PROFILE", "KAFPY_BOOTSTRAP_SERVER"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def run(*arguments: str, **environment: str) -> tuple[int, str]:
    done = CliRunner(env=environment).invoke(cli, list(arguments))
    return done.exit_code, done.output


def test_the_life_of_a_profile() -> None:
    assert run("profile", "list") == (0, "")
    assert run("profile", "create", "a", "-b", "one:9092", "--set", "client.id=me") == (0, "Created profile a.\n")
    assert run("profile", "create", "b", "-b", "two:9092", "--no-use") == (0, "Created profile b.\n")
    assert run("profile", "list") == (0, "* a\tone:9092\n  b\ttwo:9092\n")
    assert run("profile", "use", "b") == (0, "Using profile b.\n")
    assert run("profile", "show") == (0, "bootstrap.servers=two:9092\n")
    assert run("profile", "show", "a") == (0, "client.id=me\nbootstrap.servers=one:9092\n")
    assert run("profile", "create", "a") == (
        1,
        "kafpy: there is a profile 'a' already; --force puts this one in its place\n",
    )
    assert run("profile", "delete", "b") == (0, "Deleted profile b.\n")
    assert run("profile", "list") == (0, "  a\tone:9092\n")
    assert run("profile", "use", "b") == (1, "kafpy: there is no profile 'b'; there are: a\n")


def test_passwords_are_hidden_and_the_file_is_private() -> None:
    odd = 'x required username="u" password="p\\\\\x7f€";'
    run("profile", "create", "s", "--set", f"sasl.jaas.config={odd}")
    assert "password" not in run("profile", "show", "s")[1]
    assert odd in run("profile", "show", "s", "--secrets")[1]
    assert profiles.path().stat().st_mode & 0o777 == 0o600


def test_a_properties_file_becomes_a_profile(home: Path) -> None:
    file = home / "client.properties"
    file.write_text("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=GSSAPI\n")
    code, said = run("profile", "create", "s", "--from-file", str(file))
    assert (code, said.startswith("kafpy: sasl.mechanism=GSSAPI is not spoken here; one of PLAIN, ")) == (1, True)
    file.write_text("bootstrap.servers=one:1\nunknown.key=x\n")
    assert run("profile", "create", "s", "--from-file", str(file), "-b", "two:2")[0] == 0
    assert run("profile", "show", "s") == (0, "bootstrap.servers=two:2\nunknown.key=x\n")


def test_flag_then_environment_then_properties_then_profile(home: Path) -> None:
    def asked(*flags: str, **environment: str) -> str:
        """The address that a command finds nobody at."""
        code, said = run("topic", "list", *flags, **environment)
        assert code == 1
        return said.split("cannot reach ")[1].split(": ")[0]

    assert asked("-b", "localhost:1") == "localhost:1"
    run("profile", "create", "p", "-b", "localhost:2")
    run("profile", "create", "q", "-b", "localhost:3", "--no-use")
    file = home / "client.properties"
    file.write_text("bootstrap.servers=localhost:4\n")
    assert asked() == "localhost:2"
    assert asked(KAFPY_PROFILE="q") == "localhost:3"
    assert asked("--profile", "p", KAFPY_PROFILE="q") == "localhost:2"
    assert asked("--command-config", str(file)) == "localhost:4"
    assert asked("--command-config", str(file), KAFPY_BOOTSTRAP_SERVER="localhost:5") == "localhost:5"
    assert asked("-b", "localhost:6", KAFPY_BOOTSTRAP_SERVER="localhost:5") == "localhost:6"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("profiles = 1", "expected tables"),
        ("[profiles.a]\nx =", "Invalid value"),
        ('current = "gone"', "there is no profile 'gone'; there are: none yet; make one with"),
    ],
)
def test_a_file_that_cannot_be(text: str, said: str) -> None:
    profiles.replace(text)
    code, output = run("topic", "list")
    assert code == 1
    assert said in output
    assert output.count("\n") == 1


def test_unquoted_keys_and_numbers() -> None:
    profiles.replace('current = "p"\n[profiles.p]\nrequest.timeout.ms = 1500\nclient.id = "x"\n')
    assert profiles.chosen(None) == {"request.timeout.ms": "1500", "client.id": "x"}


def test_edit_keeps_only_what_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = iter(["[profiles.p]\nsecurity.protocol = 'X'\n", "[profiles.p]\n'bootstrap.servers' = 'one:1'\n"])
    monkeypatch.setattr("click.edit", lambda *_, **__: next(texts))
    code, said = run("profile", "edit")
    assert (code, said.startswith("kafpy: not kept: security.protocol=X: one of ")) == (1, True)
    assert run("profile", "edit") == (0, f"Saved {profiles.path()}.\n")
    assert run("profile", "list") == (0, "  p\tone:1\n")


def test_what_a_command_gets(broker: SimpleNamespace) -> None:
    """Through a profile to a broker."""
    run("profile", "create", "here", "-b", broker.address, "--set", "request.timeout.ms=9000")
    assert run("topic", "create", "t")[0] == 0
    assert run("topic", "list") == (0, "t\n")
    assert options.connection_settings(None, None, None).timeout_s == 9.0
