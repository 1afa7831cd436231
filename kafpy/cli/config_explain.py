"""`kafpy config explain` and `kafpy config sample`: what settings there are. No broker is asked."""

import click

from kafpy.cli.main import fail


@click.command()
@click.argument("keys", nargs=-1, required=True, metavar="KEY…")
def explain(keys: tuple[str, ...]) -> None:
    """Tell what a setting does here, its default, and whether it can change while the broker runs."""
    from kafpy.broker.explanation import explain as explained
    from kafpy.broker.setting_types import SettingError

    try:
        click.echo("\n\n".join(map(explained, keys)))
    except SettingError as error:
        fail(str(error))


@click.command()
def sample() -> None:
    """Print a server.properties with every setting in it, commented out."""
    from kafpy.broker.settings_reference import sample_file

    click.echo(sample_file(), nl=False)


@click.command("settings-reference")
def settings_reference() -> None:
    """Print docs/settings.md: every setting with its default and what it does."""
    from kafpy.broker.settings_reference import reference

    click.echo(reference(), nl=False)
