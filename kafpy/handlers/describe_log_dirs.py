"""DescribeLogDirs, versions 1-5: what each directory holds; null asks for all partitions, an empty list for none.

A directory with a log that failed is offline (56). A partition that is on its way into a directory is shown there as
a future one, with the offsets that it still lacks (KIP-113).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafpy.handlers.registry import Call, serves
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState


@serves(api.DESCRIBE_LOG_DIRS)
async def describe_log_dirs(broker: BrokerState, call: Call) -> Any:
    response = api.DESCRIBE_LOG_DIRS.response
    asked = None
    if call.body.topics is not None:
        asked = {(topic.topic, index) for topic in call.body.topics for index in topic.partitions}
    results = []
    directories, futures = await broker.describe_directories()
    for directory in directories:
        topics: dict[str, list[Any]] = {}
        for (name, index), size in directory.sizes.items():
            if asked is None or (name, index) in asked:
                entry = response.Partition(partition_index=index, partition_size=size)
                topics.setdefault(name, []).append(entry)
        for (name, index), future in futures.items():
            if future.path == directory.path and (asked is None or (name, index) in asked):
                entry = response.Partition(
                    partition_index=index, partition_size=future.size, offset_lag=future.offset_lag, is_future_key=True
                )
                topics.setdefault(name, []).append(entry)
        results.append(
            response.Result(
                error_code=ErrorCode.KAFKA_STORAGE_ERROR if directory.offline else ErrorCode.NONE,
                log_dir=directory.path,
                topics=[response.Topic(name=name, partitions=entries) for name, entries in topics.items()],
                total_bytes=directory.total_bytes,
                usable_bytes=directory.usable_bytes,
            )
        )
    return response(results=results)
