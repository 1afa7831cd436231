"""A refusal that a client is told: Kafka's error code and, mostly, a sentence."""

LONGEST_MESSAGE = 1000
"""Sentences quote what the client sent, which may be as long as a string of the protocol can be."""


class MetadataError(Exception):
    def __init__(self, code: int, message: str | None) -> None:
        self.code = code
        self.message = message
        if message is not None and len(message) > LONGEST_MESSAGE:
            self.message = message[:LONGEST_MESSAGE] + "…"
        super().__init__(self.message)


class StoreError(Exception):
    """The store cannot be used at all (another format, a damaged file); the broker does not start on it."""
