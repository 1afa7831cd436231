"""The columns of a read, as Spark and as Arrow know them."""

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from kafpy.client.arrow_batches import COLUMNS
from spark_source.options import refuse

TYPES: dict[str, DataType] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
    "headers": ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())])),
}
assert tuple(TYPES) == COLUMNS


def full_schema(*, headers: bool) -> StructType:
    return StructType([StructField(name, kind) for name, kind in TYPES.items() if headers or name != "headers"])


def columns_of(schema: StructType) -> list[str]:
    """What a query wants, in its order: any of the columns, each with the type it has. OptionError otherwise."""
    for each in schema.fields:
        kind = TYPES.get(each.name)
        if kind is None:
            refuse(f"there is no column {each.name}; the columns are {', '.join(TYPES)}")
        if each.dataType != kind:
            refuse(f"the column {each.name} is {kind.simpleString()}, not {each.dataType.simpleString()}")
    if len(set(schema.names)) < len(schema.names) or not schema.names:
        refuse("a schema names each column once, and one at least")
    return list(schema.names)
