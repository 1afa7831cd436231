"""DescribeCluster, versions 0-2: this broker is the cluster, and no broker is ever fenced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafpy.handlers.metadata import CLUSTER_OPERATIONS
from kafpy.handlers.registry import Call, serves
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState

BROKERS, CONTROLLERS = 1, 2


@serves(api.DESCRIBE_CLUSTER)
def describe_cluster(broker: BrokerState, call: Call) -> Any:
    response = api.DESCRIBE_CLUSTER.response
    if call.body.endpoint_type == CONTROLLERS:
        return response(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            error_message="The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type "
            "CONTROLLER",
        )
    if call.body.endpoint_type != BROKERS:
        return response(
            error_code=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message=f"Unsupported endpoint type {call.body.endpoint_type}",
        )
    host, port = broker.advertised(call.origin)
    answer = response(
        cluster_id=broker.cluster_id,
        controller_id=broker.node_id,
        brokers=[response.Broker(broker_id=broker.node_id, host=host, port=port, rack=broker.settings.broker_rack)],
    )
    if call.body.include_cluster_authorized_operations:
        answer.cluster_authorized_operations = CLUSTER_OPERATIONS
    return answer
