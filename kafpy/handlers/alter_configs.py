"""AlterConfigs, versions 0-2: the given configs replace all that the resource has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kafpy.handlers.config_alterations import alter
from kafpy.handlers.config_resources import answer_each, check_given
from kafpy.handlers.registry import Call, serves
from kafpy.protocol import api

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState


@serves(api.ALTER_CONFIGS)
async def alter_configs(broker: BrokerState, call: Call) -> Any:
    response = api.ALTER_CONFIGS.response

    async def replace(resource: Any) -> None:
        check_given(resource.configs, [config.name for config in resource.configs if config.value is None])
        configs = {config.name: config.value for config in resource.configs}

        def change(current: Mapping[str, str], lists: Mapping[str, str]) -> dict[str, str]:
            return configs

        await alter(broker, resource, change, call.body.validate_only)

    return response(responses=await answer_each(call.body.resources, response.Resource, replace))
