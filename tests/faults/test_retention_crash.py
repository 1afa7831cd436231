"""kill -9 at storage system calls around a round of retention: by size, and of a whole log."""

import shutil
from pathlib import Path

import pytest

from kafpy._core import batch
from kafpy.protocol import api
from tests.clients.raw import RawClient, produce_request
from tests.faults.nursery import KILLED, Nursery
from tests.faults.workload import PRODUCER, SETTINGS, Kept, Promises, check

RECORDS = 24
STRIDE = 3


def fill(client: RawClient, kept: Kept) -> None:
    for number in range(RECORDS):
        kept.tried = b"%d:" % number + b"x" * 200
        kept.tried_batch = batch.encode(
            [kept.tried],
            timestamps=1_700_000_000_000 + number,
            producer_id=PRODUCER,
            producer_epoch=0,
            base_sequence=number,
        )
        answer = client.call(api.PRODUCE, 9, produce_request("t", {0: kept.tried_batch}))
        assert answer.responses[0].partition_responses[0].error_code == 0
        kept.values.append(kept.tried)
        kept.last_batch, kept.tried = kept.tried_batch, None
        kept.tried_start = len(kept.values)


def crashed(nursery: Nursery, folder: Path, kill_at: int, configs: dict[str, str]) -> Promises:
    """A round, another batch of records, and a second round; then the stop."""
    shutil.rmtree(folder)
    folder.mkdir()
    promises = Promises(unsure="t")
    port = nursery.start([folder / "data"], kill_at=kill_at, torn=False, **SETTINGS)
    try:
        if port is not None:
            with RawClient("127.0.0.1", port) as client:
                kept = Kept()
                promises.topics["t"] = client.create("t", 1, configs), [kept]
                promises.unsure = None
                fill(client, kept)
            if nursery.run("retain"):
                nursery.run("settle")
                nursery.run("retain")
    except OSError:
        pass
    if nursery.status is None:
        nursery.run("stop")
    assert nursery.wait() in (KILLED, 0)
    return promises


@pytest.mark.parametrize("configs", [{"retention.bytes": "3000", "retention.ms": "-1"}, {"retention.ms": "1000"}])
def test_what_is_left_is_a_log(nursery: Nursery, folder: Path, configs: dict[str, str]) -> None:
    promises = crashed(nursery, folder, -1, configs)
    calls, first = nursery.count, min(int(path.stem) for path in folder.glob("data/t-0/*.log"))
    assert first == RECORDS if "retention.bytes" not in configs else 5 < first < RECORDS
    check(folder / "data", promises)
    killed = 0
    for point in range(calls // 3, calls, STRIDE):
        promises = crashed(nursery, folder, point, configs)
        killed += nursery.status == KILLED
        try:
            check(folder / "data", promises)
        except BaseException as error:
            error.add_note(f"killed at storage call {point}")
            raise
    assert killed > 10
