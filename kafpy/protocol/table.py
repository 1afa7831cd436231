"""One API: its key, versions and the tables of its two messages."""

from functools import cached_property
from typing import Any

from kafpy.protocol.program import Message
from kafpy.protocol.schema import NEVER, parse, versions


class Api:
    """The tables are parsed on first use, and compiled version by version as they are asked for."""

    def __init__(self, key: int, name: str, *, valid: str, flexible: str | None, request: str, response: str) -> None:
        self.key = key
        self.name = name
        self.versions = versions(valid)
        self.min_version = self.versions[0]
        self.max_version = self.versions[-1]
        self.flexible = NEVER if flexible is None else versions(flexible)
        self.flexible_from = None if flexible is None else self.flexible.start
        self._tables = request, response

    def __repr__(self) -> str:
        return f"<{self.name} {self.min_version}-{self.max_version}>"

    @cached_property
    def request_message(self) -> Message:
        return Message(parse(self.name + "Request", self._tables[0]), self.flexible)

    @cached_property
    def response_message(self) -> Message:
        return Message(parse(self.name + "Response", self._tables[1]), self.flexible)

    @property
    def request(self) -> type[Any]:
        """The request's class; its structs' classes are attributes of it."""
        return self.request_message.cls

    @property
    def response(self) -> type[Any]:
        """The response's class; its structs' classes are attributes of it."""
        return self.response_message.cls
