"""kafpy: a Kafka broker in Python with a compiled storage core."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafpy.embedded.broker import Broker as Broker
    from kafpy.embedded.broker import BrokerError as BrokerError

__version__ = "0.1.0"

_EMBEDDED = ("Broker", "BrokerError")


def __getattr__(name: str) -> Any:
    """A broker in this process is loaded when it is asked for; `import kafpy` alone costs next to nothing."""
    if name not in _EMBEDDED:
        raise AttributeError(f"module 'kafpy' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("kafpy.embedded.broker"), name)
