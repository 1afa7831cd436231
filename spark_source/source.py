"""The data source `kafpy`: topics as data frames, with the options of Spark's Kafka connector.

    spark.read.format("kafpy").option("kafka.bootstrap.servers", "localhost:9092").option("subscribe", "events").load()
    rows.write.format("kafpy").mode("append").option("kafka.bootstrap.servers", …).option("topic", "events").save()

Filters are not pushed down: Spark keeps what was pushed with a frame, not with a query, and another query of that frame
would get the rows of the first one. startingTimestamp and its siblings do that work.
"""

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from spark_source import rows
from spark_source.batch_reader import BatchReader
from spark_source.options import Options


class KafpyDataSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "kafpy"

    def schema(self) -> StructType:
        return rows.full_schema(headers=Options(self.options).flag("includeHeaders", False))

    def reader(self, schema: StructType) -> DataSourceReader:
        return BatchReader(self.options, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        from spark_source.stream_reader import StreamReader

        return StreamReader(self.options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from spark_source.writers import BatchWriter

        return BatchWriter(self.options, schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        from spark_source.writers import StreamWriter

        return StreamWriter(self.options, schema)
