"""Build a quantised ResNet with FINN and the steps of finn_resnet.

    python build_resnet.py MODEL.onnx [CONFIG.json] [OUTPUT_DIR]

CONFIG.json is FINN's own build configuration; the two beside this script stop at the estimate
reports and at the stitched IP (which needs Vitis and Vivado). FINN wants XILINX_VIVADO set in any
case, and puts its scratch files into FINN_BUILD_DIR. The same without Python:

    finn build resnet8_kv260_estimate.json MODEL.onnx
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

DEFAULT_CONFIG = Path(__file__).with_name("resnet8_kv260_estimate.json")


def main(arguments: list[str]) -> int:
    """Run the build; FINN's exit status."""
    if not 1 <= len(arguments) <= 3:
        print(__doc__, file=sys.stderr)
        return 2
    # FINN reads its settings when it is imported.
    os.environ.setdefault("FINN_BUILD_DIR", tempfile.mkdtemp(prefix="finn_build_"))
    from finn.builder.build_dataflow import build_dataflow_cfg
    from finn.builder.build_dataflow_config import DataflowBuildConfig

    config_path = Path(arguments[1]) if len(arguments) > 1 else DEFAULT_CONFIG
    config = DataflowBuildConfig.from_json(config_path.read_text(encoding="utf-8"))
    if len(arguments) > 2:
        config.output_dir = arguments[2]
    return build_dataflow_cfg(arguments[0], config)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
