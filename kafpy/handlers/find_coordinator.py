"""FindCoordinator, versions 0-6: one key, or many since 4 (KIP-699).

A group's coordinator leads the group's partition of `__consumer_offsets`, a topic that is created when it is first
asked for. Transactions and share groups (key type 2, since version 6, KIP-932) have none here: they are answered with
COORDINATOR_NOT_AVAILABLE, which clients take as "ask again later".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafpy.handlers.registry import Call, serves
from kafpy.metadata import MetadataError, topic_name
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState

GROUP, TRANSACTION, SHARE = range(3)
MANY_SINCE, SHARE_SINCE = 4, 6


@serves(api.FIND_COORDINATOR)
def find_coordinator(broker: BrokerState, call: Call) -> Any:
    version, key_type = call.header.api_version, call.body.key_type
    if not 0 <= key_type <= SHARE or (key_type == SHARE and version < SHARE_SINCE):
        return _answer(call, lambda _: nobody(ErrorCode.INVALID_REQUEST))
    if key_type != GROUP:
        return _answer(call, lambda _: nobody(ErrorCode.COORDINATOR_NOT_AVAILABLE))
    if broker.image.topic(topic_name.GROUP_METADATA) is None:
        return _create_then_answer(broker, call)
    return _answer_groups(broker, call)


async def _create_then_answer(broker: BrokerState, call: Call) -> Any:
    try:
        await broker.create_group_topic()
    except MetadataError:
        return _answer(call, lambda _: nobody(ErrorCode.COORDINATOR_NOT_AVAILABLE))
    return _answer_groups(broker, call)


def _answer_groups(broker: BrokerState, call: Call) -> Any:
    host, port = broker.advertised(call.origin)
    here = {"node_id": broker.node_id, "host": host, "port": port, "error_code": ErrorCode.NONE, "error_message": None}
    elsewhere = nobody(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    groups = broker.groups
    return _answer(call, lambda group_id: here if groups.is_led(groups.partition_of(group_id)) else elsewhere)


def nobody(error: ErrorCode) -> dict[str, Any]:
    return {"node_id": -1, "host": "", "port": -1, "error_code": error, "error_message": error.message}


def _answer(call: Call, coordinator: Any) -> Any:
    response = api.FIND_COORDINATOR.response
    if call.header.api_version < MANY_SINCE:
        return response(**coordinator(call.body.key))
    return response(
        coordinators=[response.Coordinator(key=key, **coordinator(key)) for key in call.body.coordinator_keys]
    )
