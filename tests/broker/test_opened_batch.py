from collections.abc import Callable

import pytest

from kafpy._core import batch
from kafpy.broker.opened_batch import Refused, open_batch
from kafpy.broker.topic_config import Opening
from kafpy.storage.compression import CODECS, GZIP, NONE, ZSTD, compress, decompress

VALIDATE = Opening(None, 0, True, False)
NAMES = [name for name in CODECS if name != "none"]


def encode(codec: int, values: list[bytes | None], keys: list[bytes | None] | None = None, **more: int) -> bytes:
    packer = None if codec == NONE else lambda data: compress(codec, data)
    return batch.encode(values, keys=keys, timestamps=1000, codec=codec, compress=packer, **more)


def packed(codec: int, records: bytes, count: int) -> bytes:
    """A batch with a right CRC around a payload of one's choice."""
    header = batch.header(encode(NONE, [b"x"] * count))
    return batch.rebuild(header, codec, records)


def refusal(data: bytes, opening: Opening = VALIDATE) -> int:
    with pytest.raises(Refused) as caught:
        open_batch(data, opening, 9)
    return caught.value.code


@pytest.mark.parametrize("name", NAMES)
def test_sound_batches_stay_as_they_are(name: str) -> None:
    assert open_batch(encode(CODECS[name], [b"a", None, b"c" * 5000]), VALIDATE, 9) is None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "payload", [b"", b"garbage that is no codec's at all", bytes(100)], ids=["empty", "garbage", "zeros"]
)
def test_what_is_not_of_its_codec_is_87(name: str, payload: bytes) -> None:
    assert refusal(packed(CODECS[name], payload, 1)) == 87


@pytest.mark.parametrize("name", NAMES)
def test_lying_counts_are_87(name: str) -> None:
    codec = CODECS[name]
    sound = encode(codec, [b"a", b"b"])
    records = decompress(codec, sound[61:], 1000)
    assert refusal(packed(codec, compress(codec, records), 3)) == 87
    assert refusal(packed(codec, compress(codec, records + b"\0"), 2)) == 87
    assert refusal(packed(codec, compress(codec, records[:-1]), 2)) == 87


@pytest.mark.parametrize("name", NAMES)
def test_a_bomb_is_10(name: str) -> None:
    assert refusal(packed(CODECS[name], compress(CODECS[name], bytes(65 << 20)), 1)) == 10


def test_keys_are_seen() -> None:
    compacted = Opening(None, 0, False, True)
    assert open_batch(encode(GZIP, [b"v"], [b"k"]), compacted, 9) is None
    assert refusal(encode(GZIP, [b"v", b"w"], [b"k", None]), compacted) == 87


@pytest.mark.parametrize("source", CODECS)
@pytest.mark.parametrize("target", CODECS)
def test_recompression_keeps_everything_else(source: str, target: str) -> None:
    values: list[bytes | None] = [b"v%d" % number for number in range(100)]
    given = encode(CODECS[source], values, producer_id=7, producer_epoch=1, base_sequence=5)
    made = open_batch(given, Opening(target, 3, False, False), 9)
    if source == target:
        assert made is None
        return
    assert made is not None
    assert batch.intact(made)
    before, after = batch.header(given), batch.header(made)
    assert after.codec == CODECS[target]
    assert (after.producer_id, after.base_sequence, after.record_count) == (7, 5, 100)
    assert (after.base_timestamp, after.max_timestamp) == (before.base_timestamp, before.max_timestamp)
    plain: Callable[[bytes], bytes] = lambda data: decompress(batch.header(data).codec, data[61:], 1 << 20)  # noqa: E731
    assert plain(made) == plain(given)


def test_what_the_plane_refuses_anyway_is_left_to_it() -> None:
    torn = bytearray(encode(GZIP, [b"a"]))
    torn[-1] ^= 1
    for data in (b"", b"short", bytes(100), bytes(torn), encode(GZIP, [b"a"]) + b"x"):
        assert open_batch(data, VALIDATE, 9) is None
    assert open_batch(packed(ZSTD, b"garbage", 1), VALIDATE, 6) is None


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_maximum_is_filled_in(name: str) -> None:
    codec = CODECS[name]
    kept = Opening(None, 0, False, False)
    sound = batch.encode(
        [b"a", b"b", b"c"], timestamps=[1000, 3000, 2000], codec=codec, compress=lambda d: compress(codec, d)
    )
    assert open_batch(sound, kept, 9) is None
    untimed = batch.rebuild(batch.header(sound)._replace(max_timestamp=-1), codec, sound[61:])
    assert open_batch(untimed, kept, 9) == sound
    assert refusal(packed(codec, b"garbage", 1)) == 87
