"""`kafpy bench`: is it faster, by how much, where not. The suite is in bench/suite of the source tree."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kafpy.cli.main import fail

if TYPE_CHECKING:
    from bench.suite.results import Results
    from bench.suite.targets import Target

SOURCE = Path(__file__).parents[2]
QUICK_SECONDS, QUICK_REPEATS, QUICK_WARM_UP_S = 1.0, 2, 8.0
LOOP_BYTES = 8 << 30


@click.group("bench")
def command() -> None:
    """Measure brokers: what requests cost them, how fast they answer, what they take.

    \b
    kafpy bench run --quick
    kafpy bench run --against kafka
    kafpy bench run request-cost --target mine=localhost:9092,pid=4711
    kafpy bench compare bench/results/A bench/results/B
    """
    if not (SOURCE / "bench" / "suite").is_dir():
        fail("the benchmarks come with the source tree: run this in a checkout, built with `make build`")
    if str(SOURCE) not in sys.path:
        sys.path.insert(0, str(SOURCE))


@command.command("list")
def list_workloads() -> None:
    """The workloads, and what each shows."""
    from bench.suite import workload

    for name in workload.names():
        found = workload.load(name)
        click.echo(f"{name}  ({len(found.rows)} rows)\n    {found.shows}")


@command.command()
@click.argument("suites", nargs=-1, metavar="[WORKLOAD]…")
@click.option("--target", "targets", multiple=True, metavar="NAME=HOST:PORT,pid=N", help="A broker that runs already.")
@click.option(
    "--against",
    type=click.Choice(["kafka", "loop"]),
    multiple=True,
    help="Apache Kafka, fetched and started by this command; the bare C loop, which stores, serves and does no more.",
)
@click.option("--kafka-version", default="4.3.0", show_default=True, help="Of --against kafka.")
@click.option(
    "--override", "overrides", multiple=True, metavar="KEY=VALUE", help="A setting of the kafpy that is started."
)
@click.option("--without-kafpy", is_flag=True, help="Only --target and --against.")
@click.option("--driver", type=click.Choice(["native", "librdkafka", "java"]), default="native", show_default=True)
@click.option("--repeats", type=click.IntRange(1), help="Of every row.  [default: 5]")
@click.option("--seconds", type=click.FloatRange(0.2), help="Of every load.  [default: 3]")
@click.option("--quick", is_flag=True, help="A few rows, little of each: at most three minutes.")
@click.option("--cold-memory", is_flag=True, help="Do not warm the page cache first; see bench/README.md.")
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="Where brokers keep their data meanwhile.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="[default: bench/results/DATE]")
def run(suites: tuple[str, ...], **given: Any) -> None:
    """Run workloads against brokers in turns, and write what came of it.

    Without names, all workloads. Leaves results.json, report.md, report.html and pictures in bench/results/DATE.
    """
    from bench.suite import report
    from bench.suite.drivers import DriverError
    from bench.suite.kafka import Missing, jars
    from bench.suite.run import Plan, SuiteError
    from bench.suite.run import run as run_suite
    from bench.suite.targets import TargetError
    from bench.suite.workload import WorkloadError, load, names

    quick = given["quick"]
    try:
        if given["driver"] == "java":
            jars()  # before anything is started
        plan = Plan(
            workloads=[load(name) for name in suites or names()],
            targets=_targets(given),
            driver=given["driver"],
            repeats=given["repeats"] or (QUICK_REPEATS if quick else Plan.repeats),
            seconds=given["seconds"] or (QUICK_SECONDS if quick else Plan.seconds),
            warm_memory=not given["cold_memory"],
            quick=quick,
            data=given["data"] or Plan.data,
        )
        results = _empty(plan)
        try:
            run_suite(plan, results, lambda note: _note(results, note))
        except KeyboardInterrupt:
            if not results.rows:
                raise SystemExit(130) from None
            _note(results, "interrupted: what was measured until then is all there is")
    except (WorkloadError, TargetError, SuiteError, Missing, DriverError) as error:
        fail(str(error))
    if not results.rows:
        fail("nothing was measured")
    _write(results, given["out"])
    click.echo(report.markdown(results))


def _targets(given: dict[str, Any]) -> "list[Target]":
    from bench.suite.targets import Existing, Kafka, Kafpy, Loop

    found: list[Target] = [] if given["without_kafpy"] else [Kafpy(overrides=given["overrides"])]
    found += [Existing(each) for each in given["targets"]]
    if "loop" in given["against"]:
        found.append(Loop(LOOP_BYTES))
    if "kafka" in given["against"]:
        found.append(Kafka(version=given["kafka_version"]))
    if not found:
        raise click.UsageError("nothing to measure: --without-kafpy needs --target or --against")
    if len({each.name for each in found}) < len(found):
        raise click.UsageError("targets need names of their own")
    if given["quick"]:
        for each in found:
            each.warm_up_s = min(each.warm_up_s, QUICK_WARM_UP_S)
    return found


def _empty(plan: Any) -> "Results":
    from datetime import UTC, datetime

    from bench.suite import machine
    from bench.suite.results import Results

    settings = {
        "repeats": plan.repeats,
        "seconds": plan.seconds,
        "driver": plan.driver,
        "warm": plan.warm_memory,
        "fsync": "only for topics with flush.messages",
    }
    begun = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return Results(
        conditions={"machine": machine.describe(), "settings": settings, "begun": begun},
        targets=[{"name": each.name, "version": each.version, "settings": each.settings} for each in plan.targets],
    )


def _note(results: "Results", note: str) -> None:
    from bench.suite.progress import wipe

    if note in results.notes:
        return
    results.notes.append(note)
    wipe()
    click.echo(f"kafpy: {note}", err=True)


def _write(results: "Results", out: Path | None) -> None:
    import time

    from bench.suite import plots, report

    folder = out or Path("bench") / "results" / time.strftime("%Y-%m-%d-%H%M%S", time.gmtime())
    folder.mkdir(parents=True, exist_ok=True)
    results.write(folder / "results.json")
    drawn = plots.draw(results, folder)
    (folder / "report.md").write_text(report.markdown(results))
    (folder / "report.html").write_text(report.page(results, drawn))
    click.echo(f"kafpy: results are in {folder}", err=True)


@command.command("report")
@click.argument("results", type=click.Path(exists=True, path_type=Path), metavar="DIR")
@click.option("--headline", is_flag=True, help="One short table: the rows that say most.")
def show(results: Path, headline: bool) -> None:
    """Print the Markdown tables of a run again."""
    from bench.suite import headline as short
    from bench.suite import report
    from bench.suite.results import NoResults, read

    try:
        found = read(results)
        click.echo(f"{short.markdown(found)}\n\n{report.conditions(found)}" if headline else report.markdown(found))
    except NoResults as error:
        fail(str(error))


@command.command()
@click.argument("before", type=click.Path(exists=True, path_type=Path))
@click.argument("after", type=click.Path(exists=True, path_type=Path))
def compare(before: Path, after: Path) -> None:
    """Set two runs beside each other: what got dearer or cheaper, and whether that is more than chance.

    The chance is that of a difference so large between two sets of one kind (Mann-Whitney); above 0.05 there is none
    to speak of. Runs of different minutes differ by more than what changed: compare ratios where you can.
    """
    from bench.suite.compare import changes, table
    from bench.suite.results import NoResults, read

    try:
        found = list(changes(read(before), read(after)))
    except NoResults as error:
        fail(str(error))
    if not found:
        fail("the two runs have no row and target in common")
    click.echo(table(found))
