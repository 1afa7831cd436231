"""Which handler serves which API, and from which version to which; dispatch and ApiVersions both read SERVED."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kafpy.protocol.codec import RequestHeader
from kafpy.protocol.table import Api

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState


class Call(NamedTuple):
    """One request, and where it came in."""

    header: RequestHeader
    body: Any
    local_host: str
    local_port: int
    peer_host: str


class Served(NamedTuple):
    handler: Callable[[BrokerState, Call], Any]
    """Gives the response, or an awaitable of it where it has to wait."""
    min: int
    max: int


SERVED: dict[int, Served] = {}

H = TypeVar("H", bound=Callable[..., Any])


def serves(spoken: Api, low: int | None = None, high: int | None = None) -> Callable[[H], H]:
    """Registers a handler for every version that kafpy speaks of an API, or for low to high."""

    def register(handler: H) -> H:
        if spoken.key in SERVED:
            raise ValueError(f"{spoken.name} is served already")
        first = spoken.min_version if low is None else low
        last = spoken.max_version if high is None else high
        SERVED[spoken.key] = Served(handler, first, last)
        return handler

    return register
