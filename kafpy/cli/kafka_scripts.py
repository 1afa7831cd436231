"""`kafpy generate kafka-scripts`: kafka-topics, kafka-console-producer and the others, over kafpy."""

import shlex
import sys
from pathlib import Path

import click

from kafpy.cli.kafka.run import TOOLS
from kafpy.cli.main import fail

SCRIPT = """#!/bin/sh
# {name} over kafpy, made by `kafpy generate kafka-scripts`
exec {python} -m kafpy.cli.kafka.run {name} "$@"
"""


@click.command("kafka-scripts")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="In place of files of those names that are not kafpy's.")
def command(folder: Path, force: bool) -> None:
    """Write scripts named as Kafka's, with and without .sh; each runs kafpy with the flags and the output of Kafka's.

    \b
    kafpy generate kafka-scripts ~/bin && kafka-topics.sh --bootstrap-server localhost:9092 --list
    """
    paths = {folder / f"{name}{ending}": name for name in TOOLS for ending in ("", ".sh")}
    foreign = [path for path in paths if path.exists() and "over kafpy" not in path.read_text("utf-8", "replace")[:200]]
    if foreign and not force:
        fail(f"{foreign[0]} is there and not kafpy's; choose another folder, or say --force")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, name in paths.items():
            path.write_text(SCRIPT.format(name=name, python=shlex.quote(sys.executable)))
            path.chmod(0o755)
    except OSError as error:
        fail(f"cannot write {error.filename}: {error.strerror}")
    click.echo(f"Wrote {len(paths)} scripts to {folder}.")
