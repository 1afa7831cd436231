"""The thread on which an embedded broker's loop runs, and the way into it from any other thread."""

import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

import trio

from kafpy.broker.server import Broker as Server

T = TypeVar("T")


class Closed(Exception):
    """The loop has ended."""


class Loop:
    """Runs from start() to stop(); a thread may ask for work meanwhile, one in another loop too: it blocks that one."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._ready: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="kafpy-broker", daemon=True)
        self.failure: BaseException | None = None
        """Of the broker, where it ended by itself."""

    def start(self) -> None:
        """Returns when the broker serves; raises what kept it from it."""
        self._thread.start()
        try:
            self._ready.result()
        except BaseException:
            self._thread.join()
            raise

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        done: Future[T] = Future()

        async def task() -> None:
            try:
                result = await work()
            except Exception as error:
                done.set_exception(error)
            except BaseException:
                done.set_exception(Closed("the broker was closed meanwhile"))
                raise
            else:
                done.set_result(result)

        def begin() -> None:
            try:
                self._nursery.start_soon(task)
            except RuntimeError:  # it is being left
                done.set_exception(Closed("the broker is closed"))

        try:
            self._token.run_sync_soon(begin)
        except trio.RunFinishedError:
            raise Closed("the broker is closed") from None
        return done.result()

    def stop(self) -> None:
        if self._thread.is_alive():
            with suppress(trio.RunFinishedError):
                self._token.run_sync_soon(lambda: self._nursery.cancel_scope.cancel())
        self._thread.join()

    def _run(self) -> None:
        try:
            trio.run(self._main, clock=self._server.clock)
        except BaseException as error:
            self.failure = error
            if not self._ready.done():
                self._ready.set_exception(error)

    async def _main(self) -> None:
        async with trio.open_nursery() as self._nursery:
            self._token = trio.lowlevel.current_trio_token()
            self._nursery.start_soon(self._serve)
            while self._server.state is None:
                await trio.lowlevel.checkpoint()
            self._ready.set_result(None)

    async def _serve(self) -> None:
        await self._server.serve()
        self._nursery.cancel_scope.cancel()
