"""A log against a list of batches: whatever is done to it in whatever order, both hold the same."""

import shutil
import tempfile

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kafpy._core import batch
from kafpy._core.log import Log
from kafpy._core.runtime import Runtime
from tests.core.logs import NOW, kill, make_batch


class LogMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runtime = Runtime()
        self.folder = tempfile.mkdtemp()
        self.model: list[tuple[int, int, bytes]] = []  # first offset, offset behind the last, bytes as stored

    @initialize(
        segment_bytes=st.sampled_from([300, 1000, 1 << 20]),
        interval=st.sampled_from([0, 200, 1 << 20]),
        flush_messages=st.sampled_from([1, 5, 1 << 60]),
    )
    def make(self, segment_bytes: int, interval: int, flush_messages: int) -> None:
        self.settings = {
            "segment_bytes": segment_bytes,
            "index_interval_bytes": interval,
            "flush_messages": flush_messages,
        }
        self.log = Log(self.runtime, self.folder, **self.settings)

    @property
    def end(self) -> int:
        return self.model[-1][1] if self.model else 0

    @rule(count=st.integers(1, 5), size=st.integers(0, 150), step=st.integers(0, 1000))
    def append(self, count: int, size: int, step: int) -> None:
        data = bytearray(make_batch(count, timestamp=NOW + step, value=b"x" * size))
        error, base, _ = self.log.append(bytes(data))
        assert (error, base) == (0, self.end)
        batch.stamp(data, base, 0)
        self.model.append((base, base + count, bytes(data)))

    @rule(offset=st.integers(0, 200), size=st.sampled_from([1, 100, 400, 1 << 20]))
    def read(self, offset: int, size: int) -> None:
        self.runtime.settle()
        if offset > self.end:
            return
        expected = b"".join(stored for _, end, stored in self.model if end > offset)
        got = self.log.read(offset, size)
        assert expected.startswith(got)
        assert bool(got) == (offset < self.end)
        if got:
            first = batch.header(got).size
            assert len(got) >= first
            assert len(got) <= max(first, size)

    @rule(step=st.integers(0, 1001))
    def look_up_time(self, step: int) -> None:
        wanted = NOW + step
        expected = next((s for _, _, s in self.model if batch.header(s).max_timestamp >= wanted), None)
        assert self.log.batch_for_time(wanted) == expected

    @rule(offset=st.integers(0, 200))
    def truncate(self, offset: int) -> None:
        self.log.truncate(offset)
        self.model = [each for each in self.model if each[1] <= offset or offset >= self.end]

    @rule()
    def flush(self) -> None:
        self.log.flush()
        assert self.log.recovery_point == self.end

    @rule()
    def reopen(self) -> None:
        self.log.close()
        self.log = Log(self.runtime, self.folder, clean=True, **self.settings)

    @rule(trust=st.booleans())
    def reopen_after_a_kill(self, trust: bool) -> None:
        point = self.log.recovery_point if trust else 0
        kill(self.log)
        self.log = Log(self.runtime, self.folder, recovery_point=point, **self.settings)

    @invariant()
    def same(self) -> None:
        if hasattr(self, "log"):
            assert self.log.log_end_offset == self.end
            assert self.log.size == sum(len(stored) for _, _, stored in self.model)
            assert not self.log.offline

    def teardown(self) -> None:
        if hasattr(self, "log"):
            self.log.close()
        self.runtime.close()
        shutil.rmtree(self.folder)


TestLogMachine = LogMachine.TestCase
TestLogMachine.settings = settings(max_examples=min(settings.default.max_examples, 40), stateful_step_count=40)
