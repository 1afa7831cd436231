"""Words of a topic's records, counted in windows of time, into another topic: the last record of a key is what holds.

    python windowed_counts.py lines counts

Goes through what there is and ends; with --follow it stays. Where it was stands in the checkpoint.
"""

from local_spark import parser, session
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery


def counted(lines: DataFrame, window: str) -> DataFrame:
    words = lines.select("timestamp", f.explode(f.split(f.lower(f.col("value").cast("string")), r"\W+")).alias("word"))
    return (
        words.where("word != ''")
        .withWatermark("timestamp", "10 minutes")
        .groupBy(f.window("timestamp", window), "word")
        .count()
    )


def records(counts: DataFrame) -> DataFrame:
    """Keys and values for the topic: every window of every word is one key."""
    place = f.struct("word", f.col("window.start").alias("start"), f.col("window.end").alias("end"))
    return counts.select(f.to_json(place).alias("key"), f.col("count").cast("string").alias("value"))


def start(
    spark: SparkSession, bootstrap: str, topic: str, target: str, checkpoint: str, *, window: str, follow: bool
) -> StreamingQuery:
    broker = {"kafka.bootstrap.servers": bootstrap}

    def write(counts: DataFrame, number: int) -> None:
        """Counts are whole numbers and no differences: a batch that Spark runs again changes nothing."""
        records(counts).write.format("kafpy").mode("append").options(**broker, topic=target).save()

    lines = spark.readStream.format("kafpy").options(**broker, subscribe=topic, startingOffsets="earliest").load()
    writer = counted(lines, window).writeStream.outputMode("update").foreachBatch(write)
    writer = writer.option("checkpointLocation", checkpoint)
    return (writer if follow else writer.trigger(availableNow=True)).start()


def main() -> None:
    arguments = parser("Count words in windows of time, from a topic into another.")
    arguments.add_argument("target", help="the topic of the counts; compacted, it keeps the last one of each window")
    arguments.add_argument("--window", default="1 minute")
    arguments.add_argument("--follow", action="store_true", help="go on with what comes")
    arguments.add_argument("--checkpoint", default="windowed-counts.checkpoint", help="a folder")
    given = arguments.parse_args()
    spark = session("windowed counts", given.master)
    query = start(
        spark,
        given.bootstrap_server,
        given.topic,
        given.target,
        given.checkpoint,
        window=given.window,
        follow=given.follow,
    )
    query.awaitTermination()
    rows = sum(progress.numInputRows for progress in query.recentProgress)
    spark.stop()
    print(f"{rows} records counted")


if __name__ == "__main__":
    main()
