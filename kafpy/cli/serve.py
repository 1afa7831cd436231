"""`kafpy serve`: a broker in the foreground.

stdout gets exactly one line, when clients are accepted; warnings and errors go to stderr.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import click

from kafpy.broker import environment
from kafpy.broker.listeners import Listener
from kafpy.broker.setting_types import SettingError
from kafpy.broker.settings import Given, Settings, load, read_file
from kafpy.cli.main import fail

DATA = "kafpy-data"


@click.command("serve")
@click.argument("file", required=False, metavar="[server.properties]", type=click.Path(path_type=Path))
@click.option(
    "--override", "overrides", multiple=True, metavar="KEY=VALUE", help="Set a key, over the file. Repeatable."
)
@click.option("--data", metavar="DIR", help=f"Where data lies (log.dirs). Without a file: ./{DATA}")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Port of the first listener; 0: a free one.  [default: 9092]"
)
@click.option(
    "--http", metavar="[HOST:]PORT", help="Serve /metrics and /healthz here (kafpy.http.listener). Off if not given."
)
@click.option("--log-format", metavar="text|json", help="Of the lines on stderr (kafpy.log.format).  [default: text]")
@click.option("--log-level", metavar="LEVEL", help="debug, info, warning, error (kafpy.log.level).  [default: info]")
def command(file: Path | None, overrides: tuple[str, ...], port: int | None, **options: str | None) -> None:
    """Run a broker until SIGTERM or Ctrl-C.

    No file is needed. When clients can connect, one line `kafpy ready on HOST:PORT` is printed. Settings come from the
    file, then from KAFKA_… and KAFKA_CFG_… variables of the environment, then from --override, then from the other
    options; later ones win. `kafpy config explain KEY` tells what a setting does.
    """
    try:
        given, notes = _given(file, overrides, options)
        settings, warnings = load(given)
        if port is not None:
            settings, _ = load([*given, _with_port(settings, port)])
    except SettingError as error:
        fail(str(error))
    for warning in [*notes, *warnings]:
        click.echo(f"kafpy: {warning}", err=True)
    _run(settings)


_OPTIONS = {
    "data": "log.dirs",
    "http": "kafpy.http.listener",
    "log_format": "kafpy.log.format",
    "log_level": "kafpy.log.level",
}


def _given(
    file: Path | None, overrides: tuple[str, ...], options: Mapping[str, str | None]
) -> tuple[list[Given], list[str]]:
    """In the order of precedence, and what is to be said of the environment."""
    given = [Given("log.dirs", DATA, "default")] if file is None else read_file(file)
    from_environment, notes = environment.given(os.environ)
    given += from_environment
    for text in overrides:
        name, equals, value = text.partition("=")
        if not equals:
            raise SettingError(f"--override {text}: not KEY=VALUE")
        given.append(Given(name.strip(), value.strip(), f"--override {name}"))
    if any(each.name == "log.dir" for each in given) and given[0].place == "default":
        given = given[1:]
    for option, name in _OPTIONS.items():
        wanted = options[option]
        if wanted is not None:
            given.append(Given(name, wanted, f"--{option.replace('_', '-')}"))
    return given, notes


def _with_port(settings: Settings, port: int) -> Given:
    listeners = settings.client_listeners()
    listeners[0] = listeners[0]._replace(port=port)
    return Given("listeners", ",".join(map(_listener_text, listeners)), "--port")


def _listener_text(listener: Listener) -> str:
    host = f"[{listener.host}]" if ":" in listener.host else listener.host
    return f"{listener.name}://{host}:{listener.port}"


def _raise_descriptor_limit() -> None:
    """Every log and every client holds descriptors; the usual soft limit of 1024 is no one's wish."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _run(settings: Settings) -> None:
    from kafpy.broker import log_lines
    from kafpy.broker.server import Broker, run
    from kafpy.broker.sockets import BindError
    from kafpy.metadata import StoreError
    from kafpy.storage.directories import DirectoryError

    _raise_descriptor_limit()
    log_lines.to_stderr(settings.log_format, settings.log_level)

    def ready(broker: Broker) -> None:
        click.echo(f"kafpy ready on {broker.address}")

    try:
        run(settings, ready)
    except (DirectoryError, BindError, StoreError) as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename or 'the broker'}: {error.strerror or error}")
