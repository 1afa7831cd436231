"""`kafpy config` and kafka-configs, against a broker of ours."""

import json
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from kafpy.cli.kafka.configs import command as kafka_configs
from kafpy.cli.main import cli


def run(*arguments: str, command: click.Command = cli) -> tuple[int, str]:
    done = CliRunner().invoke(command, list(arguments))
    return done.exit_code, done.output


@pytest.fixture
def at(broker: SimpleNamespace) -> list[str]:
    return ["-b", broker.address]


@pytest.fixture
def topic(at: list[str]) -> str:
    run("topic", "create", "t", *at)
    return "t"


def test_set_get_list_unset(at: list[str], topic: str) -> None:
    def config(*words: str) -> tuple[int, str]:
        return run("config", *words, *at)

    assert config("get", "topic", "t", "retention.ms", "cleanup.policy") == (0, "604800000\ndelete\n")
    done = (0, "Completed updating config for topic t.\n")
    assert config("set", "topic", "t", "retention.ms=1000", "cleanup.policy=compact,delete") == done
    assert config("get", "topic", "t", "retention.ms", "cleanup.policy") == (0, "1000\ncompact,delete\n")
    code, listed = config("list", "topic", "t")
    assert code == 0
    assert listed.splitlines()[0] == "Dynamic configs for topic t are:"
    assert [line.split("=")[0] for line in listed.splitlines()[1:]] == ["  cleanup.policy", "  retention.ms"]
    assert len(config("list", "topic", "t", "--all")[1].splitlines()) > 20
    assert config("unset", "topic", "t", "cleanup.policy") == done
    (row,) = json.loads(config("list", "topics", "--format", "json")[1])
    assert (row["name"], row["key"], row["value"]) == ("t", "retention.ms", "1000")
    assert config("set", "topic", "t", "no.such=1") == (1, "kafpy: Unknown topic config name: no.such\n")
    code, said = config("get", "topic", "t", "no.such")
    assert (code, said) == (1, "kafpy: topic t has no no.such; see `kafpy config list topic t --all`\n")


def test_brokers(at: list[str]) -> None:
    done = "Completed updating config for broker 1.\n"
    assert run("config", "set", "broker", "1", "max.connections=5000", *at) == (0, done)
    listed = run("config", "list", "brokers", *at)[1]
    assert (
        "Dynamic configs for broker 1 are:\n  max.connections=5000 sensitive=false synonyms={DYNAMIC_BROKER" in listed
    )
    assert "Default configs for brokers in the cluster are:\n" in listed
    assert run("config", "get", "broker", "1", "max.connections", *at) == (0, "5000\n")
    assert run("config", "unset", "broker", "1", "max.connections", *at) == (0, done)
    code, said = run("config", "list", "broker", "7", *at)
    assert (code, said) == (0, "The broker '7' doesn't exist and doesn't have dynamic config.\n")


def test_quotas(at: list[str]) -> None:
    run("config", "set", "client", "c", "producer_byte_rate=1024", *at)
    run("config", "set", "client", "default", "consumer_byte_rate=100000000", *at)
    run("config", "set", "user", "u", "client", "c", "producer_byte_rate=1", "consumer_byte_rate=2", *at)
    assert run("config", "list", "clients", *at)[1] == (
        "Quota configs for client-id 'c' are producer_byte_rate=1024.0\n"
        "Quota configs for the default client-id are consumer_byte_rate=1.0E8\n"
    )
    assert run("config", "list", "user", "u", "client", "c", *at)[1] == (
        "Quota configs for user-principal 'u', client-id 'c' are consumer_byte_rate=2.0, producer_byte_rate=1.0\n"
    )
    assert run("config", "get", "client", "c", "producer_byte_rate", *at)[1] == "1024.0\n"
    assert run("config", "unset", "client", "c", "consumer_byte_rate", *at) == (
        1,
        "kafpy: Invalid config(s): consumer_byte_rate\n",
    )
    assert run("config", "unset", "client", "c", "producer_byte_rate", *at)[0] == 0
    assert run("config", "list", "client", "c", *at) == (0, "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["get", "orders", "retention.ms"], "say whose"),
        (["set", "topic", "t"], "say what to set"),
        (["set", "topic", "t", "x"], "not KEY=VALUE"),
        (["unset", "topic", "t"], "say what to take back"),
        (["list", "topic", "t", "x"], "list takes no key"),
        (["set", "user", "u", "client", "producer_byte_rate=1"], "say what to set"),
    ],
)
def test_wrong_words(words: list[str], said: str) -> None:
    code, output = run("config", *words, "-b", "localhost:1")
    assert code == 2
    assert said in output


@pytest.mark.parametrize(("key", "value"), [("segment.ms", "700000"), ("log.retention.ms", "800000")])
def test_what_explain_says_to_type_works(at: list[str], topic: str, key: str, value: str) -> None:
    told = next(line for line in run("config", "explain", key)[1].splitlines() if ": kafpy config set " in line)
    words = told.partition(": kafpy ")[2].replace("TOPIC", topic).replace("VALUE", value).split()
    assert run(*words, *at)[0] == 0
    assert run("config", "get", *words[2:4], key, *at) == (0, f"{value}\n")


def test_explain_and_sample_ask_no_broker() -> None:
    assert run("config", "explain", "log.dirs")[1].startswith("log.dirs\n")
    assert "\n#log.dirs=" in run("config", "sample")[1]


def test_kafka_configs(at: list[str], topic: str, tmp_path: Path) -> None:
    def ask(*flags: str) -> tuple[int, str]:
        return run("--bootstrap-server", at[1], *flags, command=kafka_configs)

    changed = "segment.ms=100000,cleanup.policy=[compact,delete]"
    assert ask("--alter", "--entity-type", "topics", "--entity-name", "t", "--add-config", changed) == (
        0,
        "Completed updating config for topic t.\n",
    )
    said = ask("--describe", "--topic", "t")[1]
    assert said.splitlines()[1].startswith(
        "  cleanup.policy=compact,delete sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:"
    )
    assert ask("--describe", "--entity-type", "topics")[1] == said
    file = tmp_path / "added.properties"
    file.write_text("segment.ms = 200000\n")
    assert ask("--alter", "--topic", "t", "--add-config-file", str(file), "--delete-config", "cleanup.policy")[0] == 0
    assert ask("--describe", "--topic", "t")[1].splitlines()[1].startswith("  segment.ms=200000 ")
    defaults = ("--entity-type", "users", "--entity-default", "--entity-type", "clients", "--entity-name", "c")
    assert ask("--alter", *defaults, "--add-config", "request_percentage=50") == (
        0,
        "Completed updating default config for users in the cluster.\n",
    )
    assert ask("--describe", *defaults)[1] == (
        "Quota configs for the default user-principal, client-id 'c' are request_percentage=50.0\n"
    )


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--describe"], "At least one entity type must be specified\n"),
        (["--alter", "--topic", "t"], "At least one of --add-config, --add-config-file, or --delete-config must be"),
        (["--describe", "--entity-type", "foo"], "Invalid entity type foo, the entity type must be one of topics, "),
        (
            ["--alter", "--entity-type", "topics", "--add-config", "a=b"],
            "An entity name must be specified with --alter",
        ),
        (["--describe", "--entity-type", "brokers", "--entity-name", "x"], "must be a valid integer broker id, but it"),
        (["--alter", "--user", "u", "--add-config", "foo=1"], "Unexpected config names: Set(foo)\n"),
        (["--alter", "--user", "u", "--add-config", "producer_byte_rate=x"], "Cannot parse quota configuration value"),
        (
            ["--alter", "--client", "c", "--delete-config", "no"],
            "be deleted for 'clients' using --bootstrap-server. Un",
        ),
        (
            ["--alter", "--user", "u", "--add-config", "SCRAM-SHA-256=x"],
            "Invalid credential property SCRAM_SHA_256=x\n",
        ),
        (
            ["--alter", "--user", "u", "--add-config", "SCRAM-SHA-512=[iterations=9,password=x]"],
            "Iterations 9 is less than",
        ),
        (
            ["--alter", "--user", "u", "--add-config", "SCRAM-SHA-512=[password=x],request_percentage=1"],
            "Cannot alter both",
        ),
        (
            ["--alter", "--user-defaults", "--delete-config", "SCRAM-SHA-512"],
            "is not allowed with User SCRAM Credentials",
        ),
        (["--alter", "--user", "u", "--delete-config", "SCRAM-SHA-512,x"], "Unexpected config names: Set(x)\n"),
        (
            ["--alter", "--user", "u", "--delete-config", "SCRAM-SHA-512"],
            "does not serve AlterUserScramCredentials in a ve",
        ),
        (["--alter", "--topic", "t", "--add-config", "seg ment=1"], "Invalid character found for config key: seg ment"),
        (["--alter", "--topic", "t", "--add-config", "seg"], "requirement failed: Invalid entity config: all configs"),
        (["--describe", "--topic", "t", "--entity-type", "topics"], "Duplicate entity type(s) specified: topics\n"),
        (["--describe", "--topic", "t", "--user", "u"], "Only 'users' and 'clients' entity types may be specified"),
    ],
)
def test_refusals_in_kafkas_words(at: list[str], flags: list[str], said: str) -> None:
    code, output = run("--bootstrap-server", at[1], *flags, command=kafka_configs)
    assert code == 1
    assert output.startswith(said) or said in output
