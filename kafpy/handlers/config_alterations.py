"""From a resource of AlterConfigs or IncrementalAlterConfigs to the change that the broker is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafpy.handlers.config_resources import BROKER, TOPIC, broker_of, unsupported
from kafpy.metadata import MetadataError, topic_name
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState, ConfigChange


async def alter(broker: BrokerState, resource: Any, change: ConfigChange, validate_only: bool) -> None:
    name = resource.resource_name
    if resource.resource_type == TOPIC:
        if not name:
            raise MetadataError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
        topic_name.check(name)
        await broker.alter_topic_configs(name, change, validate_only)
    elif resource.resource_type == BROKER:
        known = broker_of(name, broker.node_id, "Node id")
        await broker.alter_broker_configs(known, change, validate_only)
    else:
        raise unsupported(resource.resource_type)
