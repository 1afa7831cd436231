"""A request to a modern group that is answered with an error, and changes nothing."""

from kafpy.protocol.errors import ErrorCode


class Refused(Exception):
    def __init__(self, error: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error = error
        self.message = message
