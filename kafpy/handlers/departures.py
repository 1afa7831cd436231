"""Why members are gone, in the message of a group's description that has no error: clients do not read it there, people
who ask what happened do.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

from kafpy.coordinator.group.departures import Departure


def departures_text(departures: Iterable[Departure]) -> str | None:
    """A line for each, the oldest first."""
    lines = [
        f"{datetime.fromtimestamp(each.at_ms / 1000, UTC):%Y-%m-%dT%H:%M:%SZ} {_name(each)} {each.reason}"
        for each in departures
    ]
    return "\n".join(["Members that are gone:", *lines]) if lines else None


def _name(departure: Departure) -> str:
    static = f", instance {departure.group_instance_id}" if departure.group_instance_id is not None else ""
    return f"{departure.member_id} ({departure.client_host}{static}):"
