"""`kafpy dump`: kafka-dump-log, with its flags and its output; the broker's checkpoints besides."""

from collections.abc import Callable
from pathlib import Path

import click

from kafpy.cli.dump_report import DumpError, Report
from kafpy.cli.main import fail

NOT_DECODED = ("transaction_log", "cluster_metadata", "remote_log_metadata", "share_group_state")


@click.command("dump")
@click.argument("paths", nargs=-1, metavar="[FILE|FOLDER]…")
@click.option("--files", multiple=True, metavar="FILE,FILE…", help="As arguments too. A folder: what lies in it.")
@click.option("--print-data-log", is_flag=True, help="Keys and values too.")
@click.option("--deep-iteration", is_flag=True, help="Record by record, not only batch by batch.")
@click.option("--offsets-decoder", is_flag=True, help="Read keys and values as those of __consumer_offsets.")
@click.option(
    "--skip-record-metadata", is_flag=True, help="Of records only keys and values; control records not at all."
)
@click.option("--max-bytes", type=click.IntRange(1), default=2**31 - 1, help="Read no further in a segment.")
@click.option("--verify-index-only", is_flag=True, help="Compare indexes with their segments, print no entries.")
@click.option("--index-sanity-check", is_flag=True, help="Only check what a broker checks when it starts.")
@click.option("--max-message-size", type=int, default=5 << 20, help="Without effect: batches are read whole.")
@click.option("--transaction-log-decoder", "transaction_log", is_flag=True, hidden=True)
@click.option("--cluster-metadata-decoder", "cluster_metadata", is_flag=True, hidden=True)
@click.option("--remote-log-metadata-decoder", "remote_log_metadata", is_flag=True, hidden=True)
@click.option("--share-group-state-decoder", "share_group_state", is_flag=True, hidden=True)
def command(
    paths: tuple[str, ...],
    files: tuple[str, ...],
    print_data_log: bool,
    deep_iteration: bool,
    offsets_decoder: bool,
    skip_record_metadata: bool,
    max_bytes: int,
    verify_index_only: bool,
    index_sanity_check: bool,
    max_message_size: int,
    **others: bool,
) -> None:
    """Print what is in a broker's files: segments, indexes, producer snapshots, checkpoints.

    \b
    kafpy dump data/orders-0                                 every file of a partition
    kafpy dump --print-data-log --files data/orders-0/00000000000000000000.log
    """
    wanted = [each for each in NOT_DECODED if others[each]]
    if wanted:
        fail(
            f"--{wanted[0].replace('_', '-')}-decoder: these records are not decoded here; "
            "--print-data-log shows their bytes"
        )
    chosen = [*paths, *(path for text in files for path in text.split(",") if path)]
    if not chosen:
        raise click.UsageError("name a file, as an argument or with --files")
    report = Report()

    def segment(path: Path) -> None:
        from kafpy.cli import dump_segment

        decode: dump_segment.Decoder | None = None
        if offsets_decoder:
            from kafpy.cli import dump_offsets

            decode = dump_offsets.decode
        printed = print_data_log or offsets_decoder
        deep = deep_iteration or printed
        how = dump_segment.How(deep, printed, skip_record_metadata, max_bytes, decode)
        dump_segment.dump(path, how, report)

    def index(path: Path) -> None:
        from kafpy.cli import dump_index

        dump = dump_index.dump_offsets if path.suffix == ".index" else dump_index.dump_times
        dump(path, index_sanity_check, verify_index_only, report)

    try:
        for path in _files(chosen):
            click.echo(f"Dumping {path}")
            _dump(path, segment, index, report)
    except (DumpError, OSError) as error:
        report.flush()
        fail(str(error) if isinstance(error, DumpError) else f"{error.filename}: {error.strerror}")
    report.print()


def _dump(path: Path, segment: Callable[[Path], None], index: Callable[[Path], None], report: Report) -> None:
    from kafpy.cli import dump_checkpoint

    if path.suffix == ".log" or path.suffix == ".checkpoint":
        segment(path)
    elif path.suffix in (".index", ".timeindex"):
        index(path)
    elif path.suffix == ".snapshot":
        dump_checkpoint.dump_snapshot(path, report)
    elif path.suffix == ".txnindex":
        dump_checkpoint.dump_aborted(path, report)
    elif path.name in dump_checkpoint.READERS:
        dump_checkpoint.READERS[path.name](path, report)
    elif not path.exists():
        raise DumpError(f"{path}: No such file or directory")
    else:
        report.flush()
        click.echo(f"Ignoring unknown file {path}", err=True)
        return
    report.flush()


def _files(chosen: list[str]) -> list[Path]:
    found: list[Path] = []
    for text in chosen:
        path = Path(text)
        found += sorted(each for each in path.iterdir() if each.is_file()) if path.is_dir() else [path]
    return found
