"""Every requantiser of the generated C++ against the hardware graph's, at all of its thresholds.

Pictures reach few ends of deep ranges. A requantiser is a monotone step function of an accumulator
whose exact range is known, so that equality at the ends and on both sides of every threshold is
equality everywhere (numerics/step_function.py).
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.custom_ops.stream_conv import ConvOp
from finn_resnet.numerics.ranges import Range
from finn_resnet.numerics.requantiser import Requantiser
from finn_resnet.numerics.step_function import thresholds
from finn_resnet.simulation.compiler import compile_program
from finn_resnet.simulation.runner import SimulationError
from finn_resnet.transformation.code_ranges import conv_accumulator_range, total_range
from finn_resnet.transformation.graph_edit import convolutions, hardware_ops

_PROGRAM = """#include <cstdint>
#include <cstdio>

#include "config.hpp"

template <class R>
void run(std::FILE* in, std::FILE* out) {
  std::int64_t count = 0;
  if (std::fread(&count, 8, 1, in) != 1) return;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t x[3];  // value, channel group, channel within the group
    if (std::fread(x, 8, 3, in) != 3) return;
    const auto code = R::apply(x[0], static_cast<int>(x[1]), static_cast<int>(x[2]));
    const std::int64_t y = fr::to_int64(code);
    std::fwrite(&y, 8, 1, out);
  }
}

%s

int main(int, char** argv) {
  std::FILE* in = std::fopen(argv[1], "rb");
  std::FILE* out = std::fopen(argv[2], "wb");
%s
  return std::fclose(out);
}
"""


@dataclass(frozen=True)
class RequantiserCheck:
    """A requantiser of task ``node`` (C++ type ``type_name``) over the values it can have."""

    node: str
    type_name: str
    map_: Requantiser
    inputs: Range
    channels: int
    group: int

    def points(self) -> np.ndarray:
        """[n, 3] int64: value, channel group, channel within it."""
        rows = []
        for channel in range(self.channels if self.map_.channels > 1 else 1):
            values = _ends_and_thresholds(self.map_.of_channel(channel), self.inputs)
            place = np.broadcast_to(divmod(channel, self.group), (len(values), 2))
            rows.append(np.column_stack([values, place]))
        return np.concatenate(rows).astype(np.int64)

    def expected(self, points: np.ndarray) -> np.ndarray:
        """The graph's codes at ``points``."""
        out = np.empty(len(points), np.int64)
        channels = points[:, 1] * self.group + points[:, 2]
        for channel in np.unique(channels):
            here = channels == channel
            out[here] = self.map_.of_channel(int(channel))(points[here, :1]).ravel()
        return out


def _ends_and_thresholds(map_: Requantiser, inputs: Range) -> np.ndarray:
    first, last = map_(np.array([[inputs.lo], [inputs.hi]])).ravel()
    if first > last:  # falling: the thresholds of map_(-x)
        _, steps = thresholds(lambda x: map_(-x), Range(-inputs.hi, -inputs.lo))
        steps = 1 - steps
    else:
        _, steps = thresholds(map_, inputs)
    return np.unique(np.concatenate([[inputs.lo, inputs.hi], steps, steps - 1]))


def requantiser_checks(model: ModelWrapper) -> Iterator[RequantiserCheck]:
    """Every requantiser behind an accumulator of a hardware graph that is not the identity."""
    for op in hardware_ops(model):
        if "requant" not in op.requant_attributes():
            continue
        node, conv = op.onnx_node, isinstance(op, ConvOp)
        channels, group = op.attrs("och", "och_par") if conv else op.attrs("ch", "ch_par")
        struct = f"{node.name}_config"
        found = [(f"{struct}::requant", "requant", total_range(model, node))]
        if conv and op.skip_form == "epilogue":
            range_ = conv_accumulator_range(model, node)
            found.append((f"{struct}::pre_requant", "pre_requant", range_))
        if conv and op.has_downsample:
            name = f"{node.name}_ds_config::requant"
            found.append((name, "ds_requant", conv_accumulator_range(model, node, merged=True)))
        for type_name, attribute, inputs in found:
            map_ = op.requantiser(attribute)
            if not map_.is_identity:
                yield RequantiserCheck(node.name, type_name, map_, inputs, channels, group)


def _width_assertions(model: ModelWrapper) -> Iterator[str]:
    """C++ that refuses widths of convolutions too narrow for the exact ranges of their values."""
    for op in convolutions(model):
        node = op.onnx_node
        acc, total = conv_accumulator_range(model, node), total_range(model, node)
        kept = total if op.skip_form == "accumulator" else acc
        needed = [("", "acc_bits", kept), ("", "total_bits", total)]
        if op.has_downsample:
            needed.append(("_ds", "acc_bits", conv_accumulator_range(model, node, merged=True)))
        for suffix, member, values in needed:
            # -1 makes the width that of a signed integer.
            yield _assertion(f"{node.name}{suffix}_config::{member}", values.including(-1).bits)
        for suffix, tensor in zip(("", "_ds"), node.output, strict=False):
            bits = model.get_tensor_datatype(tensor).bitwidth()
            yield _assertion(f"{node.name}{suffix}_config::out_bits", bits)


def _assertion(constant: str, bits: int) -> str:
    return f'static_assert({constant} >= {bits}, "{constant} is below {bits}");'


def compare_requantisers(
    model: ModelWrapper, project_dir: Path
) -> Iterator[tuple[RequantiserCheck, np.ndarray, np.ndarray, np.ndarray]]:
    """(requantiser, points, codes of the graph, codes of the C++) of every requantiser.

    Raises:
        CompilationError, SimulationError: the C++ was edited and is broken.
    """
    checks = list(requantiser_checks(model))
    points = [check.points() for check in checks]
    calls = "\n".join(f"  run<{check.type_name}>(in, out);" for check in checks)
    with tempfile.TemporaryDirectory(prefix="finn_resnet_") as folder:
        scratch = Path(folder)
        widths = "\n".join(_width_assertions(model))
        program = compile_program(_PROGRAM % (widths, calls), project_dir, scratch)
        with (scratch / "in.bin").open("wb") as file:
            for part in points:
                np.array([len(part)], np.int64).tofile(file)
                part.tofile(file)
        command = [program, scratch / "in.bin", scratch / "out.bin"]
        done = subprocess.run(
            command, capture_output=True, text=True, encoding="utf-8", check=False
        )
        if done.returncode:
            raise SimulationError(f"a requantiser failed: {done.stderr.strip()}")
        codes = np.fromfile(scratch / "out.bin", np.int64)
    start = 0
    for check, part in zip(checks, points, strict=True):
        yield check, part, check.expected(part), codes[start : start + len(part)]
        start += len(part)
