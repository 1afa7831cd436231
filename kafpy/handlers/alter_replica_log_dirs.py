"""AlterReplicaLogDirs, versions 1-2: answers where replicas may not go; this broker moves none while it runs.

A partition that lies in the directory already is fine. A directory that is none of this broker's is 57, a partition it
does not host is 3, and moving to another of its directories is refused with 42.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafpy.handlers.registry import Call, serves
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState


@serves(api.ALTER_REPLICA_LOG_DIRS)
def alter_replica_log_dirs(broker: BrokerState, call: Call) -> Any:
    response = api.ALTER_REPLICA_LOG_DIRS.response
    topics: dict[str, list[Any]] = {}
    for wanted in call.body.dirs:
        for topic in wanted.topics:
            for index in topic.partitions:
                code = _outcome(broker, wanted.path, topic.name, index)
                entry = response.Partition(partition_index=index, error_code=code)
                topics.setdefault(topic.name, []).append(entry)
    return response(results=[response.Result(topic_name=name, partitions=each) for name, each in topics.items()])


def _outcome(broker: BrokerState, path: str, name: str, index: int) -> ErrorCode:
    if path not in broker.partitions.directories:
        return ErrorCode.LOG_DIR_NOT_FOUND
    here = broker.partitions.directory(name, index)
    if here is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE if here == path else ErrorCode.INVALID_REQUEST
