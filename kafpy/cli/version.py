"""`kafpy version`."""

import platform

import click

from kafpy import __version__


@click.command("version")
def command() -> None:
    """Print the version, and what it runs on."""
    click.echo(f"kafpy {__version__}  (Python {platform.python_version()}, {platform.system()} {platform.machine()})")
