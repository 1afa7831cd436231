"""Histograms of request times: which bucket counts what, and that planes and logs count what happens."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kafpy._core import times
from kafpy.protocol import api
from tests.core.logs import make_batch
from tests.core.served import fetch_frame, serving, until

OFFSET_OUT_OF_RANGE = 1


def test_buckets_follow_each_other() -> None:
    bounds = times.bounds()
    assert bounds[:10] == [1, 2, 3, 4, 5, 6, 7, 8, 10, 12]
    assert bounds == sorted(set(bounds))


@given(st.integers(0, 2**40))
def test_a_request_is_in_the_first_bucket_whose_bound_is_above_it(us: int) -> None:
    bounds = times.bounds()
    above = [index for index, bound in enumerate(bounds) if bound > us]
    assert times.bucket_of(us) == (above[0] if above else len(bounds) - 1)


@given(st.integers(4, 2**26))
def test_a_bucket_is_a_quarter_wide(us: int) -> None:
    assert us < times.bounds()[times.bucket_of(us)] <= us * 1.25 + 1


def test_planes_time_requests_and_logs_count_what_they_do(tmp_path: Path) -> None:
    with serving(tmp_path, count=2, planes=2) as served, served.client() as client:
        first = make_batch(3)
        for _ in range(2):
            assert client.produce(first).error_code == 0
        size = len(client.fetch_one(0).records)
        assert client.fetch_one(99).error_code == OFFSET_OUT_OF_RANGE
        assert client.produce(b"rubbish").error_code
        until(lambda: sum(map(len_of, served.planes.request_times().values())) == 5)
        measured = served.planes.request_times()
        assert {key: len_of(each) for key, each in measured.items()} == {api.PRODUCE.key: 3, api.FETCH.key: 2}
        assert all(total_us >= 0 for total_us, _ in measured.values())
        assert served.logs[0].counters() == (2, 6, 2 * len(first), 2, size)
        assert served.logs[1].counters() == (0, 0, 0, 0, 0)
        statistics = served.planes.statistics()
        assert (statistics["failed_produces"], statistics["failed_fetches"]) == (1, 1)
        assert len(served.planes.cpu_ns()) == 2
        until(lambda: all(served.planes.cpu_ns()))  # a plane without clients may not have been run yet
    assert served.planes.cpu_ns() == []


def len_of(timed: tuple[int, list[int]]) -> int:
    return sum(timed[1])


def test_a_fetch_that_waits_is_as_long_as_its_wait(tmp_path: Path) -> None:
    with serving(tmp_path) as served, served.client() as client:
        client.send(fetch_frame({0: 0}, max_wait_ms=60))
        client.receive()
        until(lambda: api.FETCH.key in served.planes.request_times())
        total_us, buckets = served.planes.request_times()[api.FETCH.key]
        assert total_us >= 60_000
        assert buckets[times.bucket_of(total_us)] == 1
