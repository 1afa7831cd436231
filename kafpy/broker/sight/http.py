"""The HTTP listener: GET /metrics and GET /healthz on the loop, by h11. For scrapers and probes, not for the world.

Every connection is bounded: in number, in the size of a request's head, and in time.
"""

import json
import logging
from collections.abc import Awaitable, Callable

import h11
import trio

from kafpy.broker.sight.exposition import CONTENT_TYPE
from kafpy.broker.sight.metrics import Metrics
from kafpy.broker.state import BrokerState

logger = logging.getLogger(__name__)

CONNECTIONS = 64
HEAD_BYTES = 16 << 10
PATIENCE_S = 30.0
"""For a whole request, for the next one, and for the client to take its answer."""
TEXT = "text/plain; charset=utf-8"
JSON = "application/json"

Page = Callable[[], Awaitable[tuple[int, str, bytes]]]


class HTTPServer:
    def __init__(self, metrics: Metrics, state: BrokerState) -> None:
        self._metrics = metrics
        self._state = state
        self._open = 0
        self._pages: dict[str, Page] = {"/": self._index, "/metrics": self._scrape, "/healthz": self._health}

    async def serve(self, listeners: list[trio.SocketListener]) -> None:
        await trio.serve_listeners(self._serve_one, listeners)

    async def _serve_one(self, stream: trio.SocketStream) -> None:
        if self._open >= CONNECTIONS:
            await stream.aclose()
            return
        self._open += 1
        try:
            await self._talk(stream)
        except (trio.BrokenResourceError, trio.ClosedResourceError, OSError):
            pass
        except Exception:
            logger.exception("an HTTP request failed; its connection was closed")
        finally:
            self._open -= 1
            with trio.move_on_after(1) as scope:
                scope.shield = True
                await stream.aclose()

    async def _talk(self, stream: trio.SocketStream) -> None:
        side = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES)
        while True:
            with trio.move_on_after(PATIENCE_S) as waiting:
                request = await _next_request(side, stream)
            if waiting.cancelled_caught or request is None:
                return
            status, kind, body = await self._answer(request)
            with trio.move_on_after(PATIENCE_S) as sending:
                await _send(side, stream, request.method == b"HEAD", status, kind, body)
            if sending.cancelled_caught or side.our_state is not h11.DONE or side.their_state is not h11.DONE:
                return
            side.start_next_cycle()

    async def _answer(self, request: h11.Request) -> tuple[int, str, bytes]:
        if request.method not in (b"GET", b"HEAD"):
            return 405, TEXT, b"only GET and HEAD\n"
        page = self._pages.get(request.target.decode("ascii", "replace").partition("?")[0])
        if page is None:
            return 404, TEXT, b"there are /metrics and /healthz\n"
        return await page()

    async def _index(self) -> tuple[int, str, bytes]:
        return 200, TEXT, b"kafpy: /metrics for Prometheus, /healthz for probes\n"

    async def _scrape(self) -> tuple[int, str, bytes]:
        return 200, CONTENT_TYPE, await self._metrics.page()

    async def _health(self) -> tuple[int, str, bytes]:
        """503 only where no partition can be served any more; a directory that is offline is told of."""
        directories = await trio.to_thread.run_sync(self._state.partitions.contents)
        offline = [each.path for each in directories if each.offline]
        word = "ok" if not offline else "degraded" if len(offline) < len(directories) else "failed"
        told = {"status": word, "node.id": self._state.node_id, "cluster.id": self._state.cluster_id}
        body = json.dumps({**told, "offline.log.dirs": offline}) + "\n"
        return 503 if word == "failed" else 200, JSON, body.encode()


async def _next_request(side: h11.Connection, stream: trio.SocketStream) -> h11.Request | None:
    """None: the client has gone, or talks rubbish."""
    request: h11.Request | None = None
    while True:
        try:
            event = side.next_event()
        except h11.RemoteProtocolError as error:
            await _send(side, stream, False, error.error_status_hint, TEXT, b"that is no HTTP request\n")
            return None
        if event is h11.NEED_DATA:
            side.receive_data(await stream.receive_some(HEAD_BYTES))
        elif isinstance(event, h11.Request):
            request = event
        elif isinstance(event, h11.EndOfMessage):
            return request
        elif isinstance(event, h11.ConnectionClosed) or event is h11.PAUSED:
            return None


async def _send(
    side: h11.Connection, stream: trio.SocketStream, head_only: bool, status: int, kind: str, body: bytes
) -> None:
    if side.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
        return
    headers = [("content-type", kind), ("content-length", str(len(body))), ("cache-control", "no-store")]
    if status == 405:
        headers.append(("allow", "GET, HEAD"))
    head = side.send(h11.Response(status_code=status, headers=headers))
    sent = [head, None if head_only else side.send(h11.Data(data=body)), side.send(h11.EndOfMessage())]
    await stream.send_all(b"".join(filter(None, sent)))
