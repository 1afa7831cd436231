"""Which handler serves which API, and from which version to which; dispatch and ApiVersions both read SERVED."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from kafpy.coordinator.result import Beat
from kafpy.protocol.codec import RequestHeader
from kafpy.protocol.table import Api

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState


class Origin(Protocol):
    """Where a request came in, and its bytes."""

    @property
    def frame(self) -> bytes: ...
    @property
    def local_host(self) -> str: ...
    @property
    def local_port(self) -> int: ...
    @property
    def peer_host(self) -> str: ...


class Call(NamedTuple):
    """One request. A handler that gives LATER as its answer has seen to it that `send` is called with one."""

    header: RequestHeader
    body: Any
    origin: Origin
    send: Callable[[Any], None]
    remember: Callable[[Any], Beat | None]
    """Requests like this one are given this answer from now on, where that is possible."""


LATER: Any = object()


class Served(NamedTuple):
    handler: Callable[[BrokerState, Call], Any]
    """Gives the response, LATER, or an awaitable of the response where it has to wait."""
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
