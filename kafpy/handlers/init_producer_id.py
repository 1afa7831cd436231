"""InitProducerId, versions 0-5: a fresh producer id with epoch 0 for an idempotent producer.

A transactional id is answered with COORDINATOR_NOT_AVAILABLE: there is no transaction coordinator. An idempotent
producer that names its old id and epoch gets a new id all the same, as in Kafka (TransactionCoordinator).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafpy.handlers.registry import Call, serves
from kafpy.metadata import MetadataError
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState

MAX_TIMEOUT_MS = 900_000
"""The default of transaction.max.timeout.ms."""


@serves(api.INIT_PRODUCER_ID)
async def init_producer_id(broker: BrokerState, call: Call) -> Any:
    body, response = call.body, api.INIT_PRODUCER_ID.response
    if body.transactional_id == "" or (body.producer_id == -1) != (body.producer_epoch == -1):
        return response(error_code=ErrorCode.INVALID_REQUEST, producer_epoch=-1)
    if body.transactional_id is not None and not 0 < body.transaction_timeout_ms <= MAX_TIMEOUT_MS:
        return response(error_code=ErrorCode.INVALID_TRANSACTION_TIMEOUT, producer_epoch=-1)
    if body.transactional_id is not None:
        return response(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE, producer_epoch=-1)
    try:
        return response(producer_id=await broker.allocate_producer_id())
    except MetadataError as error:
        return response(error_code=error.code, producer_epoch=-1)
