"""Found by Spark because of its name: registers the data source `kafpy` in every session."""

from spark_source.source import KafpyDataSource as DefaultSource

__all__ = ["DefaultSource"]
