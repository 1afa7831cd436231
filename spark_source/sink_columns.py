"""The columns of a write: which there may be, of which types, and which of them are looked at."""

from pyspark.sql.types import BinaryType, DataType, IntegerType, StringType, StructType

from spark_source.options import refuse
from spark_source.rows import TYPES

TEXTS = (BinaryType(), StringType())
ACCEPTED: dict[str, tuple[DataType, ...]] = {
    "value": TEXTS,
    "key": TEXTS,
    "headers": (TYPES["headers"],),
    "partition": (IntegerType(),),
    "topic": (StringType(),),
}


def columns_of(schema: StructType, topic: str | None) -> list[str]:
    """Those that are written, value first; others are left alone, as by Spark's Kafka sink, and so is the column topic
    where the option names the topic. OptionError for what is missing or of another type."""
    given = {field.name: field.dataType for field in schema.fields}
    if "value" not in given:
        refuse(f"there is no column value, which every record has; the columns are {', '.join(given) or 'none'}")
    if topic is None and "topic" not in given:
        refuse("there is no column topic; the option topic names one for all rows")
    written = [name for name in ACCEPTED if name in given and (name != "topic" or topic is None)]
    for name in written:
        if not any(_same(given[name], kind) for kind in ACCEPTED[name]):
            wanted = " or ".join(kind.simpleString() for kind in ACCEPTED[name])
            refuse(f"the column {name} is {given[name].simpleString()}; it can be {wanted}")
    if len(schema.names) > len(given):
        double = sorted({name for name in written if schema.names.count(name) > 1})
        if double:
            refuse(f"the column {double[0]} is there twice")
    return written


def _same(one: DataType, other: DataType) -> bool:
    """Whatever may be null in it, and however a string is collated."""
    return one.simpleString().partition(" collate ")[0] == other.simpleString()
