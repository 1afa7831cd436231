"""Tables and pages from results; what is missing is shown as missing."""

from pathlib import Path
from typing import Any

import pytest

from bench.suite import headline, plots, report, workload
from bench.suite.results import NoResults, Results, ratio, read
from bench.suite.workload import parse

WORKLOAD = parse(
    "mine",
    """
shows: what it shows <&>
curve: partitions
rows:
  - {name: cheap, produce: {batch: 1x1000}, topic: {partitions: 1}, headline: [cost, throughput, p99]}
  - {name: lost, fetch: {}, topic: {partitions: 10}}
  - {name: idle, idle: {}, headline: [memory]}
""",
)


def outcome(cpu_us: float, wait_share: float = 0.0) -> dict[str, Any]:
    times = {"percentiles": {"50": 10, "99": 2000, "99.9": 30000}, "latencies": [[10, 98], [2000, 2]]}
    return {"cpu_us": cpu_us, "cpu_share": 0.5, "mb_s": 12.345, "wait_share": wait_share, "requests_s": 1.0, **times}


@pytest.fixture
def results() -> Results:
    machine = {"processor": "p", "processors": 2, "memory_gb": 4, "kernel": "k", "congestion_control": "c"}
    settings = {"repeats": 2, "seconds": 1.0, "driver": "native"}
    targets = [{"name": "ours", "version": "1", "settings": "a=b"}, {"name": "theirs", "version": "2"}]
    made = Results({"machine": machine, "settings": settings, "begun": "today"}, targets)
    cheap, lost, idle = WORKLOAD.rows
    for ours, theirs in ((10, 100), (30, 150), (20, 400)):
        made.add(WORKLOAD, cheap, "ours", outcome(ours))
        made.add(WORKLOAD, cheap, "theirs", outcome(theirs, wait_share=0.6))
    made.add(WORKLOAD, lost, "ours", outcome(7))
    made.add(WORKLOAD, idle, "ours", {"idle_mb": 30.0})
    made.add(WORKLOAD, idle, "theirs", {"idle_mb": 390.0})
    made.notes.append("theirs: lost: it broke")
    return made


def test_the_table(results: Results) -> None:
    text = report.markdown(results)
    times = "10 / 2,000 / 30,000"
    assert f"| cheap | 20.0 ± 50% | 150 ± 100% (disturbed) | 10 | 12.3 | 12.3 | {times} | {times} |" in text
    assert f"| lost | 7.00 ± 0% | - | - | 12.3 | - | {times} | - / - / - |" in text
    assert "| idle | 30.0 | 390 | 13 |" in text
    assert "theirs: lost: it broke" in text
    assert "ours 1 (a=b), theirs 2 (settings unknown)" in text


def test_the_headline(results: Results) -> None:
    assert headline.markdown(results).splitlines() == [
        "|  |  | ours | theirs | ours against theirs |",
        "| --- | --- | --: | --: | --: |",
        "| cheap | broker CPU per request, µs | 20.0 | 150 | 10 x |",
        "| cheap | MB/s | 12.3 | 12.3 | 1.00 x |",
        "| cheap | p99, µs | 2,000 | 2,000 | 1.00 x |",
        "| idle | resident, MB | 30.0 | 390 | 13 x |",
    ]
    cheap = results.rows[0]["outcomes"]
    cheap["ours"], cheap["theirs"] = cheap["theirs"], []
    assert headline.markdown(results).splitlines()[2].endswith("| 150 | - | - |")
    cheap["theirs"] = [outcome(75)] * 3
    assert headline.markdown(results).splitlines()[2].endswith("| 150 | 75.0 | **0.50 x** |"), "where it loses is seen"


def test_every_headline_has_its_figure() -> None:
    assert tuple(headline.FIGURES) == workload.FIGURES


def test_ratios_are_of_pairs(results: Results) -> None:
    assert ratio(results.rows[0], "theirs", "ours", lambda each: each["cpu_us"]) == 10


def test_the_page_brings_all_it_needs(results: Results, tmp_path: Path) -> None:
    drawn = plots.draw(results, tmp_path)
    assert {path.stem for path in drawn} == {"mine-cpu-us", "mine-latency", "mine-curve", "mine-idle"}
    page = report.page(results, drawn)
    assert page.count("data:image/png;base64,") == 4
    assert "what it shows &lt;&amp;&gt;" in page
    assert 'src="http' not in page


def test_written_and_read_again(results: Results, tmp_path: Path) -> None:
    results.write(tmp_path / "results.json")
    found = read(tmp_path)
    assert report.markdown(found) == report.markdown(results)
    assert found.conditions == results.conditions
    (tmp_path / "results.json").write_text('{"format": 0}')
    with pytest.raises(NoResults, match="another version"):
        read(tmp_path)
