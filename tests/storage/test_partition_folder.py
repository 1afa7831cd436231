from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafpy.storage import partition_folder as folder

NAMES = st.text("abcXYZ019._-", min_size=1, max_size=249).filter(lambda name: name not in (".", ".."))


@given(NAMES, st.integers(0, 2**31 - 1))
def test_names_parse_back(topic: str, partition: int) -> None:
    name = folder.format_name(topic, partition)
    assert folder.parse_name(name) == (topic, partition)
    assert not folder.is_deleted(name)
    assert folder.parse_name(folder.deleted_name(name)) is None
    assert folder.is_deleted(folder.deleted_name(name))
    assert not folder.is_deleted(folder.stray_name(name))
    assert folder.is_stray(folder.stray_name(name))
    assert len(folder.deleted_name(name)) <= 255


@pytest.mark.parametrize(
    "name", ["t", "t-", "-0", "t-01", "t-x", "t--", "t-4294967296", "a b-0", "t-0.", "..-0", "kafpy.sqlite"]
)
def test_other_names_are_no_partitions(name: str) -> None:
    assert folder.parse_name(name) is None


def test_the_topic_id_is_kept_as_kafka_writes_it(tmp_path: Path) -> None:
    topic_id = bytes(range(16))
    assert folder.read_topic_id(tmp_path) is None
    folder.write_topic_id(tmp_path, topic_id)
    assert (tmp_path / "partition.metadata").read_bytes() == b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw"
    assert folder.read_topic_id(tmp_path) == topic_id


@pytest.mark.parametrize(
    "data", [b"x", b"version: 1\ntopic_id: AAECAwQFBgcICQoLDA0ODw", b"version: 0\ntopic_id: AA", b"\xff"]
)
def test_a_damaged_id_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "partition.metadata").write_bytes(data)
    with pytest.raises(folder.PartitionMetadataError):
        folder.read_topic_id(tmp_path)
