"""`kafpy generate grafana-dashboard`: a Grafana board over a broker's /metrics, as JSON on standard output."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import click

COLUMNS = 24
HEIGHT = 8
SCHEMA_VERSION = 39
"""Of Grafana 10; later ones migrate it when they load it."""

_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_HERE = 'job=~"$job",instance=~"$instance"'
_TOPIC = f'{_HERE},topic=~"$topic",topic!=""'
_ASKED = f'{_HERE},request=~"$request"'
_GROUP = f'{_HERE},consumergroup=~"$consumergroup"'
_BY = "consumergroup, topic"
_RATE = "[$__rate_interval]"


class Panel(NamedTuple):
    title: str
    unit: str
    queries: Sequence[tuple[str, str]]
    """Each an expression and the legend of what it finds."""
    kind: str = "timeseries"
    width: int = 8
    alarm: float | None = None
    """From here on it is red."""


def _quantile(of: float, request: str = "$request") -> str:
    buckets = f'kafpy_request_duration_seconds_bucket{{{_HERE},request=~"{request}"}}'
    return f"histogram_quantile({of}, sum by (le, request) (rate({buckets}{_RATE})))"


def _topic_rate(name: str) -> str:
    return f"sum by (topic) (rate(kafka_server_brokertopicmetrics_{name}_total{{{_TOPIC}}}{_RATE}))"


def _all_rate(name: str) -> str:
    return f'sum(rate(kafka_server_brokertopicmetrics_{name}_total{{{_HERE},topic=""}}{_RATE}))'


def _now(name: str, unit: str, title: str, alarm: float | None = None) -> Panel:
    return Panel(title, unit, [(f"sum({name}{{{_HERE}}})", title)], "stat", 4, alarm)


ROWS: Sequence[tuple[str, Sequence[Panel]]] = (
    (
        "Now",
        (
            _now("kafka_brokers", "none", "Brokers"),
            _now("kafka_controller_kafkacontroller_globaltopiccount", "none", "Topics"),
            _now("kafka_server_replicamanager_partitioncount", "none", "Partitions"),
            _now("kafka_controller_kafkacontroller_offlinepartitionscount", "none", "Offline partitions", 1),
            _now("kafka_server_replicamanager_underreplicatedpartitions", "none", "Under-replicated", 1),
            _now("kafka_log_logmanager_offlinelogdirectorycount", "none", "Failed log directories", 1),
        ),
    ),
    (
        "Traffic",
        (
            Panel("Bytes in and out", "Bps", [(_all_rate("bytesin"), "in"), (_all_rate("bytesout"), "out")]),
            Panel("Records in", "cps", [(_all_rate("messagesin"), "records")]),
            Panel(
                "Refused",
                "cps",
                [(_all_rate("failedproducerequests"), "produce"), (_all_rate("failedfetchrequests"), "fetch")],
            ),
            Panel("Bytes in by topic", "Bps", [(_topic_rate("bytesin"), "{{topic}}")]),
            Panel("Bytes out by topic", "Bps", [(_topic_rate("bytesout"), "{{topic}}")]),
            Panel("Records in by topic", "cps", [(_topic_rate("messagesin"), "{{topic}}")]),
        ),
    ),
    (
        "Requests",
        (
            Panel(
                "Requests by API",
                "reqps",
                [
                    (
                        f"sum by (request) (rate(kafka_network_requestmetrics_requests_total{{{_ASKED}}}{_RATE}))",
                        "{{request}}",
                    )
                ],
            ),
            Panel("Median time by API", "s", [(_quantile(0.5), "{{request}}")]),
            Panel("99th percentile by API", "s", [(_quantile(0.99), "{{request}}")]),
            Panel(
                "Produce",
                "s",
                [(_quantile(each, "Produce"), f"p{each * 100:g}") for each in (0.5, 0.95, 0.99, 0.999)],
            ),
            Panel(
                "Fetch, waiting for data included",
                "s",
                [(_quantile(each, "Fetch"), f"p{each * 100:g}") for each in (0.5, 0.95, 0.99, 0.999)],
            ),
            Panel(
                "Throttled replies",
                "cps",
                [(f"sum(rate(kafpy_throttled_replies_total{{{_HERE}}}{_RATE}))", "throttled")],
            ),
        ),
    ),
    (
        "Consumer groups",
        (
            Panel(
                "Lag in records",
                "short",
                [(f"sum by ({_BY}) (kafka_consumergroup_lag{{{_GROUP}}})", "{{consumergroup}} {{topic}}")],
                width=12,
            ),
            Panel(
                "Members",
                "none",
                [(f"sum by (consumergroup) (kafka_consumergroup_members{{{_GROUP}}})", "{{consumergroup}}")],
                width=12,
            ),
            Panel(
                "Committed per second",
                "cps",
                [
                    (
                        f"sum by ({_BY}) (deriv(kafka_consumergroup_current_offset_sum{{{_GROUP}}}{_RATE}))",
                        "{{consumergroup}} {{topic}}",
                    )
                ],
                width=12,
            ),
            Panel(
                "Partitions furthest behind",
                "short",
                [
                    (
                        f"topk(20, kafka_consumergroup_lag{{{_GROUP}}})",
                        "{{consumergroup}} {{topic}}-{{partition}}",
                    )
                ],
                width=12,
            ),
        ),
    ),
    (
        "Process and disk",
        (
            Panel("Processor", "percentunit", [(f"rate(process_cpu_seconds_total{{{_HERE}}}{_RATE})", "{{instance}}")]),
            Panel("Memory", "bytes", [(f"process_resident_memory_bytes{{{_HERE}}}", "{{instance}}")]),
            Panel(
                "Idle threads",
                "percentunit",
                [
                    (f"kafka_network_socketserver_networkprocessoravgidle_percent{{{_HERE}}}", "planes"),
                    (f"kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent{{{_HERE}}}", "loop"),
                ],
            ),
            Panel(
                "Connections",
                "none",
                [(f"kafka_server_socket_server_metrics_connection_count{{{_HERE}}}", "{{instance}}")],
            ),
            Panel("Size of topics", "bytes", [(f"sum by (topic) (kafka_log_log_size{{{_TOPIC}}})", "{{topic}}")]),
            Panel(
                "Descriptors",
                "none",
                [(f"process_open_fds{{{_HERE}}}", "in use"), (f"process_max_fds{{{_HERE}}}", "allowed")],
            ),
        ),
    ),
)


@click.command("grafana-dashboard")
@click.option("--title", default="kafpy", show_default=True, help="The board's title.")
@click.option("--uid", default="kafpy-broker", show_default=True, help="The board's id in Grafana.")
def command(title: str, uid: str) -> None:
    """Print a Grafana dashboard (JSON) for what `kafpy serve --http PORT` tells.

    \b
    kafpy generate grafana-dashboard > kafpy.json     then import the file in Grafana
    """
    click.echo(json.dumps(dashboard(title, uid), indent=2))


def dashboard(title: str, uid: str) -> dict[str, Any]:
    return {
        "title": title,
        "uid": uid,
        "tags": ["kafka", "kafpy"],
        "schemaVersion": SCHEMA_VERSION,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": _variables()},
        "panels": _panels(),
    }


def _variables() -> list[dict[str, Any]]:
    source = {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}
    asked = (
        ("job", "label_values(kafpy_build_info, job)"),
        ("instance", 'label_values(kafpy_build_info{job=~"$job"}, instance)'),
        ("topic", f"label_values(kafka_topic_partitions{{{_HERE}}}, topic)"),
        ("consumergroup", f"label_values(kafka_consumergroup_members{{{_HERE}}}, consumergroup)"),
        ("request", f"label_values(kafpy_request_duration_seconds_count{{{_HERE}}}, request)"),
    )
    return [source, *(_variable(name, query) for name, query in asked)]


def _variable(name: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _panels() -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    y = 0
    for title, panels in ROWS:
        place = {"x": 0, "y": y, "w": COLUMNS, "h": 1}
        made.append({"id": len(made) + 1, "type": "row", "title": title, "collapsed": False, "gridPos": place})
        x, y = 0, y + 1
        height = HEIGHT
        for panel in panels:
            height = HEIGHT // 2 if panel.kind == "stat" else HEIGHT
            if x + panel.width > COLUMNS:
                x, y = 0, y + height
            made.append(_panel(panel, len(made) + 1, {"x": x, "y": y, "w": panel.width, "h": height}))
            x += panel.width
        y += height
    return made


def _panel(panel: Panel, number: int, place: dict[str, int]) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if panel.alarm is not None:
        steps.append({"color": "red", "value": panel.alarm})
    targets = [
        {"refId": chr(ord("A") + index), "datasource": _SOURCE, "expr": expression, "legendFormat": legend}
        for index, (expression, legend) in enumerate(panel.queries)
    ]
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "datasource": _SOURCE,
        "gridPos": place,
        "targets": targets,
        "fieldConfig": {
            "defaults": {"unit": panel.unit, "min": 0, "thresholds": {"mode": "absolute", "steps": steps}},
            "overrides": [],
        },
    }
