"""The process and its disks, from /proc, under the names of Prometheus' client libraries."""

import os
import resource
from pathlib import Path

from kafpy.broker.sight.exposition import Page

_PROC = Path("/proc/self")


def write(page: Page) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    fields = (_PROC / "stat").read_text().rsplit(")", 1)[1].split()
    virtual, resident = int(fields[20]), int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    started = _boot_time() + int(fields[19]) / os.sysconf("SC_CLK_TCK")
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    for name, kind, help_text, value in (
        ("process_cpu_seconds_total", "counter", "Processor time.", round(used.ru_utime + used.ru_stime, 3)),
        ("process_resident_memory_bytes", "gauge", "Memory in use.", resident),
        ("process_virtual_memory_bytes", "gauge", "Address space.", virtual),
        ("process_start_time_seconds", "gauge", "When it started.", round(started, 2)),
        ("process_open_fds", "gauge", "Descriptors in use.", len(os.listdir(_PROC / "fd")) - 1),  # noqa: PTH208
        ("process_max_fds", "gauge", "Descriptors it may have.", soft),
    ):
        page.one(name, kind, help_text, value)
    moved = dict(line.split(": ") for line in (_PROC / "io").read_text().splitlines())
    for word in ("read", "write"):
        name = f"kafka_server_kafkaserver_linux_disk_{word}_bytes"
        page.one(name, "counter", "Bytes that went through a disk.", int(moved[f"{word}_bytes"]))


def _boot_time() -> int:
    lines = Path("/proc/stat").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("btime"))
