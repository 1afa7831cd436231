"""The options of a write: names, defaults and refusals of Spark's Kafka sink. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from kafpy.client import producer_settings, settings
from kafpy.client.producer import Policy
from kafpy.client.security import SettingsError
from spark_source.options import Options, refuse

REFUSED = {
    "key.serializer": "keys are written as they are, strings as UTF-8; cast the column",
    "value.serializer": "values are written as they are, strings as UTF-8; cast the column",
    "transactional.id": "rows are not written in transactions",
    "partitioner.class": "keys go where the Java client sends them; the column partition sends rows elsewhere",
    "partitioner.ignore.keys": "write without the column key, or with a column partition",
    "interceptor.classes": "there are none",
}
BATCH_BYTES = 1 << 17
"""Larger than the Java client's: a task has all of its rows at hand."""
REQUEST_BYTES = 480_000
"""Smaller than the Java client's: requests are written into the same memory again, which larger ones are not."""


@dataclass(frozen=True)
class SinkOptions:
    properties: Mapping[str, str]
    policy: Policy
    topic: str | None
    """Of every row; None: each names its own."""
    held_bytes: int
    keep_s: float
    """How long a producer goes on from task to task before partitions are looked up anew."""


def parse(given: Mapping[str, str]) -> SinkOptions:
    """OptionError for what cannot be."""
    options = Options(given)
    properties = options.kafka(REFUSED)
    topic = options.text("topic")
    if topic is not None and not topic.strip():
        refuse("topic is empty: the name of a topic, or leave it out and have a column topic")
    try:
        settings.from_properties(properties)
        return SinkOptions(
            properties=properties,
            policy=producer_settings.policy(properties, batch_bytes=BATCH_BYTES, request_bytes=REQUEST_BYTES),
            topic=None if topic is None else topic.strip(),
            held_bytes=producer_settings.number(properties, "buffer.memory", 32 << 20),
            keep_s=producer_settings.number(properties, "metadata.max.age.ms", 300_000) / 1000,
        )
    except SettingsError as error:
        refuse(str(error))
