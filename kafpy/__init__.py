"""kafpy: a Kafka broker in Python with a compiled storage core."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafpy.client.scan import scan as scan
    from kafpy.embedded.broker import Broker as Broker
    from kafpy.embedded.broker import BrokerError as BrokerError

__version__ = "0.1.0"

_PLACES = {"Broker": "kafpy.embedded.broker", "BrokerError": "kafpy.embedded.broker", "scan": "kafpy.client.scan"}


def __getattr__(name: str) -> Any:
    """Loaded when they are asked for; `import kafpy` alone costs next to nothing."""
    if name not in _PLACES:
        raise AttributeError(f"module 'kafpy' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PLACES[name]), name)
