"""Nobody needs the GIL to produce and fetch: they go on while a C call holds it for five seconds."""

import ctypes
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.core.served import serving

HELD_S = 5.0
CLIENT = """
import sys, time
from tests.core.logs import make_batch
from tests.core.served import Client

client = Client(int(sys.argv[1]), timeout_s=30)
data = make_batch(value=bytes(1000))
offset = 0
print("ready", flush=True)
end = time.monotonic() + float(sys.argv[2])
slowest = 0.0
while time.monotonic() < end:
    started = time.monotonic()
    answer = client.produce(data)
    assert answer.error_code == 0 and answer.base_offset == offset, answer
    offset += 1
    assert client.fetch_one(offset - 1, max_wait_ms=1000).records
    slowest = max(slowest, time.monotonic() - started)
    time.sleep(0.01)
print(offset, slowest, flush=True)
"""


@pytest.mark.parametrize("planes", [1, 3])
def test_produce_and_fetch_go_on_while_the_gil_is_held(tmp_path: Path, planes: int) -> None:
    with serving(tmp_path, planes=planes, settings={"segment_bytes": 100_000}) as served:
        client = subprocess.Popen(
            [sys.executable, "-c", CLIENT, str(served.port), str(HELD_S + 1)], stdout=subprocess.PIPE, text=True
        )
        assert client.stdout is not None
        assert client.stdout.readline() == "ready\n"
        usleep = ctypes.PyDLL(None).usleep  # unlike CDLL, PyDLL keeps the GIL
        started, before = time.monotonic(), served.logs[0].log_end_offset
        usleep(int(HELD_S * 1_000_000))
        during = served.logs[0].log_end_offset - before
        assert time.monotonic() - started >= HELD_S
        out, _ = client.communicate(timeout=30)
        assert client.returncode == 0
        count, slowest = out.split()
        assert during > 10
        assert int(count) == served.logs[0].log_end_offset
        assert float(slowest) < HELD_S / 2
        assert served.logs[0].segment_count > 1
