"""The data plane: native threads that own every client connection and serve Produce and Fetch.

The rest they hand to Python: Produce 3-13 and Fetch 4-18 never reach the inbox, except a Produce with a batch that its
log wants opened.
"""

from typing import Self

from typing_extensions import disjoint_base

from kafpy._core.log import Log
from kafpy._core.runtime import Runtime

@disjoint_base
class Request:
    """One request for Python. Answer it exactly once, by its token."""

    token: int
    api_key: int
    api_version: int
    correlation_id: int
    frame: bytes
    """Header and body, without the size."""
    listener: int

    @property
    def local_host(self) -> str:
        """The address that the client connected to."""

    @property
    def local_port(self) -> int: ...
    @property
    def peer_host(self) -> str: ...

@disjoint_base
class Planes:
    runtime: Runtime

    def __new__(
        cls,
        runtime: Runtime,
        *,
        planes: int = 1,
        max_request_bytes: int = 104857600,
        max_connections: int = 2147483647,
        max_connections_per_ip: int = 2147483647,
        idle_ms: int = 600000,
        fetch_max_bytes: int = 57671680,
        fetch_sessions: int = 1000,
        queued_max_bytes: int = 268435456,
    ) -> Self: ...
    def listen(self, fd: int, listener: int = 0) -> None:
        """Accept from a bound, listening, non-blocking socket, which stays the caller's. Before start()."""

    def start(self) -> None: ...
    def wake(self) -> None:
        """Have the planes look at the clock again."""

    def stop(self) -> None:
        """Close every connection and end the threads."""

    @property
    def inbox_fd(self) -> int:
        """Readable when drain() has something."""

    def drain(self) -> list[Request]: ...
    def reply(self, token: int, payload: bytes) -> None:
        """Response header and body. KeyError when the token was used before."""

    def reject(self, token: int) -> None:
        """Close that request's connection."""

    def resubmit(self, token: int, frame: bytes, errors: bytes) -> None:
        """Give a Produce back, its batches opened: a native int16 per partition in order, 0 to append it."""

    def publish(self, topic: str, topic_id: bytes, logs: list[Log | None]) -> None:
        """Say where a topic's partitions are, in place of what was said before."""

    def withdraw(self, topic: str) -> None:
        """On return no plane looks the topic up any more."""

    def statistics(self) -> dict[str, int]:
        """Counters since the start, over all planes."""
