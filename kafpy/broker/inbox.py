"""The loop's end of the planes: one task waits for requests that Python decides, and answers them.

One wake-up drains the whole queue. A handler that need not wait is answered within it; one that does gets a task of
its own. Whatever a handler raises ends at that connection, which is closed; so does a request that cannot be read.

A client above a quota is told so in its reply, and not read for that time: by its handler (throttle_time_ms), or here
where its time is metered. The time is a handler's from start to reply, threads that it waits for included.
"""

import inspect
import time
from collections.abc import Awaitable
from functools import partial
from typing import Any

import trio

from kafpy._core.beats import Beat, KnownCommit
from kafpy._core.plane import Planes, Request
from kafpy.broker.failures import Failures
from kafpy.broker.fault_answers import fault_answer
from kafpy.broker.produce_fallthrough import ProduceFallthrough
from kafpy.broker.state import BrokerState
from kafpy.coordinator.group.offset_requests import commit_error
from kafpy.coordinator.ticket import Ticket
from kafpy.handlers.offset_commit import take_known
from kafpy.handlers.registry import LATER, SERVED, Call
from kafpy.protocol import MalformedRequest, api, codec
from kafpy.protocol.errors import ErrorCode

BUSY_PAUSE_S = 0.002
BUSY_RATE = 20


class Pace:
    """Whether requests come so fast that they are better taken some at a time: a wake-up costs more than most answers.

    Busy when BUSY_RATE of them came within a hundredth of a second, until a pause brought fewer than two.
    """

    def __init__(self) -> None:
        self._busy = False
        self._window = 0.0
        self._seen = 0

    def is_busy(self, now: float) -> bool:
        if not self._busy and now - self._window > 0.01:
            self._window, self._seen = now, 0
        return self._busy

    def note(self, requests: int) -> None:
        self._seen += requests
        if self._busy:
            self._busy = requests >= 2
            self._seen = 0
        else:
            self._busy = self._seen >= BUSY_RATE


class Unread(Exception):
    """A request that is malformed, or not served: ApiVersions told the client, and it did not listen."""


class Inbox:
    def __init__(self, planes: Planes, state: BrokerState) -> None:
        self._planes = planes
        self._state = state
        self._produce = ProduceFallthrough(planes, state)
        self._failures = Failures(trio.current_time)
        self._pace = Pace()

    async def serve(self) -> None:
        async with trio.open_nursery() as nursery:
            while True:
                if self._pace.is_busy(trio.current_time()):
                    await trio.sleep(BUSY_PAUSE_S)
                else:
                    await trio.lowlevel.wait_readable(self._planes.inbox_fd)
                requests = self._planes.drain()
                self._pace.note(self._planes.drained_last)
                for request in requests:
                    self._dispatch(request, nursery)
                self._state.groups.flush()

    def _dispatch(self, request: Request, nursery: trio.Nursery) -> None:
        if request.api_key == api.PRODUCE.key:
            nursery.start_soon(self._finish, request, self._produce.serve(request))
            return
        started = time.perf_counter_ns() if request.metered else 0
        try:
            if request.commit is not None and self._take_commit(request, request.commit):
                return
            if request.api_key == api.API_VERSIONS.key and request.api_version not in api.API_VERSIONS.versions:
                self._refuse_version(request)
                return
            call = self._read(request, started)
            if request.fault:
                answer = fault_answer(self._state, request, request.api_key, call.body, request.fault)
                self._reply(request, request.api_version, answer, started)
                return
            answer = SERVED[request.api_key].handler(self._state, call)
            if answer is LATER:
                return
            if inspect.isawaitable(answer):
                nursery.start_soon(self._finish, request, self._answer_later(request, answer, started))
            else:
                self._reply(request, request.api_version, answer, started)
        except Unread:
            self._planes.reject(request.token)
        except Exception as error:
            self._fail(request, error)

    def _take_commit(self, request: Request, commit: KnownCommit) -> bool:
        ticket = Ticket(partial(self._planes.reply, request.token), partial(self._refusal, request))
        return take_known(self._state, commit, ticket)

    def _refusal(self, request: Request, error: ErrorCode) -> bytes:
        _, body = codec.read_request(request.frame)
        refused = commit_error(body, error)
        return codec.write_response(request.api_key, request.api_version, request.correlation_id, refused)

    def _read(self, request: Request, started: int) -> Call:
        served = SERVED.get(request.api_key)
        if served is None or not served.min <= request.api_version <= served.max:
            raise Unread
        try:
            header, body = codec.read_request(request.frame)
        except (MalformedRequest, codec.UnsupportedVersion):
            raise Unread from None
        return Call(header, body, request, partial(self._send, request, started), partial(self._remember, request))

    def _remember(self, request: Request, answer: Any) -> Beat | None:
        """Not where time is metered: then every request has to be charged."""
        if request.metered:
            return None
        payload = codec.write_response(request.api_key, request.api_version, request.correlation_id, answer)
        return self._planes.remember(request.frame, payload)

    def _send(self, request: Request, started: int, answer: Any) -> None:
        """A state machine's answer; what is wrong with it is this client's trouble alone."""
        try:
            self._reply(request, request.api_version, answer, started)
        except Exception as error:
            self._fail(request, error)

    def _refuse_version(self, request: Request) -> None:
        """A newer client asks ApiVersions in a version we lack: an answer in version 0 makes it try again (KIP-511)."""
        header = codec.RequestHeader(request.api_key, 0, request.correlation_id, None)
        send, remember = partial(self._send, request, 0), partial(self._remember, request)
        call = Call(header, api.API_VERSIONS.request(), request, send, remember)
        answer = SERVED[request.api_key].handler(self._state, call)
        answer.error_code = ErrorCode.UNSUPPORTED_VERSION
        self._reply(request, 0, answer)

    async def _answer_later(self, request: Request, answer: Awaitable[Any], started: int) -> None:
        self._reply(request, request.api_version, await answer, started)

    async def _finish(self, request: Request, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception as error:
            self._fail(request, error)

    def _reply(self, request: Request, version: int, answer: Any, started: int = 0) -> None:
        throttle_ms = getattr(answer, "throttle_time_ms", 0)
        if started:
            spent = time.perf_counter_ns() - started
            throttle_ms = max(throttle_ms, self._planes.charge(request.token, spent))
            if hasattr(answer, "throttle_time_ms"):
                answer.throttle_time_ms = throttle_ms
        payload = codec.write_response(request.api_key, version, request.correlation_id, answer)
        self._planes.reply(request.token, payload, throttle_ms)

    def _fail(self, request: Request, error: Exception) -> None:
        self._failures.report(f"api key {request.api_key} version {request.api_version}", error)
        self._planes.reject(request.token)
