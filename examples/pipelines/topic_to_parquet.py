"""A topic into Parquet files, in bulk and in parallel, with a line that tells how far it is.

    python topic_to_parquet.py orders orders.parquet

What is written is what the topic holds when this begins.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from local_spark import parser, session
from pyspark.sql import Observation, SparkSession
from pyspark.sql import functions as f


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


def main() -> None:
    arguments = parser("Write what a topic holds now to Parquet files.")
    arguments.add_argument("directory")
    arguments.add_argument(
        "--mode", choices=["error", "append", "overwrite"], default="error", help="where there are files"
    )
    given = arguments.parse_args()
    spark = session("topic to Parquet", given.master)
    found = write(spark, given.bootstrap_server, given.topic, given.directory, mode=given.mode)
    spark.stop()
    print(f"{found.rows} rows in {found.seconds:.1f} s, {found.rows / found.seconds:.0f} rows/s")


if __name__ == "__main__":
    main()
