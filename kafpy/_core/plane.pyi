"""The data plane: native threads that own every client connection and serve Produce and Fetch.

The rest they hand to Python: Produce 3-13 and Fetch 4-18 never reach the inbox, except a Produce with a batch that its
log wants opened.
"""

from typing import Self

from typing_extensions import disjoint_base

from kafpy._core.beats import Beat, KnownCommit
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
    metered: bool
    """Its client has a bound on request time: charge() it before it is answered."""
    fault: int
    """Not 0: the error code that somebody asked to have this one answered with."""
    commit: KnownCommit | None
    """Read already, if it is such a commit; `frame` is there all the same."""

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
        quota_windows: int = 11,
        quota_window_ms: int = 1000,
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

    def limit_clients(
        self, rules: list[tuple[str | None, tuple[float, bool], tuple[float, bool], tuple[float, bool]]]
    ) -> None:
        """Client quotas from now on: a rule per client id, None for all that no other rule names; no rules, no quotas.

        A rule has bounds per second, 0 for none, on bytes produced, on bytes fetched and on per cent of a thread's
        time; each with whether all clients under such a rule share it, or each has it for itself.
        """

    def limit_connections(
        self,
        *,
        most: int,
        per_address: int,
        rate: int,
        address_rate: float,
        addresses: list[tuple[bytes, int, float]],
    ) -> None:
        """Bounds on connections, and on new ones per second (0: none), in all and from one address.

        `addresses`: packed address, most connections or -1, rate or 0 as for everyone. Who is connected stays.
        """

    def fail_requests(self, api_key: int, codes: list[int]) -> None:
        """The next requests of that API are answered with these codes, in order: 0 as usual, -195 hung up on instead.

        Produce and Fetch by their planes, with the code for every partition; others reach Python with it as `fault`.
        """

    def forget_failures(self, api_key: int = -1) -> None:
        """What is left of that API's; -1: of all."""

    def delay_replies(self, ms: int) -> None:
        """Replies leave so much later from now on, in real time; 0: at once."""

    def drop_connections(self) -> None:
        """Close every connection, soon."""

    def accept(self, accepting: bool) -> None:
        """False: listening sockets are not looked at, and every connection is closed, until True."""

    def charge(self, token: int, spent_ns: int) -> int:
        """Count Python's time for a metered request; milliseconds by which it is above its bound, for reply()."""

    def drain(self) -> list[Request]:
        """Every request that waits for Python, oldest first; but heartbeats whose answer is known, which get it."""

    @property
    def drained_last(self) -> int:
        """How many requests the last drain() found, those that it answered included."""

    def remember(self, frame: bytes, payload: bytes) -> Beat | None:
        """Answer heartbeats like this one (but for the correlation id) with this response, until it is forgotten.

        None where it is no Heartbeat, or too long to be remembered.
        """

    def reply(self, token: int, payload: bytes, throttle_ms: int = 0) -> None:
        """Response header and body. KeyError when the token was used before. Nothing more is read for `throttle_ms`."""

    def reject(self, token: int) -> None:
        """Close that request's connection."""

    def resubmit(self, token: int, frame: bytes, errors: bytes) -> None:
        """Give a Produce back, its batches opened: a native int16 per partition in order, 0 to append it."""

    def publish(self, topic: str, topic_id: bytes, logs: list[Log | None], internal: bool = False) -> None:
        """Say where a topic's partitions are, in place of what was said before. Clients only read an internal one."""

    def withdraw(self, topic: str) -> None:
        """On return no plane looks the topic up any more."""

    def statistics(self) -> dict[str, int]:
        """Counters since the start, over all planes."""

    def request_times(self) -> dict[int, tuple[int, list[int]]]:
        """By API key: microseconds in all, and requests per bucket (times.bounds()); from the plane's turn that read a
        request to the one that sent its reply, so a Fetch that waits for data counts its wait."""

    def cpu_ns(self) -> list[int]:
        """Processor time of each plane's thread."""

    def refusals(self) -> tuple[int, str, int]:
        """How many connections were closed for what they sent, the address of the last, and how many were turned away
        for want of descriptors. The runtime's failures_fd tells, once a minute at most."""
