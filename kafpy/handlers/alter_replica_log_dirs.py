"""AlterReplicaLogDirs, versions 1-2: moves replicas between this broker's directories while they are in use (KIP-113).

The reply says that a move has begun; DescribeLogDirs shows how far it is. A directory that is none of this broker's is
57, one that is offline 56, a partition it does not host 3. Asking for the directory where a partition lies ends a move
that is under way, as in Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafpy.handlers.registry import Call, serves
from kafpy.protocol import api

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState


@serves(api.ALTER_REPLICA_LOG_DIRS)
async def alter_replica_log_dirs(broker: BrokerState, call: Call) -> Any:
    response = api.ALTER_REPLICA_LOG_DIRS.response
    topics: dict[str, list[Any]] = {}
    for wanted in call.body.dirs:
        for topic in wanted.topics:
            for index in topic.partitions:
                code = await broker.move_replica(topic.name, index, wanted.path)
                entry = response.Partition(partition_index=index, error_code=code)
                topics.setdefault(topic.name, []).append(entry)
    return response(results=[response.Result(topic_name=name, partitions=each) for name, each in topics.items()])
