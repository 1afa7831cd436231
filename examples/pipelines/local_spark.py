"""The Spark session that the examples share: on this machine, unless a master is named."""

import argparse
import os
import sys

from pyspark.sql import SparkSession

from spark_source import java


def session(name: str, master: str) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    java.provide()
    return (
        SparkSession.builder.master(master)
        .appName(name)
        .config("spark.ui.enabled", False)
        .config("spark.ui.showConsoleProgress", False)
        .config("spark.log.level", "ERROR")
        .config("spark.task.maxFailures", 1)  # a task that is run again would write its rows again
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.python.unix.domain.socket.enabled", True)
        .getOrCreate()
    )


def parser(description: str) -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(description=description)
    found.add_argument("topic")
    found.add_argument("-b", "--bootstrap-server", default=os.environ.get("KAFPY_BOOTSTRAP_SERVER", "localhost:9092"))
    found.add_argument("--master", default="local[2]", help="of Spark: local[2], spark://HOST:PORT")
    return found
