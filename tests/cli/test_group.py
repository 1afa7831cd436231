"""`kafpy group` against a broker. What kafka-consumer-groups 4.3 prints too is compared byte for byte."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kafpy.cli.main import cli
from tests.broker_process import BrokerProcess
from tests.clients import raw_groups as groups
from tests.clients.raw import RawClient, batch_of

ASSIGNED = b"\0\0" + (1).to_bytes(4, "big") + b"\0\6orders" + (2).to_bytes(4, "big") + bytes(7) + b"\1" + b"\xff" * 4
HEADER = (
    "GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             "
    "CONSUMER-ID     HOST            CLIENT-ID       LAG-TIME\n"
)
PLAN = "\nGROUP           TOPIC           PARTITION  NEW-OFFSET\n"
NOTHING = "\nNothing was changed. Add --execute to do it.\n"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    directory = tmp_path_factory.mktemp("group") / "data"
    process = BrokerProcess(directory, group_initial_rebalance_delay_ms=0, group_min_session_timeout_ms=100)
    with RawClient(process.host, process.port) as client:
        client.create("orders", 3)
        now = time.time_ns() // 1_000_000
        for index in range(3):
            client.produce("orders", batch_of([b"v"] * 4, timestamps=1_700_000_000_000), partition=index)
            client.produce("orders", batch_of([b"v"] * 6, timestamps=now - 7_200_000), partition=index)
        groups.find_coordinator(client, "empty")
    yield process
    process.stop()
    assert process.stderr == ""


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[RawClient]:
    with RawClient(broker.host, broker.port) as made:
        yield made


@pytest.fixture
def empty(client: RawClient) -> str:
    """A group without members, at 4 and 10 in the first two partitions."""
    groups.delete(client, "empty")
    assert groups.commit(client, "empty", "orders", {0: 4, 1: 10}) == {0: 0, 1: 0}
    return "empty"


@pytest.fixture
def busy(client: RawClient) -> Iterator[str]:
    """The id of the only member of a group, which owns two partitions."""
    _, member_id = groups.enter(client, "busy", ASSIGNED)
    yield member_id
    groups.leave(client, "busy", member_id)
    assert groups.delete(client, "busy") == {"busy": 0}  # with what is remembered of who left


def run(broker: BrokerProcess, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["group", *arguments, "-b", broker.bootstrap])


def said(broker: BrokerProcess, *arguments: str) -> str:
    """On standard output, by a run that went well."""
    done = run(broker, *arguments)
    assert (done.exit_code, done.exception) == (0, None), done.output
    return done.stdout


def refused(broker: BrokerProcess, *arguments: str) -> str:
    done = run(broker, *arguments)
    assert (done.exit_code, done.stdout) == (1, "")
    return done.stderr


def test_list(broker: BrokerProcess, empty: str, busy: str) -> None:
    assert {"busy", "empty"} <= set(said(broker, "list").splitlines())
    lines = said(broker, "list", "--state", "--type").splitlines(keepends=True)
    assert lines[0] == "GROUP                     TYPE                 STATE               \n"
    assert "busy                      Classic              Stable              \n" in lines
    assert said(broker, "list", "--state", "stable") == (
        "GROUP                     STATE               \nbusy                      Stable              \n"
    )
    assert said(broker, "list", "--type", "consumer") == "GROUP                     TYPE                \n"


def test_describe_offsets(broker: BrokerProcess, empty: str) -> None:
    done = run(broker, "describe", empty)
    assert done.stderr == "\nConsumer group 'empty' has no active members.\n"
    assert done.stdout == "\n" + HEADER + (
        "empty           orders          0          4               10              6               "
        "-               -               -               2h00m\n"
        "empty           orders          1          10              10              0               "
        "-               -               -               0.0s\n"
    )
    verbose = said(broker, "describe", "--group", empty, "--verbose").splitlines()
    assert verbose[1].startswith("GROUP           TOPIC           PARTITION  LEADER-EPOCH    CURRENT-OFFSET  ")
    assert verbose[2].startswith("empty           orders          0          -               4               10     ")


def test_a_group_beyond_the_end(broker: BrokerProcess, client: RawClient, empty: str) -> None:
    assert groups.commit(client, empty, "orders", {0: 14, 1: 2**63 - 1}) == {0: 0, 1: 0}
    rows = [line.split() for line in said(broker, "describe", empty).splitlines()[2:]]
    assert [(row[3], row[5], row[-1]) for row in rows] == [
        ("14", "-4", "0.0s"),
        (str(2**63 - 1), str(11 - 2**63), "0.0s"),
    ]
    assert " lag 0 " in said(broker, "watch", empty, "--count", "1")


def test_describe_members_and_state(broker: BrokerProcess, empty: str, busy: str) -> None:
    offsets = said(broker, "describe", "busy").splitlines()
    assert [line.split()[:7] for line in offsets[2:4]] == [
        ["busy", "orders", str(index), "-", "10", "-", busy] for index in (0, 1)
    ]
    assert said(broker, "describe", "busy", "--members") == (
        f"\nGROUP           CONSUMER-ID{' ' * (len(busy) - 11)} HOST            CLIENT-ID       #PARTITIONS     \n"
        f"busy            {busy} /127.0.0.1      raw             2               \n"
    )
    assert said(broker, "describe", "busy", "--members", "--verbose") == (
        f"\nGROUP           CONSUMER-ID{' ' * (len(busy) - 11)} HOST            CLIENT-ID       #PARTITIONS     "
        "CURRENT-EPOCH   CURRENT-ASSIGNMENT   TARGET-EPOCH    TARGET-ASSIGNMENT   \n"
        f"busy            {busy} /127.0.0.1      raw             2               "
        "-               orders:0,1           -               -                   \n"
    )
    place = f"{broker.bootstrap}  (1)".ljust(25)
    assert said(broker, "describe", "busy", "--state") == (
        "\nGROUP           COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE                #MEMBERS\n"
        f"busy            {place} range                Stable               1\n"
    )
    assert f"empty           {place} -                    Empty                0\n" in said(
        broker, "describe", empty, "--state"
    )
    assert said(broker, "describe", empty, "--members") == (
        "\nGROUP           CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     \n"
    )


def test_data_for_programs(broker: BrokerProcess, empty: str, busy: str) -> None:
    listed = json.loads(said(broker, "list", "--format", "json"))
    assert {"group": "busy", "type": "classic", "state": "Stable"} in listed
    idle, used = json.loads(said(broker, "describe", empty, "busy", "--format", "json"))
    assert (idle["group"], idle["state"], idle["members"]) == (empty, "Empty", [])
    shown = {each["partition"]: each for each in idle["offsets"]}
    assert (shown[0]["current_offset"], shown[0]["log_end_offset"], shown[0]["lag"]) == (4, 10, 6)
    (member,) = used["members"]
    assert member["assigned"][0]["topic"] == "orders"
    assert said(broker, "describe", empty, "--format", "yaml").startswith(f"- group: {empty}\n")


def test_describe_says_why_members_left(broker: BrokerProcess, client: RawClient) -> None:
    _, first = groups.enter(client, "left", session_ms=100)
    while groups.describe(client, "left").members:
        pass
    _, second = groups.enter(client, "left", group_instance_id="one")
    _, third = groups.enter(client, "left", group_instance_id="one")
    groups.leave(client, "left", third)
    notes = said(broker, "describe", "left", "--state").split("\n\n")[1].splitlines()
    assert notes[0] == "Members that are gone:"
    assert [line.partition(" ")[2] for line in notes[1:]] == [
        f"{first} (/127.0.0.1): its session timed out",
        f"{second} (/127.0.0.1, instance one): fenced by another member with its instance id",
        f"{third} (/127.0.0.1, instance one): left",
    ]


def test_groups_that_are_not_there(broker: BrokerProcess) -> None:
    assert refused(broker, "describe", "nope") == "\nError: Consumer group 'nope' does not exist.\n"
    assert "* Group 'nope' could not be deleted due to: GROUP_ID_NOT_FOUND" in refused(broker, "delete", "nope")


@pytest.mark.parametrize(
    ("target", "moved"),
    [
        (["--to-earliest"], [0, 0, 0]),
        (["--to-latest"], [10, 10, 10]),
        (["--to-offset", "7"], [7, 7, 7]),
        (["--to-offset", "70"], [10, 10, 10]),
        (["--to-current"], [4, 10, 10]),
        (["--to-datetime", "2023-11-14T22:13:20.001"], [4, 4, 4]),
        (["--to-datetime", "2023-11-15T00:13:20.000+02:00"], [0, 0, 0]),
        (["--by-duration", "PT3H"], [4, 4, 4]),
        (["--by-duration", "PT1H"], [10, 10, 10]),
    ],
    ids=lambda each: " ".join(each) if isinstance(each[0], str) else "",
)
def test_reset(broker: BrokerProcess, client: RawClient, empty: str, target: list[str], moved: list[int]) -> None:
    rows = [f"empty           orders          {index}          {offset}\n" for index, offset in enumerate(moved)]
    done = run(broker, "reset", empty, "--topic", "orders", *target)
    assert (done.exit_code, done.stdout) == (0, PLAN + "".join(rows))
    assert done.stderr.endswith(NOTHING)
    assert groups.committed(client, empty, None) == {("orders", 0): (4, 0), ("orders", 1): (10, 0)}
    assert said(broker, "reset", empty, "--topic", "orders", *target, "--execute") == PLAN + "".join(rows)
    assert groups.committed(client, empty, None) == {
        ("orders", index): (offset, 0) for index, offset in enumerate(moved)
    }


def test_reset_of_some_partitions(broker: BrokerProcess, client: RawClient, empty: str, tmp_path: Path) -> None:
    done = run(broker, "reset", empty, "-t", "orders:0", "--shift-by", "-5", "--execute")
    assert done.stdout == PLAN + "empty           orders          0          0\n"
    assert done.stderr == (
        "WARNING: New offset (-1) is lower than earliest offset for topic partition orders-0. Value will be set to 0\n"
    )
    shown = said(broker, "reset", empty, "--all-topics", "--to-latest", "--export")
    assert shown == "orders,0,10\norders,1,10\n"
    plan = tmp_path / "plan.csv"
    plan.write_text("orders,1,3\norders,2,2\n")
    said(broker, "reset", empty, "--from-file", str(plan), "--execute")
    assert groups.committed(client, empty, None) == {
        ("orders", index): (offset, 0) for index, offset in enumerate((0, 3, 2))
    }
    assert "nothing to shift" in refused(broker, "reset", "fresh", "-t", "orders", "--shift-by", "1")


def test_reset_of_a_group_in_use(broker: BrokerProcess, busy: str) -> None:
    words = "Error: Assignments can only be reset if the group 'busy' is inactive, but the current state is Stable.\n"
    assert refused(broker, "reset", "busy", "--topic", "orders", "--to-earliest", "--execute") == words
    assert refused(broker, "seek", "busy", "orders:0", "1", "--execute") == words
    assert "NON_EMPTY_GROUP" in refused(broker, "delete", "busy")


def test_seek(broker: BrokerProcess, client: RawClient, empty: str) -> None:
    assert said(broker, "seek", empty, "orders:1", "3") == PLAN + "empty           orders          1          3\n"
    said(broker, "seek", empty, "orders:1", "3", "--execute")
    said(broker, "seek", empty, "orders:2", "latest", "--execute")
    assert groups.committed(client, empty, None) == {
        ("orders", index): (offset, 0) for index, offset in enumerate((4, 3, 10))
    }
    assert "no such partition: orders-9" in refused(broker, "seek", empty, "orders:9", "3")


def test_offsets(broker: BrokerProcess, empty: str) -> None:
    assert said(broker, "offsets", empty) == "orders,0,4\norders,1,10\n"
    assert said(broker, "offsets", empty, "-t", "orders:1", "--delete") == "orders,1,10\n"
    assert said(broker, "offsets", empty, "-t", "orders:1", "--delete", "--execute") == (
        "Request succeeded for deleting offsets from group empty.\n"
        "\nTOPIC           PARTITION  STATUS         \norders          1          Successful     \n"
    )
    assert said(broker, "offsets", empty) == "orders,0,4\n"


def test_delete(broker: BrokerProcess, empty: str) -> None:
    assert said(broker, "delete", empty) == "Deletion of requested consumer groups ('empty') was successful.\n"
    assert "empty" not in said(broker, "list").splitlines()


def test_watch(broker: BrokerProcess, empty: str) -> None:
    lines = said(broker, "watch", empty, "--count", "2", "--interval", "0.01").splitlines()
    assert len(lines) == 2
    assert re.fullmatch(r"Empty +members 0 +lag 6 +2h0\dm +0 +records/s", lines[1].partition("  ")[2])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["describe"], "name the group"),
        (["describe", "g", "--members", "--state"], "choose one of"),
        (["reset", "g", "--to-latest"], "say which topics"),
        (["reset", "g", "-t", "t"], "choose one target"),
        (["reset", "g", "-t", "t", "--to-latest", "--to-earliest"], "choose one target"),
        (["reset", "g", "-t", "t", "--to-latest", "--execute", "--dry-run"], "exclude each other"),
        (["seek", "g", "t:0", "soon"], "neither an offset nor"),
        (["offsets", "g", "--delete"], "say which offsets to delete"),
    ],
)
def test_wrong_arguments(arguments: list[str], words: str) -> None:
    done = CliRunner().invoke(cli, ["group", *arguments])
    assert done.exit_code == 2
    assert words in done.stderr
