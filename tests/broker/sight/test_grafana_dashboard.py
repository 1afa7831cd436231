"""The board asks for nothing that a broker does not tell."""

import json
import re
from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest
from click.testing import CliRunner

from kafpy.cli.grafana_dashboard import command
from tests.broker.sight.test_metrics import scrape
from tests.broker.test_group_coordinator import commit, ready
from tests.core.logs import make_batch

FUNCTIONS = {"sum", "rate", "deriv", "topk", "histogram_quantile", "by"}
LABELS = {"le", "request", "topic", "consumergroup"}


@pytest.fixture(scope="module")
def board() -> Any:
    ran = CliRunner().invoke(command, ["--title", "Ours", "--uid", "ours"])
    assert ran.exit_code == 0
    return json.loads(ran.stdout)


def expressions(board: Any) -> list[str]:
    return [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]


def names(expression: str) -> set[str]:
    bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]", "", expression)
    return set(re.findall(r"[a-z_][a-z_0-9]*", bare)) - FUNCTIONS - LABELS


def test_every_metric_is_on_the_page_of_a_broker(board: Any, start: Callable[..., Any]) -> None:
    running = start(http_listener="127.0.0.1:0", group_initial_rebalance_delay_ms=0)
    with running.connect() as client:
        client.create("t")
        client.produce("t", make_batch(1))
        ready(client, "g")
        assert commit(client, {("t", 0): 1}, "g") == [0]
    told = {name for name, _ in scrape(running)}
    variables = [each["query"]["query"] for each in board["templating"]["list"] if each["type"] == "query"]
    asked = {re.match(r"label_values\((\w+)", query)[1] for query in variables}  # type: ignore[index]
    for expression in expressions(board):
        found = names(expression)
        assert found, expression
        asked |= found
    assert len(asked) > 25
    assert asked <= told


def test_panels_stand_beside_each_other(board: Any) -> None:
    assert (board["title"], board["uid"]) == ("Ours", "ours")
    assert len({each["id"] for each in board["panels"]}) == len(board["panels"])
    places = [each["gridPos"] for each in board["panels"]]
    assert all(place["x"] + place["w"] <= 24 for place in places)
    for one, other in combinations(places, 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        above = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or above


def test_brackets_match(board: Any) -> None:
    for expression in expressions(board):
        for opening, closing in ("()", "{}", "[]"):
            assert expression.count(opening) == expression.count(closing), expression
