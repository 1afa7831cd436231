"""DescribeClientQuotas, versions 0-1 (KIP-546). Filters and words of refusals as in Kafka (ClientQuotasImage)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kafpy.handlers.registry import Call, serves
from kafpy.metadata import MetadataError
from kafpy.metadata.client_quota import CLIENT_ID, IP, USER
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState

EXACT, DEFAULT, SPECIFIED = range(3)
ANY = object()


@serves(api.DESCRIBE_CLIENT_QUOTAS)
def describe_client_quotas(broker: BrokerState, call: Call) -> Any:
    response = api.DESCRIBE_CLIENT_QUOTAS.response
    try:
        wanted = _filter(call.body.components)
    except MetadataError as error:
        return response(error_code=error.code, error_message=error.message, entries=None)
    entries = []
    for entity, values in broker.image.client_quotas.items():
        if _matches(dict(entity), wanted, call.body.strict):
            entries.append(
                response.Entry(
                    entity=[response.Entity(entity_type=kind, entity_name=name) for kind, name in entity],
                    values=[response.Value(key=key, value=value) for key, value in sorted(values.items())],
                )
            )
    return response(entries=entries)


def _matches(entity: Mapping[str, str | None], wanted: Mapping[str, object], strict: bool) -> bool:
    if not wanted:
        return not strict
    if strict and len(entity) != len(wanted):
        return False
    return all(kind in entity and match in (ANY, entity[kind]) for kind, match in wanted.items())


def _filter(components: list[Any]) -> dict[str, object]:
    """By entity type: a name, None for the default, or ANY."""
    wanted: dict[str, object] = {}
    for each in components:
        if not each.entity_type:
            raise _invalid("Invalid empty entity type.")
        if each.entity_type in wanted:
            raise _invalid(f"Entity type {each.entity_type} cannot appear more than once in the filter.")
        if each.entity_type not in (USER, CLIENT_ID, IP):
            raise MetadataError(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {each.entity_type}")
        wanted[each.entity_type] = _match(each)
    if IP in wanted and len(wanted) > 1:
        raise _invalid(
            "Invalid entity filter component combination. IP filter component should not be used with user or clientId "
            "filter component."
        )
    return wanted


def _match(component: Any) -> object:
    kind, match = component.match_type, component.match
    if kind == EXACT and match is None:
        raise _invalid("Request specified MATCH_TYPE_EXACT, but set match string to null.")
    if kind in (DEFAULT, SPECIFIED) and match is not None:
        name = "DEFAULT" if kind == DEFAULT else "SPECIFIED"
        raise _invalid(f"Request specified MATCH_TYPE_{name}, but also specified a match string.")
    if kind not in (EXACT, DEFAULT, SPECIFIED):
        raise _invalid(f"Unknown match type {kind}")
    return ANY if kind == SPECIFIED else match


def _invalid(message: str) -> MetadataError:
    return MetadataError(ErrorCode.INVALID_REQUEST, message)
