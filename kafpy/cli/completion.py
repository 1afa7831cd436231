"""`kafpy completion`: what makes a shell complete kafpy's commands and options."""

import click


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion of a shell.

    \b
    bash   eval "$(kafpy completion bash)"     in ~/.bashrc
    zsh    eval "$(kafpy completion zsh)"      in ~/.zshrc
    fish   kafpy completion fish > ~/.config/fish/completions/kafpy.fish
    """
    from click.shell_completion import get_completion_class

    from kafpy.cli.main import cli

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(cli, {}, "kafpy", "_KAFPY_COMPLETE").source())
