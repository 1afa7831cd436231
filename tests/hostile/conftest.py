"""A broker under bad input, and a well-behaved client beside it that must notice nothing.

Every test is a row of the project's table of bad input and carries its id (F1, B2, R3, …).
"""

import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kafpy._core import batch
from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient


class Hostile:
    """Opens sockets and sends bytes as they are."""

    def __init__(self, broker: BrokerProcess) -> None:
        self.broker = broker
        self._open: list[socket.socket] = []

    def connect(self) -> socket.socket:
        made = socket.create_connection((self.broker.host, self.broker.port), 30)
        self._open.append(made)
        return made

    def send(self, data: bytes) -> socket.socket:
        made = self.connect()
        with suppress(OSError):  # the broker may hang up before it has read everything
            made.sendall(data)
        return made

    def closes(self, data: bytes) -> bool:
        """Whether the broker hangs up on these bytes without an answer."""
        return read_all(self.send(data)) == b""

    def frame(self, payload: bytes) -> socket.socket:
        return self.send(framed(payload))

    def close(self) -> None:
        for each in self._open:
            each.close()


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


def read_all(from_socket: socket.socket) -> bytes:
    """Until the other side closes."""
    data = b""
    while True:
        try:
            got = from_socket.recv(65536)
        except ConnectionResetError:
            return data
        if not got:
            return data
        data += got


def memory_kb(broker: BrokerProcess) -> int:
    status = Path(f"/proc/{broker.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))


def cpu_s(broker: BrokerProcess) -> float:
    """Processor time, user's and system's: another process's load does not count."""
    fields = Path(f"/proc/{broker.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture(scope="session")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    process = BrokerProcess(
        tmp_path_factory.mktemp("hostile") / "data", log_cleanup_policy="delete", group_initial_rebalance_delay_ms=0
    )
    yield process
    process.stop()


@pytest.fixture(scope="session")
def witness(target: BrokerProcess) -> Iterator[RawClient]:
    """One connection for the whole session: whatever happens elsewhere, it goes on."""
    client = RawClient(target.host, target.port)
    client.create("witness")
    client.create("quiet")
    yield client
    client.close()


@pytest.fixture
def hostile(target: BrokerProcess, witness: RawClient) -> Iterator[Hostile]:
    """Nothing but the witness's own record is appended anywhere, and it is served as ever."""
    before = witness.offset("witness", -1).offset
    made = Hostile(target)
    yield made
    made.close()
    answer = witness.produce("witness", batch.encode([b"still here"], timestamps=1_700_000_000_000))
    assert (answer.error_code, answer.base_offset) == (0, before)
    assert witness.fetch("witness", before).error_code == 0
    assert witness.offset("quiet", -1).offset == 0
    assert memory_kb(target) < 300_000
