"""Requests that a coordinator answers, now or later: one from one partition, or with parts from several."""

from collections.abc import Callable
from typing import Any

from kafpy.protocol.errors import ErrorCode


class Ticket:
    """Answered once, by one of its methods. State machines only keep it and give it back."""

    __slots__ = ("_refusal", "reply")

    def __init__(self, send: Callable[[Any], None], refusal: Callable[[ErrorCode], Any]) -> None:
        """`refusal` makes the answer that tells of an error of the coordinator's."""
        self.reply = send
        self._refusal = refusal

    def refuse(self, error: ErrorCode) -> None:
        self.reply(self._refusal(error))


class Gathering:
    """An answer that is sent when all of its parts are there."""

    def __init__(self, parts: int, send: Callable[[list[Any]], None]) -> None:
        self._parts: list[Any] = [None] * parts
        self._missing = parts
        self._send = send
        if not parts:
            send([])

    def ticket(self, part: int, refusal: Callable[[ErrorCode], Any]) -> Ticket:
        def take(answer: Any) -> None:
            self._parts[part] = answer
            self._missing -= 1
            if not self._missing:
                self._send(self._parts)

        return Ticket(take, refusal)
