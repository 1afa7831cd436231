"""What the pages tell people to type works: every fenced `sh` and `python` block, each page with a broker of its own.

A block may use what an earlier one of its page made, in the broker or in the folder. What holds tests is run by pytest.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.broker_process import BrokerProcess

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "examples").glob("*/*.md"))]
TOOLS = ("kcat", "curl", "jq")
"""That a machine may lack."""
TIMEOUT_S = 500

pytestmark = pytest.mark.timeout(TIMEOUT_S + 100)


class Block(NamedTuple):
    page: Path
    line: int
    language: str
    text: str

    @property
    def command(self) -> list[str]:
        if self.language == "sh":
            return ["bash", "-euo", "pipefail", "-c", self.text]
        if "\ndef test_" in self.text:
            return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_page.py"]
        return [sys.executable, "-c", self.text]


def blocks() -> list[Block]:
    found = []
    for page in PAGES:
        text = page.read_text()
        for match in re.finditer(r"^```(sh|python)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            found.append(Block(page, text.count("\n", 0, match.start()) + 2, match[1], match[2]))
    return found


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Path, BrokerProcess]]:
    started: dict[Path, BrokerProcess] = {}
    for page in {block.page for block in blocks()}:
        folder = tmp_path_factory.mktemp(page.stem)
        shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__", ".*"))
        started[page] = BrokerProcess(folder / "data")
    yield started
    for each in started.values():
        each.stop()


@pytest.mark.parametrize("block", blocks(), ids=lambda block: f"{block.page.relative_to(ROOT)}:{block.line}")
def test_it_works(block: Block, brokers: dict[Path, BrokerProcess]) -> None:
    missing = [tool for tool in TOOLS if re.search(rf"\b{tool}\b", block.text) and not shutil.which(tool)]
    if missing and block.language == "sh":
        pytest.skip(f"{', '.join(missing)} is not installed")
    broker = brokers[block.page]
    folder = broker.directory.parent
    block = block._replace(text=block.text.replace("localhost:9092", broker.bootstrap).replace(".venv/bin/", ""))
    (folder / "test_page.py").write_text(block.text)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "KAFPY_BOOTSTRAP_SERVER": broker.bootstrap,
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder / "config"),
    }
    done = subprocess.run(
        block.command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, f"{block.text}\n{done.stdout}\n{done.stderr}"


def test_the_pages_have_examples() -> None:
    assert {"README.md", "operations.md", "testing.md"} <= {block.page.name for block in blocks()}


def test_make_targets_that_pages_name_are_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        name for page in PAGES for name in re.findall(r"(?:`|^    )make ([a-z-]+)", page.read_text(), re.MULTILINE)
    }
    assert {"run", "test"} <= named <= targets
