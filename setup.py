"""Maps core/*.pyx to the extensions kafpy._core.*; everything else about the build stands in pyproject.toml.

KAFPY_SANITIZE=address|thread builds with that sanitizer; KAFPY_DEFINES="A B" passes -DA -DB (ci/tsan uses it to prove
that it looks).
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

sanitizer = os.environ.get("KAFPY_SANITIZE", "")
flags = [f"-fsanitize={sanitizer}", "-O1", "-g", "-fno-omit-frame-pointer"] if sanitizer else ["-O3"]
defines = [f"-D{name}" for name in os.environ.get("KAFPY_DEFINES", "").split()]
headers = sorted(str(path) for path in Path("core/c").glob("*.h"))


build_dir = Path(f"build/cython{'-' + sanitizer if sanitizer else ''}")
for declared in Path("kafpy/_core").glob("*.pxd"):
    made = build_dir / "core" / f"{declared.stem}.c"
    if made.exists() and made.stat().st_mtime < declared.stat().st_mtime:
        made.unlink()  # Cython does not see that a module's own .pxd changed when that lies in another folder


def native(source: Path) -> Extension:
    return Extension(
        f"kafpy._core.{source.stem}",
        [str(source)],
        include_dirs=["core/c"],
        depends=headers,
        extra_compile_args=[*flags, *defines, "-std=gnu11", "-Wall", "-Wno-unused-function"],
        extra_link_args=[f"-fsanitize={sanitizer}"] if sanitizer else [],
        define_macros=[("_GNU_SOURCE", "1")],
        libraries=["pthread"],
    )


setup(
    ext_modules=cythonize(
        [native(source) for source in sorted(Path("core").glob("*.pyx"))],
        build_dir=str(build_dir),
        nthreads=2,
        compiler_directives={
            "language_level": 3,
            "binding": True,
            "boundscheck": False,
            "wraparound": False,
            "cdivision": True,
            "embedsignature": False,
        },
    )
)
