"""Who sent a request to a group: what members are described by, and the version that decides what they are told."""

from typing import NamedTuple


class Caller(NamedTuple):
    client_id: str
    """Empty where the request has none."""
    client_host: str
    api_version: int
