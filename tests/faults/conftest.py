"""Brokers that die or fail at a chosen system call."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.nursery import Nursery, compile_shim


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("cc") is None and shutil.which("gcc") is None:
        pytest.skip("there is no C compiler to build the fault injector with")
    return compile_shim(tmp_path_factory.mktemp("shim"))


@pytest.fixture(scope="module")
def nursery(shim: Path) -> Iterator[Nursery]:
    nursery = Nursery(shim)
    yield nursery
    nursery.close()


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory where there is such a place: a killed process leaves the same files there as on a disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as made:
        yield Path(made)
