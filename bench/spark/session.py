"""One Spark session that reads a topic when it is told to, and tells rows, seconds and CPU of each read as JSON.

Run by bench.spark.run as a program of its own, so that each contestant has a JVM to itself. Each line of standard input
is an action; each line of standard output what it took.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    job = json.loads(sys.argv[1])
    spark = session(job)
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(measured(spark, job, line.strip())), flush=True)
    spark.stop()


def session(job: dict[str, Any]) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", False)
        .config("spark.driver.memory", "2g")
        .config("spark.local.dir", job["scratch"])
        .config("spark.log.level", "ERROR")
    )
    for name, value in job["settings"].items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def measured(spark: SparkSession, job: dict[str, Any], action: str) -> dict[str, float]:
    broker_before, own_before = _cpu_of(job["broker_pid"]), _cpu_of_tree(os.getpid())
    started = time.perf_counter()
    rows = perform(frame(spark, job), action, job["scratch"])
    seconds = time.perf_counter() - started
    if rows not in (None, job["rows"]):
        raise RuntimeError(f"{action}: {rows} rows, not {job['rows']}")
    return {
        "seconds": seconds,
        "cpu": _cpu_of_tree(os.getpid()) - own_before,
        "broker_cpu": _cpu_of(job["broker_pid"]) - broker_before,
    }


def frame(spark: SparkSession, job: dict[str, Any]) -> DataFrame:
    reader = spark.read.format(job["format"])
    for name, value in job["options"].items():
        reader = reader.option(name, value)
    if job["format"] == "kafpy" and job["columns"]:
        return reader.schema(", ".join(f"{each} {kind}" for each, kind in job["columns"].items())).load()
    found = reader.load()
    return found.select(*job["columns"]) if job["columns"] else found


def perform(found: DataFrame, action: str, scratch: str) -> int | None:
    """The number of rows where the action tells it."""
    if action == "count":
        return found.count()
    if action == "sum(length)":
        total = found.selectExpr("count(*)", "sum(length(value))").first()
        assert total is not None
        return int(total[0])
    if action == "noop":
        found.write.format("noop").mode("overwrite").save()
    else:
        found.write.mode("overwrite").parquet(f"{scratch}/parquet")
    return None


def _cpu_of(pid: int) -> float:
    return sum(_ticks(pid)[:2]) / TICKS


def _cpu_of_tree(pid: int) -> float:
    """With all that it started: the JVM, and Python's workers under it. Those that ended count in their parents."""
    total, todo = 0.0, [pid]
    while todo:
        each = todo.pop()
        try:
            total += sum(_ticks(each)) / TICKS
            listed = [path.read_text() for path in Path(f"/proc/{each}/task").glob("*/children")]
        except OSError:
            continue
        todo += [int(child) for text in listed for child in text.split()]
    return total


def _ticks(pid: int) -> list[int]:
    """User and system time, its own and that of its children that ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return [int(each) for each in fields[11:15]]


if __name__ == "__main__":
    main()
