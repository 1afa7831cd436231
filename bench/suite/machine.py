"""Where a run took place: what a reader has to know before comparing its figures with others."""

import os
import platform
import subprocess
from pathlib import Path


def describe() -> dict[str, object]:
    return {
        "processor": _first("/proc/cpuinfo", "model name"),
        "processors": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9, 1),
        "kernel": platform.release(),
        "congestion_control": _text("/proc/sys/net/ipv4/tcp_congestion_control"),
        "python": platform.python_version(),
        "java": _java(),
        "librdkafka": _librdkafka(),
    }


def _text(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return "unknown"


def _first(path: str, key: str) -> str:
    for line in _text(path).splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return platform.machine()


def _java() -> str:
    try:
        done = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return "none"
    return done.stderr.splitlines()[0] if done.stderr else "unknown"


def _librdkafka() -> str:
    try:
        from confluent_kafka import libversion
    except ImportError:
        return "none"
    return str(libversion()[0])
