from pathlib import Path

import pytest

from kafpy.broker.listeners import Listener
from kafpy.broker.setting_types import LONG_MAX, SettingError
from kafpy.broker.settings import Given, Settings, load, read_file

KAFKA_SAMPLE = """
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=2
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""


def given(**keys: str) -> list[Given]:
    return [Given(name.replace("_", "."), text, "--override") for name, text in keys.items()]


def test_defaults_are_kafkas() -> None:
    settings, warnings = load([])
    assert warnings == []
    assert settings.num_partitions == 1
    assert settings.message_max_bytes == 1048588
    assert settings.segment_ms == 168 * 3600 * 1000
    assert settings.log_flush_interval_messages == LONG_MAX
    assert settings.directories == (Path("/tmp/kafka-logs"),)
    assert settings.client_listeners() == [Listener("PLAINTEXT", "127.0.0.1", 9092)]
    assert settings.advertised() == {}


def test_kafkas_own_sample_file_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text(KAFKA_SAMPLE)
    settings, warnings = load(read_file(path))
    assert settings.client_listeners() == [Listener("PLAINTEXT", "", 9092)]
    assert settings.advertised() == {"PLAINTEXT": Listener("PLAINTEXT", "localhost", 9092)}
    assert settings.num_network_threads == 3
    assert any(each.startswith(f"{path}:2: process.roles has no effect: ") for each in warnings)
    assert not any("listener" in warning and "inter.broker" not in warning for warning in warnings)


def test_later_ones_and_stronger_synonyms_win() -> None:
    settings, _ = load(given(log_roll_ms="5", log_roll_hours="1", log_dir="/a", log_dirs="/b, /c", broker_id="7"))
    assert settings.segment_ms == 5
    assert settings.directories == (Path("/b"), Path("/c"))
    assert settings.node_id == 7
    settings, _ = load([*given(node_id="3"), *given(broker_id="7")])
    assert settings.node_id == 3
    settings, _ = load([Given("num.partitions", "2", "f:1"), Given("num.partitions", "4", "--override")])
    assert settings.num_partitions == 4


def test_an_unknown_key_names_its_place_and_the_nearest(tmp_path: Path) -> None:
    path = tmp_path / "s.properties"
    path.write_text("# x\nnum.partitons=3\n")
    with pytest.raises(SettingError) as caught:
        load(read_file(path))
    assert str(caught.value) == f"{path}:2: unknown key 'num.partitons'; did you mean 'num.partitions'?"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("num.partitions", "0", "Value must be at least 1"),
        ("num.partitions", "1_0", "Not a number of type INT"),
        ("num.partitions", "4294967296", "no more than 2147483647"),
        ("num.partitions", "9" * 30, "Not a number of type INT"),
        ("log.segment.bytes", "1024", "Value must be at least 1048576"),
        ("auto.create.topics.enable", "yes", "either true or false"),
        ("compression.type", "brotli", "String must be one of: uncompressed"),
        ("compression.gzip.level", "0", "-1 or 1 to 9"),
        ("log.cleanup.policy", "delete,shrink", "must be one of: compact, delete"),
        ("listeners", "localhost:9092", "is not NAME://HOST:PORT"),
        ("listeners", "SSL://:9093", "serves PLAINTEXT only"),
        ("listeners", "", "names no listener"),
        ("listeners", "PLAINTEXT://:1,PLAINTEXT://:2", "stands twice"),
        ("advertised.listeners", "PLAINTEXT://0.0.0.0:9092", "nonroutable"),
        ("log.dirs", "/a/b,/a/c,/a/x/../b", r"/a/x/\.\./b stands twice in log.dirs"),
    ],
)
def test_values_are_checked(name: str, text: str, said: str) -> None:
    with pytest.raises(SettingError, match=said) as caught:
        load([Given(name, text, "f:9")])
    assert str(caught.value).startswith("f:9: ")


def test_ipv6_listener() -> None:
    settings = Settings(listeners="plaintext://[::1]:0")
    assert settings.client_listeners() == [Listener("PLAINTEXT", "::1", 0)]


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="cannot read"):
        read_file(tmp_path / "none")
