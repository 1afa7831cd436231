"""The examples, with the tests' Spark; and as a user calls them."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient
from tests.spark.topics import create, frame, put

FOLDER = Path(__file__).parents[2] / "examples" / "pipelines"


@pytest.fixture(autouse=True)
def beside_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FOLDER)


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def orders(broker: BrokerProcess) -> BrokerProcess:
    create(broker, "orders", 2, retention_ms="-1")
    put(broker, "orders", [b"%d" % number for number in range(70)], 0)
    put(broker, "orders", [b"%d" % number for number in range(70, 100)], 1)
    return broker


def test_a_topic_to_parquet(spark: SparkSession, orders: BrokerProcess, tmp_path: Path) -> None:
    pipeline, out = example("topic_to_parquet"), str(tmp_path / "out")
    assert pipeline.write(spark, orders.bootstrap, "orders", out).rows == 100
    rows = spark.read.parquet(out).selectExpr("partition p", "offset o", "CAST(value AS STRING) v").collect()
    assert sorted((row.p, row.o, row.v) for row in rows) == [
        (0 if number < 70 else 1, number % 70, str(number)) for number in range(100)
    ]
    with pytest.raises(Exception, match="already exists"):
        pipeline.write(spark, orders.bootstrap, "orders", out)
    pipeline.write(spark, orders.bootstrap, "orders", out, mode="append")
    assert spark.read.parquet(out).count() == 200


@pytest.mark.slow
def test_by_one_command(orders: BrokerProcess, tmp_path: Path) -> None:
    command = [sys.executable, FOLDER / "topic_to_parquet.py", "orders", tmp_path / "out"]
    environment = {**os.environ, "KAFPY_BOOTSTRAP_SERVER": orders.bootstrap}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout.startswith("100 rows in "), done.stderr
    asked = ["sql", "--format", "json", f"SELECT count(*) n FROM '{tmp_path}/out/*.parquet'"]
    counted = subprocess.run(
        [sys.executable, "-m", "kafpy.cli.main", *asked], env=environment, capture_output=True, text=True, check=True
    )
    assert json.loads(counted.stdout) == {"n": 100}


def test_words_are_counted_in_windows(spark: SparkSession, broker: BrokerProcess, tmp_path: Path) -> None:
    pipeline = example("windowed_counts")
    create(broker, "lines", 2, retention_ms="-1")
    create(broker, "counts")

    def run() -> dict[tuple[str, str], int]:
        options = {"window": "1 minute", "follow": False}
        place = str(tmp_path / "checkpoint")
        assert pipeline.start(spark, broker.bootstrap, "lines", "counts", place, **options).awaitTermination(90)
        rows = frame(spark, broker, subscribe="counts").selectExpr("string(key) key", "int(string(value)) n").collect()
        last = {row.key: row.n for row in rows}
        return {(each["word"], each["start"][11:16]): n for key, n in last.items() for each in [json.loads(key)]}

    minute = 60_000
    put(broker, "lines", [b"one two", b"Two, three"], 0, timestamps=[10 * minute, 10 * minute + 59_999])
    put(broker, "lines", [b"two"], 1, timestamps=[11 * minute])
    first = {("one", "00:10"): 1, ("two", "00:10"): 2, ("three", "00:10"): 1, ("two", "00:11"): 1}
    assert run() == first
    put(broker, "lines", [b"two three two"], 1, timestamps=[11 * minute + 1])
    assert run() == {**first, ("two", "00:11"): 3, ("three", "00:11"): 1}


def test_a_batch_that_was_cut_off_is_completed(spark: SparkSession, broker: BrokerProcess, tmp_path: Path) -> None:
    """The copy ends after some of a batch was written: as when the program dies."""
    create(broker, "originals", 2)
    create(broker, "copies", 3)
    for index in range(2):
        put(broker, "originals", [b"v%d.%d" % (index, at) for at in range(50)], index)
    copy = example("exactly_once_copy").Copy(spark, broker.bootstrap, "originals", "copies", tmp_path / "copy")

    def write_some(rows: DataFrame, number: int) -> None:
        type(copy)._write(copy, rows.where("partition = 0"), number)
        raise RuntimeError("died")

    copy._write = write_some
    with pytest.raises(StreamingQueryException, match="died"):
        copy.start(batch_rows=1000, follow=False).awaitTermination()
    assert sorted(copied(broker)) == sorted(b"V0.%d" % at for at in range(50))
    del copy._write
    for _ in range(2):
        copy.start(batch_rows=1000, follow=False).awaitTermination()
    assert sorted(copied(broker)) == sorted(b"V%d.%d" % (index, at) for index in range(2) for at in range(50))


def copied(broker: BrokerProcess) -> list[bytes | None]:
    with RawClient(broker.host, broker.port) as client:
        return [value for index in range(3) for value in client.values("copies", partition=index)]


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_copy_that_is_killed_again_and_again(broker: BrokerProcess, tmp_path: Path) -> None:
    create(broker, "many", 2)
    create(broker, "many-copies", 3)
    for index in range(2):
        for first in range(0, 20_000, 1000):
            put(broker, "many", [b"%d.%d" % (index, at) for at in range(first, first + 1000)], index)
    command = [sys.executable, FOLDER / "exactly_once_copy.py", "many", "many-copies", "--batch-rows", "4000"]
    environment = {**os.environ, "KAFPY_BOOTSTRAP_SERVER": broker.bootstrap}

    def ends() -> int:
        with RawClient(broker.host, broker.port) as client:
            return sum(client.offset("many-copies", -1, partition=index).offset for index in range(3))

    for enough in (1, 9_000, 22_000):
        with subprocess.Popen(command, cwd=tmp_path, env=environment, start_new_session=True) as running:
            while running.poll() is None and ends() < enough:
                time.sleep(0.05)
            os.killpg(running.pid, signal.SIGKILL)
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with RawClient(broker.host, broker.port) as client:
        found = [value for index in range(3) for value in client.values("many-copies", partition=index)]
    assert sorted(found) == sorted(b"%d.%d" % (index, at) for index in range(2) for at in range(20_000))
