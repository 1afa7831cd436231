"""The examples, with the tests' Spark; and as a user calls them."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from pyspark.sql import SparkSession

from tests.broker_process import BrokerProcess
from tests.spark.topics import create, put

FOLDER = Path(__file__).parents[2] / "examples" / "pipelines"


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
