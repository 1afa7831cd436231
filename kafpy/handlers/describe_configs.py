"""DescribeConfigs, versions 1-4: of topics, of this broker, and what is set for all brokers (broker "").

Values, sources and synonyms as in Kafka (ConfigHelper). An empty list of keys means all of them, as null does; a key
that nobody knows is left out. No config that this broker honours is sensitive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kafpy.handlers.config_resources import BROKER, TOPIC, broker_of, unsupported
from kafpy.handlers.registry import Call, serves
from kafpy.metadata import MetadataError, topic_name
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState


@serves(api.DESCRIBE_CONFIGS)
def describe_configs(broker: BrokerState, call: Call) -> Any:
    response = api.DESCRIBE_CONFIGS.response
    results = []
    for resource in call.body.resources:
        result = response.Result(
            resource_type=resource.resource_type, resource_name=resource.resource_name, error_message=""
        )
        try:
            entries = _entries(broker, resource)
            wanted = resource.configuration_keys
            result.configs = [_config(entry, call.body) for entry in entries if not wanted or entry.name in wanted]
        except MetadataError as error:
            result.error_code, result.error_message = error.code, error.message
        results.append(result)
    return response(results=results)


def _entries(broker: BrokerState, resource: Any) -> Sequence[Any]:
    name = resource.resource_name
    if resource.resource_type == TOPIC:
        topic_name.check(name)
        topic = broker.image.topic(name)
        if topic is None:
            raise MetadataError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
        return broker.topic_config_entries(topic.configs)
    if resource.resource_type == BROKER:
        known = broker_of(name, broker.node_id, "Broker id", " or empty string")
        return broker.broker_config_entries() if known else broker.cluster_config_entries()
    raise unsupported(resource.resource_type)


def _config(entry: Any, body: Any) -> Any:
    response = api.DESCRIBE_CONFIGS.response
    synonyms = entry.synonyms if body.include_synonyms else ()
    return response.Config(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=entry.source,
        synonyms=[response.Synonym(name=each.name, value=each.value, source=each.source) for each in synonyms],
        config_type=entry.type,
        documentation=entry.documentation if body.include_documentation else None,
    )
