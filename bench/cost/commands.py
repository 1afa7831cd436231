"""python -m bench.cost.commands: processor time of `kafpy` commands, start of the interpreter included.

Each is run some times against a broker with a topic of three records; the median is shown, and what is above the bound.
"""

import argparse
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.cost import servers

BOUND_S = 0.25
COMMANDS = """
version
--help
topic --help
config explain log.retention.ms
completion bash
topic create -p 3 made-{n}
topic list
topic describe t
topic alter --partitions {more} grown
topic add-partitions -n 1 grown
topic trim t --offset 1
topic analyze t
topic delete made-{n}
config list topics
config get topic t retention.ms
config set topic t retention.ms=100000
config unset topic t retention.ms
cluster info
cluster health
cluster log-dirs
cluster api-versions
group list
group describe g
offsets t
produce t
consume t -o start -e
cat -L
cat -C -t t -o beginning -e -q
perf produce --topic t --num-records 1 --record-size 100 --throughput -1
perf consume --topic t --num-records 1
dump --files {log}
doctor {address}
profile list
generate settings-reference
generate grafana-dashboard
""".strip().splitlines()


def main() -> int:
    asked = _arguments()
    with tempfile.TemporaryDirectory() as place, servers.kafpy(Path(place) / "data") as broker:
        address = f"{broker.host}:{broker.port}"
        environment = {**os.environ, "KAFPY_BOOTSTRAP_SERVER": address, "XDG_CONFIG_HOME": place}
        for line in ("topic create t", "topic create grown", "produce t", "consume t -g g --from-beginning -n 3"):
            _spent(line, environment)
        log = Path(place) / "data" / "t-0" / "00000000000000000000.log"
        print(f"| `kafpy …` | CPU s, median of {asked.repeats} | most |\n|---|--:|--:|")
        slow = []
        for command in COMMANDS:
            times = []
            for n in range(asked.repeats):
                more = 10 + 2 * n
                times.append(_spent(command.format(n=n, more=more, log=log, address=address), environment))
            middle = statistics.median(times)
            print(f"| {command} | {middle:.3f} | {max(times):.3f} |", flush=True)
            if middle > BOUND_S:
                slow.append(command)
    print(f"\nabove {BOUND_S} s: {', '.join(slow) or 'none'}")
    return 1 if slow else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.cost.commands", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5)
    return parser.parse_args()


def _spent(command: str, environment: dict[str, str]) -> float:
    process = subprocess.Popen(
        [sys.executable, "-m", "kafpy.cli.main", *shlex.split(command)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment,
    )
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write(b"one\ntwo\nthree\n" if command.startswith("produce") else b"")
    process.stdin.close()
    errors = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"kafpy {command}: exit status {process.returncode}\n{errors.decode()}")
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
