"""IncrementalAlterConfigs, versions 0-1: single configs are set, deleted, and lists extended or cut.

As in Kafka (ConfigurationControlManager): a list that is not set is extended from its default, what is there is not
appended again, deleting what is not set does nothing, and the configs that result are checked as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kafpy.handlers.config_alterations import alter
from kafpy.handlers.config_resources import answer_each, check_given
from kafpy.handlers.registry import Call, serves
from kafpy.metadata import MetadataError
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState

SET, DELETE, APPEND, SUBTRACT = range(4)


@serves(api.INCREMENTAL_ALTER_CONFIGS)
async def incremental_alter_configs(broker: BrokerState, call: Call) -> Any:
    response = api.INCREMENTAL_ALTER_CONFIGS.response

    async def operate(resource: Any) -> None:
        configs = resource.configs
        null = [each.name for each in configs if each.value is None and each.config_operation != DELETE]
        check_given(configs, null)

        def change(current: Mapping[str, str], lists: Mapping[str, str]) -> dict[str, str]:
            return changed(current, configs, lists)

        await alter(broker, resource, change, call.body.validate_only)

    return response(responses=await answer_each(call.body.resources, response.Resource, operate))


def changed(current: Mapping[str, str], operations: list[Any], lists: Mapping[str, str]) -> dict[str, str]:
    """The configs afterwards. `lists`: the names of lists, with their defaults."""
    configs = dict(current)
    for each in operations:
        if each.config_operation == SET:
            configs[each.name] = each.value
        elif each.config_operation == DELETE:
            configs.pop(each.name, None)
        elif each.config_operation not in (APPEND, SUBTRACT):
            raise MetadataError(ErrorCode.INVALID_REQUEST, f"Unknown operation type {each.config_operation}")
        else:
            word = "APPEND" if each.config_operation == APPEND else "SUBTRACT"
            if each.name not in lists:
                message = f"Can't {word} to key {each.name} because its type is not LIST."
                raise MetadataError(ErrorCode.INVALID_CONFIG, message)
            old, given = _words(configs.get(each.name, lists[each.name])), _words(each.value)
            kept = [*old, *given] if word == "APPEND" else [word for word in old if word not in given]
            configs[each.name] = ",".join(dict.fromkeys(kept))
    return configs


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
