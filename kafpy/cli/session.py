"""A cluster to ask, and how a command that cannot go on ends: one line, exit status 1."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import click

from kafpy.cli.main import fail
from kafpy.client.cluster import Cluster
from kafpy.client.connection import ClientError
from kafpy.client.settings import ClientSettings


class Refusal(click.ClickException):
    """What went wrong, in the words of Kafka's tool."""

    exit_code = 1

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(self.message, file=file, err=True)


@contextmanager
def session(where: ClientSettings, timeout_ms: int | None = None) -> Iterator[Cluster]:
    try:
        with Cluster(where, timeout_s=None if timeout_ms is None else timeout_ms / 1000) as cluster:
            yield cluster
    except ClientError as error:
        fail(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
