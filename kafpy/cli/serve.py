"""`kafpy serve`: a broker in the foreground.

stdout gets exactly one line, when clients are accepted; warnings and errors go to stderr.
"""

from pathlib import Path

import click

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
def command(file: Path | None, overrides: tuple[str, ...], data: str | None, port: int | None) -> None:
    """Run a broker until SIGTERM or Ctrl-C.

    No file is needed. When clients can connect, one line `kafpy ready on HOST:PORT` is printed.
    """
    try:
        settings, warnings = load(_given(file, overrides, data))
        if port is not None:
            settings, _ = load([*_given(file, overrides, data), _with_port(settings, port)])
    except SettingError as error:
        fail(str(error))
    for warning in warnings:
        click.echo(f"kafpy: {warning}", err=True)
    _run(settings)


def _given(file: Path | None, overrides: tuple[str, ...], data: str | None) -> list[Given]:
    given = [Given("log.dirs", DATA, "default")] if file is None else read_file(file)
    for text in overrides:
        name, equals, value = text.partition("=")
        if not equals:
            raise SettingError(f"--override {text}: not KEY=VALUE")
        given.append(Given(name.strip(), value.strip(), f"--override {name}"))
    if any(each.name == "log.dir" for each in given) and given[0].place == "default":
        given = given[1:]
    if data is not None:
        given.append(Given("log.dirs", data, "--data"))
    return given


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
    import logging

    from kafpy.broker.server import Broker, run
    from kafpy.broker.sockets import BindError
    from kafpy.metadata import StoreError
    from kafpy.storage.directories import DirectoryError

    _raise_descriptor_limit()
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)

    def ready(broker: Broker) -> None:
        click.echo(f"kafpy ready on {broker.address}")

    try:
        run(settings, ready)
    except (DirectoryError, BindError, StoreError) as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename or 'the broker'}: {error.strerror or error}")
