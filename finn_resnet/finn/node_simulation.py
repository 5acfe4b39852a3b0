"""Compile and run the C++ of a single node on words of codes."""

from __future__ import annotations

import subprocess
import tempfile
from importlib.resources import files
from math import prod
from pathlib import Path

import numpy as np
from qonnx.core.datatype import BaseDataType

from finn_resnet.custom_ops.streams import Stream
from finn_resnet.finn.node_code import NodePort
from finn_resnet.generation.templates import library_folder
from finn_resnet.simulation.ap_headers import find_ap_headers
from finn_resnet.simulation.compiler import CompilationError, find_compiler
from finn_resnet.simulation.runner import SimulationError

_BENCH = """#include "top_{name}.cpp"

#include <cstdlib>
#include <exception>

#include "word_file.hpp"

int main(int, char** argv) {{
  try {{
    char** path = argv + 2;
{open}
    for (int frame = 0; frame < std::atoi(argv[1]); ++frame) {{
{feed}
      {name}({arguments});
{drain}
    }}
  }} catch (const std::exception& fault) {{
    std::fprintf(stderr, "error: %s\\n", fault.what());
    return 1;
  }}
}}
"""


def include_folders() -> list[Path]:
    """Folders of the C++ library and of FINN's side of it."""
    return [library_folder(), Path(str(files("finn_resnet.finn"))) / "include"]


def compile_node(folder: Path, name: str, ports: list[NodePort]) -> Path:
    """Compile ``top_<name>.cpp`` in ``folder`` with a test bench and return the executable.

    Args:
        folder: holds the source and its weights.
        name: of the node and its function.
        ports: the function's streams in its order.

    Raises:
        UserError: no compiler, or no ap_int headers.
        CompilationError: the compiler refuses the source.
    """
    bench = folder / "bench.cpp"
    bench.write_text(_bench(name, ports), encoding="utf-8")
    executable = folder / "node_model"
    includes = [f"-I{path}" for path in [folder, *include_folders()]]
    command = [find_compiler(), "-std=c++17", "-O1", "-Wno-unknown-pragmas", "-DFR_USE_AP_INT"]
    command += [*includes, f"-isystem{find_ap_headers()}", str(bench), "-o", str(executable)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        raise CompilationError(f"node {name} does not compile: {(errors or ['no message'])[0]}")
    return executable


def _bench(name: str, ports: list[NodePort]) -> str:
    opened, fed, drained = [], [], []
    for port in ports:
        file, stream = port.name, f"{port.name}_V"
        mode = "rb" if port.is_input else "wb"
        opened.append(f'    fr::sim::WordFile {file}(*path++, "{mode}");')
        opened.append(f"    fr::stream<ap_uint<{port.bits}>> {stream};")
        if port.is_input:
            fed.append(f"      {file}.feed({port.words}, {stream});")
            drained.append(f"      {file}.demand_empty({stream});")
        else:
            drained.append(f"      {file}.drain({port.words}, {stream});")
    return _BENCH.format(
        name=name,
        open="\n".join(opened),
        feed="\n".join(fed),
        drain="\n".join(drained),
        arguments=", ".join(f"{port.name}_V" for port in ports),
    )


def run_node(
    executable: Path,
    frames: int,
    inputs: list[tuple[np.ndarray, BaseDataType]],
    outputs: list[tuple[Stream, BaseDataType]],
) -> list[np.ndarray]:
    """Run frames through a node.

    Args:
        executable: from `compile_node`.
        frames: number of frames; a parameter stream's words are the same in each.
        inputs: words ``[N, *words, entries]`` of every input stream and the type of their codes.
        outputs: the output streams and the types of their codes.

    Returns:
        int64 codes of every output tensor.

    Raises:
        SimulationError: the node read or wrote another number of words than it should.
    """
    with tempfile.TemporaryDirectory(prefix="finn_resnet_") as scratch:
        paths = []
        for index, (words, dtype) in enumerate(inputs):
            paths.append(Path(scratch) / f"in{index}")
            repeated = np.broadcast_to(words, (frames, *words.shape[1:]))
            paths[-1].write_bytes(_packed(repeated, dtype.bitwidth()))
        targets = [Path(scratch) / f"out{index}" for index in range(len(outputs))]
        command = [str(executable), str(frames), *map(str, [*paths, *targets])]
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False
        )
        if done.returncode:
            raise SimulationError(done.stderr.strip() or f"{executable} failed")
        return [
            stream.unfold(
                _unpacked(path.read_bytes(), (frames, *stream.words, stream.entries), dtype)
            )
            for path, (stream, dtype) in zip(targets, outputs, strict=True)
        ]


def _packed(words: np.ndarray, bits: int) -> bytes:
    """Codes as words of whole bytes: first code lowest, two's complement, little-endian."""
    rows = words.reshape(-1, words.shape[-1]).astype(np.int64)
    places = (rows[:, :, None] >> np.arange(bits)) & 1
    flat = places.reshape(len(rows), -1).astype(np.uint8)
    return np.packbits(flat, axis=1, bitorder="little").tobytes()


def _unpacked(data: bytes, shape: tuple[int, ...], dtype: BaseDataType) -> np.ndarray:
    """Inverse of `_packed`: int64 codes of the given shape."""
    bits, entries = dtype.bitwidth(), shape[-1]
    rows = np.frombuffer(data, np.uint8).reshape(prod(shape[:-1]), -1)
    places = np.unpackbits(rows, axis=1, bitorder="little", count=entries * bits)
    weights = np.left_shift(np.int64(1), np.arange(bits, dtype=np.int64))
    if dtype.signed():
        weights[-1] = -weights[-1]
    return (places.reshape(-1, bits).astype(np.int64) @ weights).reshape(shape)
