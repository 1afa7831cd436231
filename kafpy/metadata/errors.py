"""A refusal that a client is told: Kafka's error code and, mostly, a sentence."""

MAX_MESSAGE = 2000


class MetadataError(Exception):
    def __init__(self, code: int, message: str | None) -> None:
        """A long message is cut: it may quote what the client sent, and has to fit into a reply."""
        super().__init__(message)
        self.code = code
        self.message = message if message is None else message[:MAX_MESSAGE]


class StoreError(Exception):
    """The store cannot be used at all (another format, a damaged file); the broker does not start on it."""
