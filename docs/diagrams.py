"""python docs/diagrams.py: draws the state diagrams of docs/groups.md from the tables in the code.

Each stands between `<!-- diagram NAME -->` and `<!-- end -->`; --check only tells whether the file is up to date.
"""

import re
import sys
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path

from kafpy.coordinator.group.modern.state import GROUP_TRANSITIONS, MEMBER_TRANSITIONS
from kafpy.coordinator.group.state import ENTERED_FROM, State

PAGE = Path(__file__).parent / "groups.md"
PLACE = re.compile(r"(<!-- diagram (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def drawn(arrows: Iterable[tuple[Enum, Enum, str]]) -> str:
    lines = [f"    {_name(a)} --> {_name(b)}" + (f": {label}" if label else "") for a, b, label in arrows]
    return "\n".join(["```mermaid", "stateDiagram-v2", *lines, "```", ""])


def labelled(table: Mapping[tuple[Enum, Enum], str]) -> str:
    return drawn((a, b, label) for (a, b), label in table.items())


def _name(state: Enum) -> str:
    return state.name.title().replace("_", "")


DIAGRAMS = {
    "classic": drawn(
        (before, after, "")
        for after, befores in ENTERED_FROM.items()
        for before in sorted(befores, key=list(State).index)
        if State.DEAD not in (before, after)
    ),
    "consumer": labelled(GROUP_TRANSITIONS),
    "member": labelled(MEMBER_TRANSITIONS),
}


def updated(page: str) -> str:
    return PLACE.sub(lambda place: place[1] + DIAGRAMS[place[2]] + place[3], page)


if __name__ == "__main__":
    before = PAGE.read_text()
    if "--check" not in sys.argv:
        PAGE.write_text(updated(before))
    elif updated(before) != before:
        sys.exit(f"{PAGE} is not up to date: run python docs/diagrams.py")
