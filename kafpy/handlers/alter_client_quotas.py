"""AlterClientQuotas, versions 0-1 (KIP-546): one entity after the other, each on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafpy.handlers.registry import Call, serves
from kafpy.metadata.client_quota import Alteration
from kafpy.protocol import api

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState


@serves(api.ALTER_CLIENT_QUOTAS)
async def alter_client_quotas(broker: BrokerState, call: Call) -> Any:
    response = api.ALTER_CLIENT_QUOTAS.response
    results = await broker.alter_client_quotas(
        [_alteration(entry) for entry in call.body.entries], call.body.validate_only
    )
    entries = []
    for entry, refused in zip(call.body.entries, results, strict=True):
        names = [response.Entity(entity_type=each.entity_type, entity_name=each.entity_name) for each in entry.entity]
        answer = response.Entry(entity=names)
        if refused is not None:
            answer.error_code, answer.error_message = refused.code, refused.message
        entries.append(answer)
    return response(entries=entries)


def _alteration(entry: Any) -> Alteration:
    names = [(each.entity_type, each.entity_name) for each in entry.entity]
    return Alteration(names, [(op.key, None if op.remove else op.value) for op in entry.ops])
