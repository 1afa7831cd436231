"""`kafpy bench` from end to end, with little of everything; times mean nothing here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.suite import workload
from kafpy.protocol import api
from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient

pytestmark = pytest.mark.timeout(900)
ROOT = Path(__file__).parents[2]
SMOKE = Path(__file__).with_name("smoke.yaml")


def bench(*arguments: object, fails: bool = False) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kafpy.cli.main", "bench", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=600)
    assert (done.returncode != 0) == fails, done.stderr
    return done


@pytest.mark.slow
def test_every_kind_of_row(tmp_path: Path) -> None:
    limits = ("--seconds", "0.3", "--repeats", "2", "--cold-memory", "--data", tmp_path / "data")
    done = bench("run", SMOKE, *limits, "--out", tmp_path / "out")
    found = json.loads((tmp_path / "out" / "results.json").read_text())
    assert found["notes"] == []
    rows = {row["row"]: row["outcomes"]["kafpy"] for row in found["rows"]}
    assert list(rows) == [row.name for row in workload.load(str(SMOKE)).rows]
    assert all(len(outcomes) == 2 for outcomes in rows.values())
    for name in ("produce", "produce as zstd with keys", "produce on time", "end to end", "durable"):
        for outcome in rows[name]:
            assert outcome["requests"] > 0
            assert outcome["errors"] == 0
            assert sum(count for _, count in outcome["latencies"]) == outcome["requests"]
            assert outcome["percentiles"]["50"] <= outcome["percentiles"]["99"] <= outcome["percentiles"]["100"]
    assert all(outcome["disk_bytes"] > 0 for outcome in rows["produce"])
    assert all(outcome["bytes"] > 0 for outcome in rows["fetch"])
    assert all(outcome["requests"] > 0 and outcome["errors"] == 0 for outcome in rows["members"])
    assert all(10 < outcome["idle_mb"] < 500 for outcome in rows["idle"])
    assert all(outcome["first_ack_s"] > 0 for name in ("start", "restart") for outcome in rows[name])
    assert "| produce | " in done.stdout
    page = (tmp_path / "out" / "report.html").read_text()
    assert "data:image/png;base64" in page
    assert "http:" not in page  # a colon is not in base64: pictures cannot hold it by chance
    assert "https:" not in page
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".json", ".md", ".html", ".png"}
    assert not list((tmp_path / "data").iterdir())
    assert "no difference" in bench("compare", tmp_path / "out", tmp_path / "out").stdout
    assert bench("report", tmp_path / "out").stdout.strip() == (tmp_path / "out" / "report.md").read_text().strip()


@pytest.mark.slow
def test_beside_the_bare_loop(tmp_path: Path) -> None:
    limits = ("--seconds", "0.2", "--repeats", "1", "--cold-memory", "--data", tmp_path / "data")
    bench("run", SMOKE, *limits, "--against", "loop", "--out", tmp_path / "out")
    found = json.loads((tmp_path / "out" / "results.json").read_text())
    measured = {row["row"] for row in found["rows"] if "loop" in row["outcomes"]}
    assert measured == {"produce", "produce as zstd with keys", "produce on time", "fetch", "end to end"}
    left_out = {note.split(": ")[1] for note in found["notes"]}
    assert left_out == {row["row"] for row in found["rows"]} - measured


@pytest.mark.slow
def test_librdkafka_against_a_broker_that_runs(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path / "data")
    try:
        target = f"mine={broker.bootstrap},pid={broker.pid}"
        given = ("--target", target, "--without-kafpy", "--driver", "librdkafka", "--cold-memory")
        done = bench("run", SMOKE, *given, "--seconds", "0.3", "--repeats", "1", "--out", tmp_path / "out")
        with RawClient(broker.host, broker.port) as client:
            left = client.call(api.METADATA, 12, api.METADATA.request(topics=None)).topics
        assert [each.name for each in left if not each.is_internal] == []
    finally:
        broker.stop()
    found = json.loads((tmp_path / "out" / "results.json").read_text())
    rows = {row["row"]: row["outcomes"]["mine"] for row in found["rows"]}
    assert {"produce", "produce on time", "fetch"} <= set(rows)
    assert all(outcome["records"] > 0 for outcomes in rows.values() for outcome in outcomes)
    assert any("did not start this broker" in note for note in found["notes"])
    assert any("does not make this load" in note for note in found["notes"])
    assert "mine cost" in done.stdout


@pytest.mark.slow
def test_the_cost_of_every_command_can_be_measured() -> None:
    command = [sys.executable, "-m", "bench.cost.commands", "--repeats", "1"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=600, check=False)
    assert "\nabove 0.25 s: " in done.stdout, done.stderr


def test_what_is_wrong_is_said_in_one_line() -> None:
    for given, said in (
        (("run", "nothing"), "kafpy: there is no workload 'nothing'; there are: codecs, "),
        (("run", "--target", "x"), "kafpy: --target x: expected NAME=HOST:PORT,pid=N\n"),
        (("run", "--target", "x=localhost:1,pid=999999999"), "there is no process 999999999 here"),
        (("run", "--target", "x=localhost:1"), "--target x=localhost:1: cannot reach 127.0.0.1:1: connection refused"),
        (("run", "codecs", "--data", "/proc/none"), "kafpy: cannot use /proc/none: "),
        (("compare", SMOKE, SMOKE), "holds no results"),
    ):
        assert said in bench(*given, fails=True).stderr
