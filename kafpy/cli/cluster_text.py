"""What kafka-log-dirs, kafka-broker-api-versions and kafka-cluster print."""

from collections.abc import Iterable, Mapping
from typing import Any

from kafpy.client.api_names import API_NAMES, usability
from kafpy.client.nodes import LogDir, Node

FAILED = "org.apache.kafka.common.errors.KafkaStorageException"


def log_dirs_data(found: Mapping[int, Iterable[LogDir]], topics: set[str]) -> dict[str, Any]:
    """Keys in the order in which the tool writes them."""
    brokers = [
        {
            "broker": node_id,
            "logDirs": [
                {
                    "partitions": [
                        {
                            "partition": f"{replica.topic}-{replica.partition}",
                            "size": replica.size,
                            "offsetLag": replica.offset_lag,
                            "isFuture": replica.is_future,
                        }
                        for replica in each.replicas
                        if not topics or replica.topic in topics
                    ],
                    "error": FAILED if each.error_code else None,
                    "logDir": each.path,
                }
                for each in directories
            ],
        }
        for node_id, directories in found.items()
    ]
    return {"brokers": brokers, "version": 1}


def api_versions(node: Node, spoken: Mapping[int, range]) -> str:
    lines = {key: usability(key, versions[0], versions[-1]) for key, versions in spoken.items()}
    for key, (name, _, _) in API_NAMES.items():
        lines.setdefault(key, f"{name}({key}): UNSUPPORTED")
    inside = ",\n\t".join(lines[key] for key in sorted(lines))
    rack = "null" if node.rack is None else node.rack
    fenced = str(node.fenced).lower()
    return f"{node.host}:{node.port} (id: {node.node_id} rack: {rack} isFenced: {fenced}) -> (\n\t{inside}\n)"


def api_data(node: Node, spoken: Mapping[int, range]) -> dict[str, Any]:
    apis = [
        {"key": key, "name": API_NAMES.get(key, ("UNKNOWN", 0, 0))[0], "min": versions[0], "max": versions[-1]}
        for key, versions in sorted(spoken.items())
    ]
    return {"broker": node.node_id, "address": f"{node.host}:{node.port}", "apis": apis}


def endpoints(nodes: Iterable[Node], *, controllers: bool) -> str:
    listed = list(nodes)
    host = max((len(each.host) for each in listed), default=100)
    rack = max((len(each.rack) for each in listed if each.rack), default=10)
    state = [] if controllers else ["STATE"]
    rows = [["ID", "HOST", "PORT", "RACK", *state, "ENDPOINT_TYPE"]]
    for each in listed:
        state = [] if controllers else ["fenced" if each.fenced else "unfenced"]
        kind = "controller" if controllers else "broker"
        rows.append([str(each.node_id), each.host, str(each.port), each.rack or "null", *state, kind])
    widths = [10, host, 10, rack, *([] if controllers else [10]), 15]
    return "\n".join(" ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
