"""What a message looks like on the wire; pure.

A message is one table (messages/), parsed (schema.py) and compiled (program.py) when it is first used;
core/wire.pyx runs the result.
"""

from kafpy._core.wire import Encoded, MalformedRequest, Struct

__all__ = ["Encoded", "MalformedRequest", "Struct"]
