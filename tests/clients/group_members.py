"""A consumer group under test: its members, what they have said, and records that keep coming to its topic."""

import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from kafpy.protocol import api
from tests.broker_process import BrokerProcess
from tests.clients.group_checker import Checker
from tests.clients.member import Event, Settings, ThreadMember, read_event, to_json
from tests.clients.raw import RawClient, batch_of, produce_request

PARTITIONS = 12
TIMEOUT_S = 90
PACE_S = 0.02


class Feeder:
    """One record to every partition, again and again, while it is on."""

    def __init__(self, broker: BrokerProcess, topic: str) -> None:
        self._broker = broker
        self._topic = topic
        self.sent = 0
        """Records in every partition that the broker has acknowledged."""
        self.resume()

    def resume(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def pause(self) -> None:
        """Until resume(): the broker may go away."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        request = produce_request(self._topic, {index: batch_of([b"fed"]) for index in range(PARTITIONS)})
        with RawClient(self._broker.host, self._broker.port) as client:
            while not self._stop.wait(PACE_S):
                answer = client.call(api.PRODUCE, 9, request).responses[0]
                assert {each.error_code for each in answer.partition_responses} == {0}
                self.sent += 1


class ProcessMember:
    """It can be killed."""

    def __init__(self, settings: Settings, emit: Callable[[Event], None]) -> None:
        self.settings = settings
        self._emit = emit
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.clients.member", to_json(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event = read_event(line)
            if event is not None:
                self._emit(event)

    def ask_to_leave(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()

    def join(self, timeout_s: float) -> None:
        self._process.wait(timeout_s)
        self._reader.join(timeout_s)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def kill(self) -> None:
        self._process.kill()
        self.ask_to_leave()
        self.join(TIMEOUT_S)
        self._emit(Event(time.monotonic(), self.settings.name, "killed", {}))


class Group:
    """Checked when the test is done with it: nobody may have broken a rule."""

    def __init__(self, broker: BrokerProcess, group: str, topic: str, feeder: Feeder) -> None:
        self.broker, self.name, self.topic = broker, group, topic
        self.events: list[Event] = []
        self.feeder = feeder
        self._members: dict[str, Any] = {}
        self._owned: dict[str, set[int]] = defaultdict(set)
        self._ends: dict[int, int] = defaultdict(int)
        self._news = threading.Condition()

    def __enter__(self) -> "Group":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if kind is None:
            self.caught_up()
        for each in self._members.values():
            each.ask_to_leave()
        for each in self._members.values():
            each.join(TIMEOUT_S)
        if kind is None:
            assert not self.failures
            self.check()

    # ---- members

    def join(self, name: str, client: str, *, process: bool = False, **more: Any) -> None:
        settings = Settings(name, client, self.broker.bootstrap, self.name, self.topic, **more)
        self._members[name] = (ProcessMember if process else ThreadMember)(settings, self._heard)

    def leave(self, *names: str) -> None:
        for name in names:
            self._members[name].ask_to_leave()
        for name in names:
            self._members.pop(name).join(TIMEOUT_S)

    def kill(self, name: str) -> None:
        self._members.pop(name).kill()

    def _heard(self, event: Event) -> None:
        with self._news:
            self.events.append(event)
            owned = self._owned[event.member]
            if event.kind == "assigned":
                owned.update(event.partitions)
            elif event.kind in ("revoked", "lost"):
                owned.difference_update(event.partitions)
            elif event.kind in ("left", "killed", "failed"):
                owned.clear()
            elif event.kind == "consumed":
                for partition, offsets in event.partitions.items():
                    self._ends[partition] = max(self._ends[partition], offsets[-1] + 1)
            self._news.notify_all()

    # ---- waiting

    def until(self, what: str, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        with self._news:
            while not holds():
                assert not self.failures, self.failures[0].detail
                left = deadline - time.monotonic()
                assert left > 0, f"{what}: {self.owned()}, read {dict(self._ends)}, last {self.events[-20:]}"
                self._news.wait(left)

    def settled(self, *names: str, even: bool = True) -> None:
        """These members and nobody else own all partitions, and read on from there."""

        def holds() -> bool:
            owned = self.owned()
            sizes = [len(each) for each in owned.values()]
            return (
                owned.keys() == set(names)
                and sorted(each for some in owned.values() for each in some) == list(range(PARTITIONS))
                and (not even or max(sizes) - min(sizes) <= 1)
            )

        self.until(f"settled among {names}", holds)
        self.caught_up()

    def caught_up(self) -> None:
        """All is read that was in the topic when this was called, and something of each partition."""
        wanted = max(self.feeder.sent, 1)
        self.until(f"read {wanted}", lambda: all(self._ends[each] >= wanted for each in range(PARTITIONS)))

    # ---- what was said

    def owned(self) -> dict[str, set[int]]:
        return {name: set(some) for name, some in self._owned.items() if some}

    @property
    def failures(self) -> list[Event]:
        return [each for each in self.events if each.kind == "failed"]

    def said(self, kinds: Iterable[str], *, since: int = 0, by: str | None = None) -> list[Event]:
        kinds = set(kinds)
        return [each for each in self.events[since:] if each.kind in kinds and by in (None, each.member)]

    def check(self) -> Checker:
        checker = Checker()
        checker.check(self.events)
        return checker
