"""The whole accelerator's C++ against the original model, in a FINN build."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.errors import UserError
from finn_resnet.output_folder import HLS_FOLDER
from finn_resnet.transformation.graph_edit import as_op, nodes_of


def verify_cpp(
    model: ModelWrapper, original: ModelWrapper, cfg: Any
) -> dict[str, int | str | None]:
    """Compare every tensor of integers and the output port; a JSON-ready summary.

    Args:
        model: hardware graph the C++ was generated from.
        original: the model as given.
        cfg: FINN's build configuration.

    Raises:
        UserError: unfit ``verify_input_npy``, no C++ compiler.
    """
    from finn_resnet.verification import verify_project

    result = verify_project(
        model, original, Path(cfg.output_dir) / HLS_FOLDER, _pictures(model, cfg)
    )
    first = result.first_mismatch
    return {
        "images": result.images,
        "compared_codes": result.compared_codes,
        "mismatched_codes": result.mismatched_codes,
        "float32_differences": sum(result.float32_differences.values()),
        "first_mismatch": None if first is None else str(first),
        "failure": result.failure,
        "definition": result.definition,
    }


def _pictures(model: ModelWrapper, cfg: Any) -> np.ndarray:
    path = Path(cfg.verify_input_npy)
    if path.is_file():
        return _read(path)
    quantiser = as_op(nodes_of(model, "QuantizeInput")[0])
    codes, shape = quantiser.code_range(), quantiser.get_nodeattr("shape")[1:]
    pictures = np.random.default_rng(0).integers(codes.lo, codes.hi + 1, (3, *shape))
    pictures[0], pictures[1] = codes.lo, codes.hi
    return (pictures * quantiser.get_nodeattr("scale")).astype(np.float32)


def _read(path: Path) -> np.ndarray:
    try:
        return np.load(path).astype(np.float32)
    except (OSError, ValueError, TypeError) as problem:
        raise UserError(
            f"verify_input_npy = '{path}' holds no pictures ({problem}); give a .npy of float32 "
            "[N, C, H, W]"
        ) from problem
