from pathlib import Path

import pytest

from kafpy.storage.checkpoints import CheckpointError, read, write


def test_the_bytes_are_kafkas(tmp_path: Path) -> None:
    path = tmp_path / "recovery-point-offset-checkpoint"
    write(path, {("t", 1): 77, ("t", 0): 1234, ("a.b-1", 0): 0})
    assert path.read_bytes() == b"0\n3\na.b-1 0 0\nt 0 1234\nt 1 77\n"
    assert read(path) == {("t", 1): 77, ("t", 0): 1234, ("a.b-1", 0): 0}
    assert list(tmp_path.iterdir()) == [path]
    write(path, {})
    assert path.read_bytes() == b"0\n0\n"
    assert read(path) == {}


def test_a_missing_file_is_empty(tmp_path: Path) -> None:
    assert read(tmp_path / "none") == {}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b"1\n0\n", "version '1', expected 0"),
        (b"0\n", "is not a number of entries"),
        (b"0\nx\n", "line 2: 'x' is not a number"),
        (b"0\n2\nt 0 1\n", "2 entries announced, 1 found"),
        (b"0\n1\nt 0 1\nt 1 2\n", "1 entries announced, 2 found"),
        (b"0\n1\nt 0\n", "line 3: malformed entry 't 0'"),
        (b"0\n1\nt 0 -4\n", "malformed entry"),
        (b"0\n1\nt 0 99999999999999999999\n", "malformed entry"),
        (b"\xff\xfe", "not text"),
        (b"0\n1\nt \0 1\n", "malformed"),
    ],
)
def test_a_refused_file_says_why(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "c"
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match="c: ") as caught:
        read(path)
    assert said in str(caught.value)
