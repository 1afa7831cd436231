"""A topic into another, changed on the way, every record once: over restarts of this program, however it was ended.

    python exactly_once_copy.py orders loud-orders

Every copy says in a header where it comes from. Before a batch is written, the target's ends are noted beside the
checkpoint. A batch that was under way when the last run ended is run again by Spark under the same number: what stands
behind those ends is what it wrote already, and is left out this time. One run at a time; tasks are not tried again.
"""

import json
import os
from pathlib import Path
from typing import Any

from local_spark import parser, session
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from kafpy.client.cluster import LATEST, Cluster

ORIGIN = "copied-from"


def transformed(rows: DataFrame) -> DataFrame:
    """What this pipeline is for; replace it by your own. One row in, one row out."""
    return rows.withColumn("value", f.upper(f.col("value").cast("string")))


class Copy:
    def __init__(self, spark: SparkSession, bootstrap: str, source: str, target: str, checkpoint: Path) -> None:
        self._spark = spark
        self._bootstrap = bootstrap
        self._source = source
        self._target = target
        self._checkpoint = checkpoint
        self._noted = checkpoint / "target-ends.json"

    def start(self, *, batch_rows: int, follow: bool) -> StreamingQuery:
        self._checkpoint.mkdir(parents=True, exist_ok=True)
        reader = self._kafpy(self._spark.readStream).options(subscribe=self._source, startingOffsets="earliest")
        rows = reader.options(includeHeaders=True, maxOffsetsPerTrigger=batch_rows).load()
        writer = rows.writeStream.foreachBatch(self._write).option(
            "checkpointLocation", str(self._checkpoint / "spark")
        )
        return (writer if follow else writer.trigger(availableNow=True)).start()

    def _write(self, rows: DataFrame, number: int) -> None:
        origin = f.concat_ws("/", "topic", "partition", "offset").cast("binary")
        marked = rows.withColumn("origin", origin)
        noted = json.loads(self._noted.read_text()) if self._noted.exists() else {}
        if noted.get("batch") == number:
            marked = marked.join(self._written_since(noted["ends"]), "origin", "left_anti")
        else:
            self._note({"batch": number, "ends": self._ends()})
        header = f.array(f.struct(f.lit(ORIGIN).alias("key"), f.col("origin").alias("value")))
        with_origin = f.concat(f.coalesce("headers", f.slice(header, 1, 0)), header)
        copies = transformed(marked.withColumn("headers", with_origin)).select("key", "value", "headers")
        self._kafpy(copies.write).mode("append").option("topic", self._target).save()

    def _written_since(self, ends: dict[str, int]) -> DataFrame:
        reader = self._kafpy(self._spark.read).option("startingOffsets", json.dumps({self._target: ends}))
        copies = reader.options(subscribe=self._target, includeHeaders=True).load()
        return copies.select(f.expr(f"element_at(filter(headers, h -> h.key = '{ORIGIN}'), -1).value").alias("origin"))

    def _ends(self) -> dict[str, int]:
        with Cluster(self._bootstrap) as cluster:
            partitions = cluster.partitions([self._target])
            found = cluster.offsets(dict.fromkeys(partitions, LATEST))
        return {str(index): offset for (_, index), offset in found.items()}

    def _note(self, note: dict[str, object]) -> None:
        draft = self._noted.with_suffix(".draft")
        with draft.open("w") as file:
            json.dump(note, file)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(self._noted)

    def _kafpy(self, reader_or_writer: Any) -> Any:
        return reader_or_writer.format("kafpy").option("kafka.bootstrap.servers", self._bootstrap)


def main() -> None:
    arguments = parser("Copy a topic into another, with a change, every record once.")
    arguments.add_argument("target", help="a topic that is there")
    arguments.add_argument("--follow", action="store_true", help="go on with what comes")
    arguments.add_argument("--batch-rows", type=int, default=100_000)
    arguments.add_argument("--checkpoint", type=Path, default=Path("copy.checkpoint"), help="a folder")
    given = arguments.parse_args()
    spark = session("exactly-once copy", given.master)
    copy = Copy(spark, given.bootstrap_server, given.topic, given.target, given.checkpoint)
    query = copy.start(batch_rows=given.batch_rows, follow=given.follow)
    query.awaitTermination()
    rows = sum(progress.numInputRows for progress in query.recentProgress)
    spark.stop()
    print(f"{rows} records copied")


if __name__ == "__main__":
    main()
