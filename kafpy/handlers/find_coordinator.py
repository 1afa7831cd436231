"""FindCoordinator, versions 0-6: COORDINATOR_NOT_AVAILABLE for every group and transaction, one key or many (KIP-699).

Clients take that answer as "ask again later". Share groups (key type 2) exist since version 6 (KIP-932).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafpy.handlers.registry import Call, serves
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState

SHARE = 2


@serves(api.FIND_COORDINATOR)
def find_coordinator(broker: BrokerState, call: Call) -> Any:
    version, key_type = call.header.api_version, call.body.key_type
    known = 0 <= key_type <= SHARE and (key_type != SHARE or version >= 6)
    error = ErrorCode.COORDINATOR_NOT_AVAILABLE if known else ErrorCode.INVALID_REQUEST
    nobody = {"node_id": -1, "host": "", "port": -1, "error_code": error, "error_message": error.message}
    response = api.FIND_COORDINATOR.response
    if version < 4:
        return response(**nobody)
    return response(coordinators=[response.Coordinator(key=key, **nobody) for key in call.body.coordinator_keys])
