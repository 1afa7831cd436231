"""A refusal that a client is told: Kafka's error code and, mostly, a sentence."""


class MetadataError(Exception):
    def __init__(self, code: int, message: str | None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class StoreError(Exception):
    """The store cannot be used at all (another format, a damaged file); the broker does not start on it."""
