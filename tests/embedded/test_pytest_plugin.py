"""The fixtures, in sessions of pytest of their own."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = "pytester"


def test_a_broker_for_each_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest

        pytestmark = pytest.mark.kafpy_broker(num_partitions=2, auto_create_topics_enable=False)
        ports = []

        @pytest.mark.kafpy_broker(num_partitions=3)
        def test_nearest_marker(kafpy_broker):
            kafpy_broker.create_topic("t")
            assert len(kafpy_broker._state.image.topics["t"].partitions) == 3
            assert not kafpy_broker._server.settings.auto_create_topics_enable
            ports.append(kafpy_broker.port)

        def test_of_the_module(kafpy_broker):
            kafpy_broker.create_topic("t")
            assert len(kafpy_broker._state.image.topics["t"].partitions) == 2
            assert kafpy_broker.records("t") == []
    """)
    pytester.runpytest_inprocess("-p", "no:benchmark").assert_outcomes(passed=2)


def test_one_for_the_session(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("""
        import pytest

        @pytest.fixture(scope="session")
        def kafpy_broker_session_settings():
            return {"num_partitions": 5}
    """)
    pytester.makepyfile("""
        def test_one(kafpy_broker_session):
            kafpy_broker_session.create_topic("t")

        def test_two(kafpy_broker_session):
            assert len(kafpy_broker_session._state.image.topics["t"].partitions) == 5
    """)
    pytester.runpytest_inprocess("-p", "no:benchmark").assert_outcomes(passed=2)


def test_what_is_wrong_with_a_marker_is_said(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest

        @pytest.mark.kafpy_broker(num_partitons=3)
        def test_misspelt(kafpy_broker): ...

        @pytest.mark.kafpy_broker(3)
        def test_without_a_name(kafpy_broker): ...
    """)
    result = pytester.runpytest_inprocess("-p", "no:benchmark", "--strict-markers")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(
        [
            "*unknown key 'num.partitons'; did you mean 'num.partitions'?*",
            "*@pytest.mark.kafpy_broker takes settings by name, not 3*",
        ]
    )


MODULE = """
import pytest
from confluent_kafka import Producer

@pytest.mark.parametrize("number", range({tests}))
def test_it(kafpy_broker, kafpy_broker_session, number):
    for broker in (kafpy_broker, kafpy_broker_session):
        producer = Producer({{"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 0}})
        producer.produce(f"t{{number}}", b"%d" % number)
        assert producer.flush(100) == 0
        assert [each.value for each in broker.records(f"t{{number}}")] == [b"%d" % number]
"""


def in_parallel(folder: Path, tests: int, workers: int) -> str:
    (folder / "test_it.py").write_text(MODULE.format(tests=tests))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", str(workers), "--rootdir", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.timeout(600)
def test_under_xdist(tmp_path: Path) -> None:
    assert "6 passed" in in_parallel(tmp_path, 6, 2)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_50_tests_in_8_processes(tmp_path: Path) -> None:
    assert "50 passed" in in_parallel(tmp_path, 50, 8)


def test_loading_it_loads_no_broker(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(): ...\n")
    (tmp_path / "conftest.py").write_text(
        "import sys\n"
        "def pytest_sessionfinish():\n"
        "    print('loaded', sorted(m for m in sys.modules if m.startswith(('kafpy', 'trio'))))\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "--rootdir", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert "loaded ['kafpy', 'kafpy.embedded', 'kafpy.embedded.pytest_plugin']" in done.stdout
