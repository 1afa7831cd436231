"""kcat as Debian ships it: an old librdkafka with old versions of every request."""

import shutil
import subprocess

import pytest

from tests.broker_process import BrokerProcess
from tests.clients.drivers import CODECS
from tests.clients.raw import RawClient, batch_of, codecs_of

pytestmark = pytest.mark.skipif(shutil.which("kcat") is None, reason="kcat is not installed (apt install kcat)")


class Kcat:
    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def run(self, *arguments: str, text: str = "") -> str:
        done = subprocess.run(
            ["kcat", "-b", self._bootstrap, *arguments],
            input=text,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def read(self, topic: str, form: str, *arguments: str) -> list[str]:
        return self.run("-C", "-t", topic, "-e", "-q", "-f", form + "\n", *arguments).splitlines()


@pytest.fixture
def kcat(broker: BrokerProcess) -> Kcat:
    return Kcat(broker.bootstrap)


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec(kcat: Kcat, raw: RawClient, topic: str, codec: str) -> None:
    lines = [f"k{number}:line {number} {'x' * 50}" for number in range(300)]
    kcat.run("-P", "-t", topic, "-K", ":", "-z", codec, text="\n".join(lines))
    assert kcat.read(topic, "%k:%s", "-o", "beginning") == lines
    assert CODECS.index(codec) in codecs_of(raw.fetch(topic).records), "the client did compress"


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_acks(kcat: Kcat, topic: str, acks: str) -> None:
    kcat.run("-P", "-t", topic, "-X", f"acks={acks}", text="a\nb\nc\n")
    assert kcat.read(topic, "%o %s", "-o", "beginning") == ["0 a", "1 b", "2 c"]


def test_an_idempotent_producer(kcat: Kcat, topic: str) -> None:
    kcat.run("-P", "-t", topic, "-X", "enable.idempotence=true", text="a\nb\nc\n")
    assert kcat.read(topic, "%o %s", "-o", "beginning") == ["0 a", "1 b", "2 c"]


def test_headers_nulls_and_times(kcat: Kcat, raw: RawClient, topic: str) -> None:
    kcat.run("-P", "-t", topic, "-Z", "-K", ":", "-H", "a=1", "-H", "b=2", text="key:\n:value\n")
    assert kcat.read(topic, "%K %S %h", "-o", "beginning") == ["3 -1 a=1,b=2", "-1 5 a=1,b=2"]
    raw.produce(topic, batch_of([b"timed"], timestamps=1_700_000_000_123))
    assert kcat.read(topic, "%T", "-o", "2") == ["1700000000123"]


def test_offsets_and_times(kcat: Kcat, raw: RawClient, topic: str) -> None:
    times = [1_700_000_000_000 + number for number in range(100)]
    raw.produce(topic, batch_of([b"%d" % number for number in range(100)], timestamps=times, codec=1))
    assert kcat.read(topic, "%s", "-o", "97") == ["97", "98", "99"]
    assert kcat.read(topic, "%s", "-o", "-2") == ["98", "99"]
    assert kcat.read(topic, "%s", "-o", "s@1700000000098") == ["98", "99"]
    assert kcat.run("-Q", "-t", f"{topic}:0:1700000000042").split() == [topic, "[0]", "offset", "42"]


def test_a_large_record_and_one_too_large(kcat: Kcat, broker: BrokerProcess, topic: str) -> None:
    kcat.run("-P", "-t", topic, "-X", "message.max.bytes=2000000", text="x" * 1_000_000)
    assert kcat.read(topic, "%S", "-o", "beginning") == ["1000000"]
    done = subprocess.run(
        ["kcat", "-b", broker.bootstrap, "-P", "-t", topic, "-X", "message.max.bytes=2000000"],
        input="x" * 1_100_000,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert "Message size too large" in done.stderr


def test_metadata_and_automatic_creation(kcat: Kcat, name: str) -> None:
    kcat.run("-P", "-t", name, text="first\n")
    listed = kcat.run("-L", "-t", name)
    assert f'topic "{name}" with 3 partitions' in listed
    assert "1 brokers" in listed
    assert kcat.read(name, "%s", "-o", "beginning") == ["first"]
