"""`kafpy doctor`: what a client would be told, and why it cannot connect."""

import sys

import click

from kafpy.cli.main import fail
from kafpy.cli.options import bootstrap_option, format_option
from kafpy.client.checkup import BAD, Address, Finding, examine
from kafpy.client.connection import ClientError, split_address
from kafpy.client.settings import ClientSettings

COLOURS = {"ok": "green", "note": "yellow", BAD: "red"}


@click.command("doctor")
@bootstrap_option
@click.argument("address", required=False, metavar="[HOST:PORT]")
@format_option
def command(bootstrap: ClientSettings, address: str | None, format_: str) -> None:
    """Tell step by step what a client of HOST:PORT would be told, and why it cannot connect.

    Names, TCP, TLS or not, versions, passwords; then every address that brokers advertise, since clients go on to
    those. Exit status 1 when a step failed.
    """
    settings = bootstrap if address is None else bootstrap._replace(bootstrap=address)
    found: list[Finding] = []
    for text in filter(None, (part.strip() for part in settings.bootstrap.split(","))):
        try:
            where = Address(*split_address(text))
        except ClientError as error:
            fail(str(error))
        for each in examine(where, settings):
            found.append(each)
            if format_ == "text":
                grade = click.style(each.grade.ljust(7), fg=COLOURS[each.grade])
                click.echo(f"{grade} {each.step:<12} {each.text}")
    if format_ != "text":
        from kafpy.cli.output import emit

        emit([each._asdict() for each in found], format_)
    if any(each.grade == BAD for each in found):
        sys.exit(1)
