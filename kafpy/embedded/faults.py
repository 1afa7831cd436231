"""What can be done to an embedded broker's clients: the verbs of librdkafka's mock cluster, on a real broker."""

import socket

from kafpy.broker.server import Broker as Server
from kafpy.embedded.durations import Duration, to_ms
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

DISCONNECT = -195
"""In place of an error code (librdkafka's ERR__TRANSPORT): the client is hung up on."""

Code = int | str


class FaultVerbs:
    """All but round_trip_time() work at once; that counts for replies from then on."""

    _server: Server

    def request_errors(self, request: str | int, *codes: Code) -> None:
        """The next requests of that API (`"Produce"`, or its key) are not done but answered with these codes, in order:
        a name or number of Kafka's; NONE or 0 lets one through; "DISCONNECT" or -195 hangs up instead.

        Calls add up. Where an answer has a code per topic, partition or group, each has this one.
        """
        self._server.planes.fail_requests(_api_key(request), [_code(each) for each in codes])

    def clear_request_errors(self, request: str | int | None = None) -> None:
        """What is left of that API's; without a name, of all."""
        self._server.planes.forget_failures(-1 if request is None else _api_key(request))

    def round_trip_time(self, duration: Duration) -> None:
        """Every reply leaves so much later, in real time; 0 ends it."""
        self._server.planes.delay_replies(to_ms(duration))

    def drop_connections(self) -> None:
        """Hangs up on every client; they may connect again."""
        self._server.planes.drop_connections()

    def broker_down(self) -> None:
        """Hangs up on every client and refuses new ones, until broker_up(). The port stays the broker's."""
        for each in self._server.client_sockets():
            if each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                each.shutdown(socket.SHUT_RD)
        self._server.planes.accept(False)

    def broker_up(self) -> None:
        for each in self._server.client_sockets():
            each.listen(self._server.settings.socket_listen_backlog_size)
        self._server.planes.accept(True)


def _api_key(request: str | int) -> int:
    found = {each.name.lower(): key for key, each in api.ALL.items()}
    if isinstance(request, str):
        key = found.get(request.replace("_", "").replace("-", "").lower(), -1)
    else:
        key = request if request in api.ALL else -1
    if key == -1:
        names = ", ".join(sorted(each.name for each in api.ALL.values()))
        raise ValueError(f"no API {request!r} is served here; there are {names}")
    return key


def _code(code: Code) -> int:
    if isinstance(code, str):
        if code == "DISCONNECT":
            return DISCONNECT
        if code in ErrorCode.__members__:
            return ErrorCode[code]
        from difflib import get_close_matches

        close = get_close_matches(code, ErrorCode.__members__, n=1)
        raise ValueError(f"no error code {code!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
    number = int(code)
    if number != DISCONNECT and number not in set(ErrorCode):
        raise ValueError(f"Kafka has no error code {number}")
    return number
