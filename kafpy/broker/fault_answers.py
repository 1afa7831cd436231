"""Answers to requests that somebody wants to fail: nothing is done, and every place for an error code holds that code.

What a response repeats of its request (names, ids, partitions) is taken from there: an array whose items have an error
code, themselves or further in, has an item for each item of the request's array of the same name, or of the first that
has a field in common with it. Where the request has no such array there is one item.
"""

from collections.abc import Iterator
from typing import Any

from kafpy.broker.state import BrokerState
from kafpy.handlers.registry import Origin
from kafpy.protocol import api
from kafpy.protocol.program import Message
from kafpy.protocol.schema import Field

ERROR = "error_code"


def fault_answer(state: BrokerState, origin: Origin, key: int, body: Any, code: int) -> Any:
    spoken = api.by_key(key)
    answer = spoken.response()
    _Mirror(spoken.request_message, spoken.response_message, code).fill(
        spoken.response_message.layout.root, answer, spoken.request_message.layout.root, body
    )
    if spoken is api.METADATA:  # without a broker in it, clients would not know whom to ask again
        host, port = state.advertised(origin)
        answer.brokers = [spoken.response.Broker(node_id=state.node_id, host=host, port=port)]
        answer.cluster_id, answer.controller_id = state.cluster_id, state.node_id
    return answer


class _Mirror:
    def __init__(self, request: Message, response: Message, code: int) -> None:
        self._request = request.layout.structs
        self._response = response.layout.structs
        self._classes = response.classes
        self._code = code

    def fill(self, kind: str, answer: Any, asked_kind: str, asked: Any) -> None:
        for field in self._response[kind]:
            if field.name == ERROR:
                answer.error_code = self._code
            elif field.array and self._bears_error(field.type):
                setattr(answer, field.name, self._items(field, asked_kind, asked))

    def _bears_error(self, kind: str) -> bool:
        fields = self._response.get(kind, [])
        return any(field.name == ERROR or (field.array and self._bears_error(field.type)) for field in fields)

    def _items(self, wanted: Field, asked_kind: str, asked: Any) -> list[Any]:
        arrays = [field for field in self._request[asked_kind] if field.array]
        arrays.sort(key=lambda field: field.name != wanted.name)
        alike = [each for each in arrays if each.name == wanted.name or self._places(wanted.type, each)]
        for source in alike:
            if getattr(asked, source.name):
                return [self._item(wanted.type, source, each) for each in getattr(asked, source.name)]
        return [] if alike else [self._blank(wanted.type)]

    def _blank(self, kind: str) -> Any:
        item: Any = self._classes[kind]()
        for field in self._response[kind]:
            if field.name == ERROR:
                item.error_code = self._code
            elif field.array and self._bears_error(field.type):
                setattr(item, field.name, [self._blank(field.type)])
        return item

    def _copies(self, kind: str, source: Field, asked: Any) -> Iterator[tuple[str, list[Any]]]:
        """Arrays that both have and that say nothing of errors: what an item is about."""
        theirs = {field.name: field for field in self._request[source.type] if field.array}
        for field in self._response[kind]:
            known = field.array and field.name in theirs and field.type in self._response
            if known and not self._bears_error(field.type):
                items = getattr(asked, field.name) or []
                yield field.name, [self._item(field.type, theirs[field.name], each) for each in items]

    def _places(self, kind: str, source: Field) -> list[str]:
        """Fields of the response's struct that an item of the request's array gives."""
        own = [field for field in self._response[kind] if not field.array and not field.name.startswith("error_")]
        if source.type in self._request:
            names = {field.name for field in self._request[source.type] if not field.array}
            return [field.name for field in own if field.name in names]
        return [field.name for field in own if field.type == source.type][:1]

    def _item(self, kind: str, source: Field, asked: Any) -> Any:
        item = self._classes[kind]()
        nested = source.type in self._request
        for name in self._places(kind, source):
            setattr(item, name, getattr(asked, name) if nested else asked)
        if nested:
            for name, items in self._copies(kind, source, asked):
                setattr(item, name, items)
            self.fill(kind, item, source.type, asked)
        elif any(field.name == ERROR for field in self._response[kind]):
            item.error_code = self._code  # type: ignore[attr-defined]
        return item
