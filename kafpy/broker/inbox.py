"""The loop's end of the planes: one task waits for requests that Python decides, and answers them.

One wake-up drains the whole queue. A handler that need not wait is answered within it; one that does gets a task of
its own. Whatever a handler raises ends at that connection, which is closed; so does a request that cannot be read.
"""

import inspect
from collections.abc import Awaitable
from typing import Any

import trio

from kafpy._core.plane import Planes, Request
from kafpy.broker.failures import Failures
from kafpy.broker.produce_fallthrough import ProduceFallthrough
from kafpy.broker.state import BrokerState
from kafpy.handlers.registry import SERVED, Call
from kafpy.protocol import MalformedRequest, api, codec
from kafpy.protocol.errors import ErrorCode


class Unread(Exception):
    """A request that is malformed, or not served: ApiVersions told the client, and it did not listen."""


class Inbox:
    def __init__(self, planes: Planes, state: BrokerState) -> None:
        self._planes = planes
        self._state = state
        self._produce = ProduceFallthrough(planes, state)
        self._failures = Failures(trio.current_time)

    async def serve(self) -> None:
        async with trio.open_nursery() as nursery:
            while True:
                await trio.lowlevel.wait_readable(self._planes.inbox_fd)
                for request in self._planes.drain():
                    self._dispatch(request, nursery)

    def _dispatch(self, request: Request, nursery: trio.Nursery) -> None:
        if request.api_key == api.PRODUCE.key:
            nursery.start_soon(self._finish, request, self._produce.serve(request))
            return
        try:
            if request.api_key == api.API_VERSIONS.key and request.api_version not in api.API_VERSIONS.versions:
                self._refuse_version(request)
                return
            call = self._read(request)
            answer = SERVED[request.api_key].handler(self._state, call)
            if inspect.isawaitable(answer):
                nursery.start_soon(self._finish, request, self._answer_later(request, answer))
            else:
                self._reply(request, request.api_version, answer)
        except Unread:
            self._planes.reject(request.token)
        except Exception as error:
            self._fail(request, error)

    def _read(self, request: Request) -> Call:
        served = SERVED.get(request.api_key)
        if served is None or not served.min <= request.api_version <= served.max:
            raise Unread
        try:
            header, body = codec.read_request(request.frame)
        except (MalformedRequest, codec.UnsupportedVersion):
            raise Unread from None
        return Call(header, body, request.local_host, request.local_port, request.peer_host)

    def _refuse_version(self, request: Request) -> None:
        """A newer client asks ApiVersions in a version we lack: an answer in version 0 makes it try again (KIP-511)."""
        header = codec.RequestHeader(request.api_key, 0, request.correlation_id, None)
        call = Call(header, api.API_VERSIONS.request(), request.local_host, request.local_port, request.peer_host)
        answer = SERVED[request.api_key].handler(self._state, call)
        answer.error_code = ErrorCode.UNSUPPORTED_VERSION
        self._reply(request, 0, answer)

    async def _answer_later(self, request: Request, answer: Awaitable[Any]) -> None:
        self._reply(request, request.api_version, await answer)

    async def _finish(self, request: Request, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception as error:
            self._fail(request, error)

    def _reply(self, request: Request, version: int, answer: Any) -> None:
        payload = codec.write_response(request.api_key, version, request.correlation_id, answer)
        self._planes.reply(request.token, payload)

    def _fail(self, request: Request, error: Exception) -> None:
        self._failures.report(f"api key {request.api_key} version {request.api_version}", error)
        self._planes.reject(request.token)
