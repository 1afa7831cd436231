"""Reads one topic with Spark's own connector and with ours, in a session that has the connector's jars, and says where
the rows differ. Run as a program: Spark has one session in a process, and other tests have theirs.

    python -m tests.peers.spark_rows JARS '{"subscribe": "t", …}' '{"kafpy.read": "tcp"}'
"""

import json
import os
import sys

from pyspark.sql import DataFrame, SparkSession


def main() -> None:
    jars, shared, ours = sys.argv[1], json.loads(sys.argv[2]), [json.loads(each) for each in sys.argv[3:]]
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False).config("spark.jars", jars)
    spark = builder.config("spark.sql.shuffle.partitions", 2).config("spark.log.level", "ERROR").getOrCreate()
    found = []
    for given in shared:
        theirs = rows(read(spark, "kafka", given))
        found.append(
            {"rows": len(theirs), "same": [rows(read(spark, "kafpy", {**given, **each})) == theirs for each in ours]}
        )
    print(json.dumps(found))
    spark.stop()


def read(spark: SparkSession, source: str, options: dict[str, str]) -> DataFrame:
    return spark.read.format(source).options(**options).load()


def rows(frame: DataFrame) -> list[str]:
    assert frame.columns[:7] == ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
    return sorted(str(row) for row in frame.collect())


if __name__ == "__main__":
    main()
