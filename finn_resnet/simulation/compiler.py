"""Compile a generated C++ project into a simulation executable.

Executables are kept in a cache folder, named by a hash of everything that went into them, so that
the same project with the same switches is compiled once.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import secrets
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from finn_resnet.cache_folder import cache_folder
from finn_resnet.errors import UserError
from finn_resnet.generation.project_file import PROJECT_FILE, load_project
from finn_resnet.simulation.ap_headers import find_ap_headers

EXECUTABLE = "sim"

_log = logging.getLogger(__name__)
_KEPT_EXECUTABLES = 64
_HEADER_SUFFIXES = {".hpp", ".inc", ".json"}
_DEPTH_KEY = re.compile(rb'"depth": \d+')
# What a native compiler does not see of a source: comments and pragmas of their own line.
_UNSEEN_LINE = re.compile(rb"^[ \t]*(//|#pragma HLS).*$", re.MULTILINE)
_DEPTH_IN_CPP = re.compile(rb"(FR_NAMED\(\w+, )\d+")
_BASE_FLAGS = ("-std=c++17", "-Wno-unknown-pragmas")
_UNTIMED = ("-O2",)
# Half the compilation time of -O2; a run takes a fraction of what the compilation does.
_TIMED = ("-Og",)
# Unoptimised with line numbers only: sanitised runs are short, and -O1 -g compiles 6 times longer.
_SANITISED = ("-O0", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
# The status proves that it is the compiled program that ran.
_PROBE_STATUS = 17
_PROBE = f"""static_assert(__cplusplus >= 201703L, "C++17");
int main() {{ return {_PROBE_STATUS}; }}
"""


class CompilationError(RuntimeError):
    """A generated project does not compile: a fault of the generator, or an edited source."""


def find_compiler() -> str:
    """Path of the C++ compiler: ``$CXX`` if set, else g++, else clang++.

    Raises:
        UserError: ``$CXX`` names no program, or there is no compiler at all.
    """
    chosen = os.environ.get("CXX")
    if chosen:
        found = shutil.which(chosen)
        if found is None:
            raise UserError(
                f"CXX={chosen!r} is no program on the PATH; set CXX to a C++17 compiler or unset it"
            )
        return found
    for name in ("g++", "clang++"):
        found = shutil.which(name)
        if found is not None:
            return found
    raise UserError(
        "no C++ compiler found (looked for g++ and clang++); install one or set CXX to its path"
    )


def check_compiler() -> None:
    """Make sure that the compiler makes programs of C++17.

    Raises:
        UserError: there is no compiler, or what is named as one is none.
    """
    compiler = find_compiler()
    with TemporaryDirectory() as folder:
        source, program = Path(folder, "probe.cpp"), Path(folder, "probe")
        source.write_text(_PROBE, encoding="utf-8")
        with contextlib.suppress(OSError):
            subprocess.run(
                [compiler, _BASE_FLAGS[0], str(source), "-o", str(program)], capture_output=True
            )
            if subprocess.run([program], capture_output=True).returncode == _PROBE_STATUS:
                return
    raise UserError(
        f"'{compiler}' makes no program of C++17 source; set CXX to a C++17 compiler or unset it"
    )


def compile_project(
    project_dir: str | Path,
    *,
    timed: bool = False,
    ap_int: bool = False,
    probes: bool = False,
    checked: bool = False,
    sanitise: bool = False,
) -> Path:
    """Compile the project in ``project_dir`` and return its executable, from the cache if it can.

    Args:
        project_dir: folder with project.json (docs/architecture.md, section 3).
        timed: cycle-level simulation instead of the untimed one.
        ap_int: the vendor's real integer headers instead of native integers.
        probes: record accumulators.
        checked: every narrowing is checked against the declared width; costs a tenth of the speed.
        sanitise: address and undefined-behaviour sanitisers and range checks, slower.

    Raises:
        UserError: no compiler, no ap_int headers, or a folder that cannot be read or written.
        CompilationError: the compiler refuses the project.
    """
    folder = Path(project_dir)
    project = load_project(folder)
    switches = _switches(
        timed=timed, ap_int=ap_int, probes=probes, sanitise=sanitise, checked=checked
    )
    includes = [folder.resolve(), folder.resolve() / "include"]
    sources = [folder / name for name in project.sources]
    headers = [path for path in sorted(folder.rglob("*")) if path.suffix in _HEADER_SUFFIXES]
    kept = [folder / PROJECT_FILE]
    if project.parameter_file is not None:
        kept.append(project.parameter_file)
    return _compiled(folder, [*sources, *headers], sources, switches, includes, kept)


def compile_program(text: str, project_dir: str | Path, folder: Path) -> Path:
    """Compile a small program on the headers of a project, widths checked, in ``folder``.

    Raises:
        UserError: no compiler.
        CompilationError: the compiler refuses it.
    """
    source, program = folder / "program.cpp", folder / "program"
    source.write_text(text, encoding="utf-8")
    project = Path(project_dir).resolve()
    includes = [f"-I{project}", f"-I{project / 'include'}"]
    flags = [*_BASE_FLAGS, "-O0", "-DFR_CHECKED", *includes]
    _run_compiler([find_compiler(), *flags, str(source), "-o", str(program)])
    return program


def compile_replay() -> Path:
    """Compile the program that replays recorded stream accesses (hls/simulation/replay.cpp).

    Raises:
        UserError: no compiler, or the cache folder cannot be written.
    """
    library = Path(str(files("finn_resnet.hls")))
    headers = sorted((library / "simulation").glob("*.?pp"))
    source = library / "simulation" / "replay.cpp"
    return _compiled(library, headers, [source], ["-O2", "-DFR_TIMED"], [library], [])


def compile_schedule() -> Path:
    """Compile the program that runs the timing of an RTL network (rtl/simulation/schedule.cpp).

    Raises:
        UserError: no compiler, or the cache folder cannot be written.
    """
    source = Path(str(files("finn_resnet.rtl"))) / "simulation" / "schedule.cpp"
    return _compiled(source.parent, [source], [source], ["-O2"], [], [])


def _compiled(
    folder: Path,
    inputs: Sequence[Path],
    sources: Sequence[Path],
    switches: Sequence[str],
    includes: Sequence[Path],
    kept: Sequence[Path],
) -> Path:
    """The executable of ``sources`` in the cache; files in ``kept`` are copied beside it."""
    compiler = find_compiler()
    flags = [*_BASE_FLAGS, *switches]
    target = cache_folder() / _key(folder, inputs, compiler, flags)
    executable = target / EXECUTABLE
    if executable.is_file():
        _log.debug("compiled before: %s", executable)
        os.utime(target)
        return executable
    staging = target.with_name(f"{target.name}.{secrets.token_hex(4)}")
    staging.mkdir()
    try:
        _build(compiler, [*flags, *(f"-I{path}" for path in includes)], sources, staging)
        for path in kept:
            shutil.copyfile(path, staging / path.name)
        _move(staging, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    _forget_old_executables(target.parent)
    return executable


def _switches(
    *, timed: bool, ap_int: bool, probes: bool, sanitise: bool, checked: bool
) -> list[str]:
    switches = list(_SANITISED if sanitise else _TIMED if timed else _UNTIMED)
    if checked or sanitise:
        switches.append("-DFR_CHECKED")
    if timed:
        switches.append("-DFR_TIMED")
    if probes:
        switches.append("-DFR_PROBES")
    if ap_int:
        switches += ["-DFR_USE_AP_INT", f"-isystem{find_ap_headers()}"]
    return switches


def _key(folder: Path, inputs: Sequence[Path], compiler: str, flags: Sequence[str]) -> str:
    """Hash of all sources, the switches and the compiler; not of where the project lies."""
    digest = hashlib.sha256(repr([compiler, _version(compiler), *flags]).encode())
    for path in inputs:
        content = _without_depths(path)
        digest.update(f"{path.relative_to(folder)} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:32]


def _without_depths(path: Path) -> bytes:
    """Content of a source without stream depths: a run takes those from project.json.

    So a design whose streams were sized needs no second compilation. Depths also change a comment,
    pragmas, and where lines are wrapped.
    """
    content = path.read_bytes()
    if path.name == PROJECT_FILE:
        return _DEPTH_KEY.sub(b"", content)
    if path.suffix != ".cpp":
        return content
    words = b" ".join(_UNSEEN_LINE.sub(b"", content).split())
    return _DEPTH_IN_CPP.sub(rb"\1", words.replace(b"( ", b"(").replace(b"< ", b"<"))


@lru_cache(maxsize=8)
def _version(compiler: str) -> str:
    done = subprocess.run(
        [compiler, "--version"], capture_output=True, text=True, errors="replace", check=False
    )
    return done.stdout


def _build(compiler: str, flags: Sequence[str], sources: Sequence[Path], folder: Path) -> None:
    """Compile every source, as many at a time as there are cores, and link."""
    objects = [folder / f"{source.stem}.o" for source in sources]
    commands = [
        [compiler, *flags, "-c", str(source), "-o", str(target)]
        for source, target in zip(sources, objects, strict=True)
    ]
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        for _ in pool.map(_run_compiler, commands):
            pass
    _run_compiler([compiler, *flags, *map(str, objects), "-o", str(folder / EXECUTABLE)])
    for path in objects:
        path.unlink()


def _run_compiler(command: list[str]) -> None:
    _log.debug("%s", shlex.join(command))
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode == 0:
        return
    errors = [line for line in done.stderr.splitlines() if "error" in line]
    reason = errors[0] if errors else done.stderr.strip()[:400]
    raise CompilationError(f"the C++ does not compile: {reason}")


def _move(staging: Path, target: Path) -> None:
    try:
        staging.rename(target)
    except OSError:
        # Another process compiled the same project meanwhile; its result is as good.
        if not (target / EXECUTABLE).is_file():
            raise


def _forget_old_executables(cache: Path) -> None:
    """Keep the executables used last; the cache must not grow without end."""
    entries = [path for path in cache.iterdir() if (path / EXECUTABLE).is_file()]
    entries.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in entries[_KEPT_EXECUTABLES:]:
        shutil.rmtree(path, ignore_errors=True)
