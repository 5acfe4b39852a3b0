"""Window buffers of the RTL library: windows, padding and forwarding, under random stalls."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import pytest

from tests.rtl.bench import Bench, Device, Stream, picture_tokens
from tests.rtl.verilator import lint


@dataclass(frozen=True)
class Shape:
    """Attributes of a WindowBuffer."""

    ih: int
    iw: int
    ich: int
    ich_par: int
    ow_par: int
    in_lanes: int
    kernel: tuple[int, int] = (3, 3)
    stride: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (1, 1, 1, 1)
    pad_value: int = 0
    bits: int = 8
    forward: int = 0
    block: int = 0

    @property
    def out_size(self) -> tuple[int, int]:
        """Output rows and columns."""
        return tuple(
            (size + self.pads[n] + self.pads[n + 2] - self.kernel[n]) // self.stride[n] + 1
            for n, size in enumerate((self.ih, self.iw))
        )

    @property
    def columns(self) -> int:
        """Columns of a window."""
        return self.kernel[1] + (self.ow_par - 1) * self.stride[1]

    def parameters(self) -> dict[str, int]:
        """Parameters of the module."""
        own = asdict(self)
        pairs = {"FH": self.kernel[0], "FW": self.kernel[1]}
        pairs |= {"STRIDE_H": self.stride[0], "STRIDE_W": self.stride[1]}
        pairs |= {"PAD_TOP": self.pads[0], "PAD_LEFT": self.pads[1]}
        pairs |= {"OH": self.out_size[0], "OW": self.out_size[1]}
        return {
            name.upper(): value for name, value in own.items() if isinstance(value, int)
        } | pairs


def window_tokens(codes: np.ndarray, s: Shape) -> np.ndarray:
    """Windows of frames ``[n, h, w, ch]`` as tokens (window_pad of window_buffer.hpp)."""
    groups = -(-s.ich // s.ich_par)
    oh, ow = s.out_size
    column_groups = -(-ow // s.ow_par)
    step = s.ow_par * s.stride[1]
    frames = len(codes)
    padded = np.zeros((frames, s.ih, s.iw, groups * s.ich_par), np.int64)
    padded[..., : s.ich] = codes
    size = ((oh - 1) * s.stride[0] + s.kernel[0], (column_groups - 1) * step + s.columns)
    field = np.full((frames, s.pads[0] + s.ih + size[0], s.pads[1] + s.iw + size[1]), s.pad_value)
    field = np.repeat(field[..., None], groups * s.ich_par, axis=3)
    field[:, s.pads[0] : s.pads[0] + s.ih, s.pads[1] : s.pads[1] + s.iw] = padded
    windows = [
        field[:, y * s.stride[0] :][:, : s.kernel[0], x * step : x * step + s.columns]
        for y in range(oh)
        for x in range(column_groups)
    ]
    made = np.stack(windows, axis=1)  # frame, place, row, column, channel
    used = [j for lane in range(s.ow_par) for j in range(lane * s.stride[1], s.columns)]
    used = {j for j in used if j % s.stride[1] < s.kernel[1] or j >= s.columns - s.kernel[1]}
    made[:, :, :, [j for j in range(s.columns) if j not in used]] = s.pad_value
    split = made.reshape(*made.shape[:4], groups, s.ich_par)
    return split.transpose(0, 1, 4, 2, 3, 5).reshape(frames * oh * column_groups * groups, -1)


def window_buffer(s: Shape) -> Device:
    """A window buffer and three random frames."""
    rng = np.random.default_rng(s.ih * s.iw + s.ich)
    codes = rng.integers(0, 1 << s.bits, (3, s.ih, s.iw, s.ich))
    lanes = Stream(s.bits, picture_tokens(codes, s.in_lanes, s.ich_par))
    nothing = Stream(s.bits, [np.zeros((0, s.ich_par), np.int64)] * s.in_lanes)
    outputs = {
        "window": Stream(s.bits, [window_tokens(codes, s)]),
        "forward": lanes if s.forward else nothing,
    }
    return Device("window_buffer", s.parameters(), {"in": lanes}, outputs)


SHAPES = [
    Shape(8, 8, 4, 2, 2, 2),
    Shape(8, 8, 8, 2, 1, 1),
    Shape(9, 10, 5, 4, 4, 4),
    Shape(8, 12, 4, 1, 5, 5),
    Shape(8, 8, 6, 2, 1, 2, stride=(2, 2)),
    Shape(8, 16, 4, 4, 4, 8, stride=(2, 2)),
    Shape(8, 16, 4, 4, 4, 4, stride=(2, 2)),
    Shape(9, 9, 3, 2, 2, 2, stride=(2, 2)),
    Shape(8, 10, 4, 2, 1, 1, kernel=(1, 1), pads=(0, 0, 0, 0)),
    Shape(8, 8, 4, 2, 2, 2, kernel=(1, 1), stride=(2, 2), pads=(0, 0, 0, 0)),
    Shape(8, 8, 4, 2, 2, 4, kernel=(1, 1), stride=(2, 2), pads=(0, 0, 0, 0)),
    Shape(8, 10, 4, 2, 2, 2, kernel=(5, 5), pads=(2, 2, 2, 2)),
    Shape(9, 9, 4, 4, 5, 5, kernel=(5, 5), pads=(2, 2, 2, 2)),
    Shape(10, 12, 5, 2, 2, 4, kernel=(5, 5), stride=(2, 2), pads=(2, 2, 2, 2)),
    Shape(7, 8, 40, 2, 2, 2),
    Shape(8, 8, 4, 2, 2, 2, pads=(0, 0, 0, 0)),
    Shape(8, 8, 3, 4, 2, 2, pad_value=5),
    Shape(6, 6, 2, 1, 1, 1, kernel=(2, 2), pads=(0, 0, 0, 0), bits=4),
    Shape(6, 7, 2, 1, 1, 1, kernel=(2, 2), pads=(1, 1, 0, 0)),
    Shape(6, 8, 2, 1, 2, 2, kernel=(2, 3), stride=(2, 1), pads=(0, 0, 0, 2), pad_value=128),
    Shape(5, 9, 3, 3, 3, 3, kernel=(3, 1), stride=(1, 2), pads=(1, 0, 1, 0)),
    # Forwarding, row delays in block RAM, ragged lanes.
    Shape(8, 8, 4, 2, 2, 2, forward=1),
    Shape(7, 11, 5, 2, 3, 3, forward=1),
    Shape(8, 12, 4, 1, 5, 5, forward=1, block=1),
    Shape(8, 8, 6, 2, 1, 1, forward=1, pads=(0, 0, 0, 0)),
    Shape(8, 8, 4, 4, 2, 4, stride=(2, 2), forward=1),
    Shape(9, 10, 5, 4, 4, 4, block=1),
    Shape(6, 6, 2, 1, 1, 1, kernel=(2, 2), pads=(1, 1, 0, 0), forward=1),
    Shape(7, 8, 40, 2, 2, 2, forward=1, block=1),
]


@pytest.mark.slow
def test_windows_at_full_rate(tmp_path):
    """Windows and forwarded tokens; without stalls a lane group enters in every cycle."""
    bench = Bench([window_buffer(shape) for shape in SHAPES], tmp_path)
    runs = bench.check(stalled=6)
    for index, s in enumerate(SHAPES):
        row = -(-s.iw // s.in_lanes) * -(-s.ich // s.ich_par)
        taken = np.max([runs[0].cycles[index, "in", lane].max() for lane in range(s.in_lanes)])
        assert taken + 1 == 3 * s.ih * row, s


@pytest.mark.slow
def test_a_window_of_another_padding_is_found(tmp_path):
    """Negative control: the padding value is one off in the module."""
    shape = SHAPES[16]
    device = window_buffer(shape)
    wrong = device.parameters | {"PAD_VALUE": shape.pad_value + 1}
    bench = Bench([Device(device.module, wrong, device.inputs, device.outputs)], tmp_path)
    assert bench.differences(bench.run(stalled=0)[0])


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: str(tuple(asdict(shape).values())))
def test_lint(shape):
    assert lint("window_buffer", shape.parameters()) == ""
