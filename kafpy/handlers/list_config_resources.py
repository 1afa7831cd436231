"""ListConfigResources, versions 0-1: topics and this broker. Version 0 asks for client metrics; there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafpy.handlers.config_resources import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from kafpy.handlers.registry import Call, serves
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState

KNOWN = {TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP}


@serves(api.LIST_CONFIG_RESOURCES)
def list_config_resources(broker: BrokerState, call: Call) -> Any:
    response = api.LIST_CONFIG_RESOURCES.response
    wanted = {CLIENT_METRICS} if call.header.api_version == 0 else set(call.body.resource_types) or KNOWN
    if not wanted <= KNOWN:
        return response(error_code=ErrorCode.UNSUPPORTED_VERSION)
    found = []
    if BROKER in wanted:
        found.append(response.ConfigResource(resource_name=str(broker.node_id), resource_type=BROKER))
    if TOPIC in wanted:
        found += [response.ConfigResource(resource_name=name, resource_type=TOPIC) for name in broker.image.topics]
    return response(config_resources=found)
