"""What the config APIs have in common: types of resources (ConfigResource), and how they are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from kafpy.metadata import MetadataError
from kafpy.protocol.errors import ErrorCode

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
NAMES = {BROKER_LOGGER: "broker loggers", CLIENT_METRICS: "client metrics", GROUP: "groups"}


def unsupported(resource_type: int) -> MetadataError:
    if resource_type in NAMES:
        message = f"This broker has no configs of {NAMES[resource_type]}."
    else:
        message = f"Unknown resource type {resource_type}"
    return MetadataError(ErrorCode.INVALID_REQUEST, message)


def broker_of(name: str, node_id: int, word: str, alternative: str = "") -> str:
    """The broker's id as text, or "" for all brokers; refused if it is another one."""
    if not name:
        return ""
    if not name.removeprefix("-").isascii() or not name.removeprefix("-").isdigit():
        raise MetadataError(ErrorCode.INVALID_REQUEST, f"{word} must be an integer, but it is: {name}")
    if int(name) != node_id:
        message = f"Unexpected broker id, expected {node_id}{alternative}, but received {name}"
        raise MetadataError(ErrorCode.INVALID_REQUEST, message)
    return str(node_id)


def check_given(configs: list[Any], null: list[str]) -> None:
    """`null`: names that have no value, and need one."""
    if len({config.name for config in configs}) < len(configs):
        raise MetadataError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    if null:
        raise MetadataError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {','.join(null)}")


async def answer_each(resources: list[Any], answer: type[Any], alter: Callable[[Any], Awaitable[None]]) -> list[Any]:
    """Alters one resource after the other, each on its own."""
    times = Counter((resource.resource_type, resource.resource_name) for resource in resources)
    answers = []
    for resource in resources:
        key = resource.resource_type, resource.resource_name
        result = answer(resource_type=key[0], resource_name=key[1])
        try:
            if times[key] > 1:
                raise MetadataError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            await alter(resource)
        except MetadataError as error:
            result.error_code, result.error_message = error.code, error.message
        answers.append(result)
    return answers
