"""`kafpy perf`: kafka-producer-perf-test, kafka-consumer-perf-test and kafka-e2e-latency, with their output lines."""

import click

from kafpy.cli.perf_consume import consume
from kafpy.cli.perf_e2e import e2e
from kafpy.cli.perf_produce import produce


@click.group("perf")
def command() -> None:
    """Measure a broker as Kafka's performance tools do."""


for verb in (produce, consume, e2e):
    command.add_command(verb)
