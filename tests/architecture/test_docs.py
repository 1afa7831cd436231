"""Pages that are drawn from code are up to date."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_diagrams() -> None:
    done = subprocess.run([sys.executable, "docs/diagrams.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
