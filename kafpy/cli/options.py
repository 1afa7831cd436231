"""Options that many commands share: where the cluster is."""

import click

DEFAULT_BOOTSTRAP = "localhost:9092"

bootstrap_option = click.option(
    "--bootstrap-server",
    "-b",
    "bootstrap",
    default=DEFAULT_BOOTSTRAP,
    show_default=True,
    envvar="KAFPY_BOOTSTRAP_SERVER",
    show_envvar=True,
    metavar="HOST:PORT,…",
    help="Brokers to ask first.",
)
