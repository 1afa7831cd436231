"""A topic into Parquet files, in bulk and in parallel, with a line that tells how far it is.

    python topic_to_parquet.py orders orders.parquet

What is written is what the topic holds when this begins.
"""

import argparse
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from pyspark.sql import Observation, SparkSession
from pyspark.sql import functions as f

from spark_source import java


class Written(NamedTuple):
    rows: int
    seconds: float


def write(spark: SparkSession, bootstrap: str, topic: str, directory: str, *, mode: str = "error") -> Written:
    frame = (
        spark.read.format("kafpy")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("includeHeaders", True)
        .load()
    )
    counted = Observation()
    began = time.monotonic()
    with progress(spark):
        frame.observe(counted, f.count("*").alias("rows")).write.mode(mode).parquet(directory)
    return Written(counted.get["rows"], time.monotonic() - began)


@contextmanager
def progress(spark: SparkSession) -> Iterator[None]:
    """A line on a terminal, over and over, while Spark works; nothing where there is no terminal."""
    ended = threading.Event()

    def tell() -> None:
        tracker = spark.sparkContext.statusTracker()
        began = time.monotonic()
        while not ended.wait(0.2):
            stages = [found for each in tracker.getActiveStageIds() if (found := tracker.getStageInfo(each))]
            done, tasks = sum(each.numCompletedTasks for each in stages), sum(each.numTasks for each in stages)
            if tasks:
                bar = "#" * (30 * done // tasks)
                line = f"[{bar:<30}] {done} of {tasks} tasks, {time.monotonic() - began:.0f} s"
                print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    teller = threading.Thread(target=tell, daemon=True)
    if sys.stderr.isatty():
        teller.start()
    try:
        yield
    finally:
        ended.set()
        if teller.is_alive():
            teller.join()


def session(master: str) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    java.provide()
    return (
        SparkSession.builder.master(master)
        .appName("topic to Parquet")
        .config("spark.ui.enabled", False)
        .config("spark.ui.showConsoleProgress", False)
        .config("spark.log.level", "ERROR")
        .config("spark.python.unix.domain.socket.enabled", True)
        .getOrCreate()
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Write what a topic holds now to Parquet files.")
    parser.add_argument("topic")
    parser.add_argument("directory")
    parser.add_argument("-b", "--bootstrap-server", default=os.environ.get("KAFPY_BOOTSTRAP_SERVER", "localhost:9092"))
    parser.add_argument("--master", default="local[*]", help="of Spark: local[*], spark://HOST:PORT")
    parser.add_argument(
        "--mode", choices=["error", "append", "overwrite"], default="error", help="where there are files"
    )
    given = parser.parse_args()
    spark = session(given.master)
    found = write(spark, given.bootstrap_server, given.topic, given.directory, mode=given.mode)
    spark.stop()
    print(f"{found.rows} rows in {found.seconds:.1f} s, {found.rows / found.seconds:.0f} rows/s")


if __name__ == "__main__":
    main()
