"""Finding a clang and compiling a task unit to optimised IR."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from finn_resnet.errors import UserError

VARIABLE = "FINN_RESNET_CLANG"
"""Environment variable that names the clang to use."""

OLDEST, NEWEST = 14, 18
"""Major versions whose IR is understood: `_BitInt` below, typed addresses of arrays above."""

_FLAGS = (
    *("-std=c++17", "-O2", "-g0", "-S", "-emit-llvm", "-D__SYNTHESIS__", "-DNDEBUG"),
    *("-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-fno-discard-value-names"),
    # Loops stay as they are written, but for those the sources unroll.
    *("-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops", "-fno-jump-tables"),
    *("-mllvm", "-disable-loop-idiom-all", "-mllvm", "-inline-threshold=10000000"),
    # Exits of a loop are not threaded through copies of its body, which would have no trip count.
    *("-mllvm", "-jump-threading-threshold=1"),
    *("-Wno-unknown-pragmas", "-Wno-bit-int-extension", "-Wno-unknown-warning-option"),
)


@cache
def find_clang() -> tuple[str, ...] | None:
    """Command of a suitable clang: $FINN_RESNET_CLANG, one on the PATH, or the wheel ziglang's."""
    named = os.environ.get(VARIABLE)
    if named:
        if _version((named,)) is None:
            raise UserError(f"{VARIABLE} = {named!r} is no clang {OLDEST} to {NEWEST}")
        return (named,)
    names = [f"clang++-{version}" for version in range(OLDEST, NEWEST + 1)]
    names += [f"clang-{version}" for version in range(OLDEST, NEWEST + 1)]
    for name in [*names, "clang++", "clang"]:
        if shutil.which(name) and _version((name,)):
            return (name,)
    spec = importlib.util.find_spec("ziglang")
    if spec and spec.submodule_search_locations:
        zig = Path(spec.submodule_search_locations[0]) / "zig"
        command = (str(zig), "c++", "-target", "x86_64-linux-gnu")
        if zig.exists() and _version(command):
            return command
    return None


def no_clang_reason() -> str:
    """Why there is nothing to check with, and what to do."""
    return (
        f"no clang {OLDEST} to {NEWEST} found: install one (Debian: clang-14; PyPI: ziglang 0.13) "
        f"or name it in {VARIABLE}"
    )


def _version(command: tuple[str, ...]) -> int | None:
    """Major version of a clang, None if it is none or not one of ours."""
    try:
        found = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, encoding="utf-8", check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    match = re.search(r"clang version (\d+)", found.stdout)
    return int(match[1]) if match and OLDEST <= int(match[1]) <= NEWEST else None


def compile_to_ir(unit: Path) -> str:
    """Optimised LLVM IR of a task unit.

    Raises:
        UserError: there is no clang.
        ValueError: clang refuses the sources.
    """
    clang = find_clang()
    if clang is None:
        raise UserError(no_clang_reason())
    stand_ins = Path(__file__).parent / "include"
    output = unit.with_suffix(".ll")
    includes = [f"-I{folder}" for folder in (stand_ins, unit.parent, unit.parent / "include")]
    command = [*clang, *_FLAGS, *includes, str(unit), "-o", str(output)]
    done = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", cwd=unit.parent
    )
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        raise ValueError(f"clang refuses the sources: {(errors or [done.stderr])[0]}")
    return output.read_text(encoding="utf-8")
