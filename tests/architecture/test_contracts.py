"""The house rules that a machine can check: who may import whom, and how long a file or a function may be."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("kafpy", "core", "replication", "spark_source", "tests", "bench", "ci")
SOURCES = (".py", ".pyx", ".pxi", ".pxd", ".pyi", ".c", ".h")
FILE_LINES = 600
FUNCTION_LINES = 80


def sources(*endings: str) -> Iterator[Path]:
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*")):
            if path.suffix in endings:
                yield path


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_imports_keep_the_contracts() -> None:
    lint_imports = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([lint_imports], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_file_is_too_long() -> None:
    long = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in sources(*SOURCES)}
    assert {name: lines for name, lines in long.items() if lines > FILE_LINES} == {}


def test_no_function_is_too_long() -> None:
    long = {}
    for path in sources(".py"):
        for function in functions(ast.parse(path.read_text())):
            lines = (function.end_lineno or 0) - function.lineno + 1
            if lines > FUNCTION_LINES:
                long[f"{path.relative_to(ROOT)}:{function.name}"] = lines
    assert long == {}
