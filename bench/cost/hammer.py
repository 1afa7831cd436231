"""python -m bench.cost.hammer HOST PORT SECONDS: Metadata for every topic, as fast as one connection gets it.

Prints one line of JSON. Replies are received and not looked at.
"""

import json
import socket
import sys
import time
from statistics import median

from kafpy.protocol import api, codec

VERSION = 12


def hammer(host: str, port: int, seconds: float) -> dict[str, float]:
    frame = codec.write_request(api.METADATA.key, VERSION, 1, "hammer", api.METADATA.request(topics=None))
    request = len(frame).to_bytes(4, "big") + frame
    waits: list[float] = []
    size = 0
    with socket.create_connection((host, port)) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        start = time.perf_counter()
        while (asked := time.perf_counter()) < start + seconds:
            client.sendall(request)
            size = int.from_bytes(client.recv(4, socket.MSG_WAITALL), "big")
            if len(client.recv(size, socket.MSG_WAITALL)) < size:
                raise ConnectionResetError("closed by the broker")
            waits.append(time.perf_counter() - asked)
    return {"requests": len(waits), "reply_bytes": size, "p50_us": median(waits) * 1e6}


if __name__ == "__main__":
    print(json.dumps(hammer(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))))
