"""`kafpy doctor`: each reason why a client cannot connect is found and named."""

import json
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import trustme
from click.testing import CliRunner

from kafpy.cli.main import cli
from tests.client.guard import Guard
from tests.clients.raw import RawClient, batch_of


def examined(*arguments: str) -> tuple[int, list[tuple[str, str, str]]]:
    done = CliRunner().invoke(cli, ["doctor", *arguments, "--format", "json"])
    return done.exit_code, [(each["grade"], each["step"], each["text"]) for each in json.loads(done.stdout)]


@pytest.fixture
def advertising(serve: Callable[..., SimpleNamespace], tmp_path: Path) -> Callable[[str], str]:
    """A broker that tells clients that address; where it really is."""

    def start(address: str) -> str:
        data, override = str(tmp_path / "data"), f"--override=advertised.listeners=PLAINTEXT://{address}"
        return str(serve("--port", "0", "--data", data, override).line.split()[-1])

    return start


def test_a_broker_that_is_well(broker: SimpleNamespace) -> None:
    code, found = examined(broker.address)
    assert code == 0
    assert [grade for grade, _, _ in found] == ["ok"] * len(found)
    assert [step for _, step, _ in found] == ["TCP", "ApiVersions", "Metadata", "broker 1", "topics", "clock"]
    assert ("ok", "broker 1", f"advertised as {broker.address}; connected") in found
    text = CliRunner().invoke(cli, ["doctor", "-b", broker.address]).output
    assert text.splitlines()[0] == f"ok      TCP          connected to {broker.address}"


def test_nobody_there(free_port: int) -> None:
    code, found = examined(f"127.0.0.1:{free_port}")
    said = f"cannot connect to 127.0.0.1:{free_port}: connection refused; nothing listens there, or a firewall says so"
    assert (code, found) == (1, [("FAILED", "TCP", said)])


def test_no_such_host() -> None:
    code, found = examined("no-such-host.invalid:9092")
    assert (code, found[0][:2]) == (1, ("FAILED", "DNS"))
    assert found[0][2].startswith("no-such-host.invalid is no host that this machine knows")


def test_a_container_s_name(advertising: Callable[[str], str]) -> None:
    where = advertising("kafka-0-of-a-container:9092")
    code, found = examined(where)
    assert code == 1
    wrong, hint = (each for each in found if each[1] == "broker 1")
    assert wrong[2].startswith("advertised as kafka-0-of-a-container:9092: kafka-0-of-a-container is no host that")
    assert "looks like the name of a container or a pod" in hint[2]
    assert f"set advertised.listeners to an address that clients reach, such as {where}" in hint[2]


def test_another_port(advertising: Callable[[str], str], free_port: int) -> None:
    code, found = examined(advertising(f"127.0.0.1:{free_port}"))
    assert code == 1
    wrong, hint = (each for each in found if each[1] == "broker 1")
    assert wrong[2].startswith(f"advertised as 127.0.0.1:{free_port}: cannot connect: connection refused")
    assert hint[2].startswith("the host is right and the port is not")


def test_the_address_of_another_broker(
    advertising: Callable[[str], str], serve: Callable[..., SimpleNamespace], tmp_path: Path
) -> None:
    other = serve("--port", "0", "--data", str(tmp_path / "other"), "--override=node.id=7")
    _, found = examined(advertising(other.address))
    assert ("note", "broker 1", f"advertised as {other.address}; another broker answers there") in found


def test_records_from_the_future(broker: SimpleNamespace) -> None:
    with RawClient(broker.host, broker.port) as client:
        client.create("t")
        client.produce("t", batch_of([b"x"], timestamps=time.time_ns() // 1_000_000 + 600_000))
    _, found = examined(broker.address)
    grade, _, text = found[-1]
    assert grade == "note"
    assert text.startswith("the newest record of t-0 is ")
    assert text.endswith("s in the future: a clock is wrong, here or there")


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def tls_guard(authority: trustme.CA) -> Iterator[Guard]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    guard = Guard(tls=context)
    yield guard
    guard.close()


def test_plain_text_to_a_tls_port(tls_guard: Guard) -> None:
    code, found = examined(tls_guard.address)
    assert code == 1
    assert found[-1][1] == "TLS"
    assert found[-1][2].startswith("the listener wants TLS and the client speaks plain text; set security.protocol=SSL")


def test_tls_to_a_plain_port(broker: SimpleNamespace, tmp_path: Path) -> None:
    told = tmp_path / "client.properties"
    told.write_text("security.protocol=SSL\n")
    code, found = examined(broker.address, "--command-config", str(told))
    assert code == 1
    assert found[-1][2].startswith("the client wants TLS and the listener speaks plain text")


def test_a_certificate_that_is_not_believed(tls_guard: Guard, authority: trustme.CA, tmp_path: Path) -> None:
    told = tmp_path / "client.properties"
    told.write_text("security.protocol=SSL\n")
    code, found = examined(tls_guard.address, "--command-config", str(told))
    assert (code, found[-1][:2]) == (1, ("FAILED", "Kafka"))
    assert "unable to get local issuer certificate; check security.protocol and ssl.*" in found[-1][2]
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    told.write_text(f"security.protocol=SSL\nssl.truststore.location={tmp_path / 'ca.pem'}\n")
    _, found = examined(tls_guard.address, "--command-config", str(told))
    assert ("ok", "TLS", "both sides speak it") in found
