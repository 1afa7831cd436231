"""One Spark for all tests, in this process, and a broker of each module's own."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_source import java
from tests.broker_process import BrokerProcess

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    java.provide()
    place = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local[2]")
        .appName("kafpy")
        .config("spark.ui.enabled", False)
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.python.unix.domain.socket.enabled", True)
        .config("spark.driver.memory", "1g")
        .config("spark.local.dir", str(place / "local"))
        .config("spark.sql.warehouse.dir", str(place / "warehouse"))
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    process = BrokerProcess(tmp_path_factory.mktemp("broker") / "data")
    yield process
    process.stop()


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    """For a test that stops it, or lets it crash."""
    process = BrokerProcess(tmp_path / "own")
    yield process
    process.stop()
