"""`HlsLayer`: a hardware node of ours as a FINN `HLSBackend`, IP and C++ simulation included.

Importing this module imports FINN. The C++ simulation compiles the very source the IP is made
from, with the vendor's integer headers and our streams, so that it needs no Vitis.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from finn.custom_op.fpgadataflow.hlsbackend import HLSBackend
from finn.util.basic import MAX_ALLOWED_AP_INT_W

from finn_resnet.custom_ops.base import to_codes, to_container
from finn_resnet.errors import UserError
from finn_resnet.finn.layer import HardwareLayer
from finn_resnet.finn.node_code import INCLUDES, NodeIp, NodePort, node_ip
from finn_resnet.finn.node_simulation import compile_node, include_folders, run_node

_FINN_STANDARD = "-std=c++14"


class HlsLayer(HardwareLayer, HLSBackend):
    """Base of the FINN ops that become an HLS IP."""

    _ip: NodeIp | None = None

    def execute_node(self, context: dict[str, np.ndarray], graph: Any) -> None:
        """Execute in Python, or as compiled C++ in ``exec_mode`` cppsim.

        Raises:
            UserError: ``exec_mode`` rtlsim, which FINN offers for its own folding only.
        """
        mode = self.get_nodeattr("exec_mode")
        if mode == "rtlsim":
            raise UserError(
                f"node {self.onnx_node.name} cannot run alone in rtlsim; simulate the stitched IP, "
                "or use exec_mode cppsim"
            )
        if mode == "cppsim":
            self._execute_compiled(context)
        else:
            super().execute_node(context, graph)

    def _execute_compiled(self, context: dict[str, np.ndarray]) -> None:
        node = self.onnx_node
        words = []
        for index, name in enumerate(node.input):
            stream = self.input_stream(index)
            if stream is not None:
                words.append((stream.fold(to_codes(context[name])), self.get_input_datatype(index)))
        frames = max((len(array) for array, _ in words), default=1)
        outputs = [
            (self.output_stream(index), self.get_output_datatype(index))
            for index in range(len(node.output))
        ]
        results = run_node(Path(self.get_nodeattr("executable_path")), frames, words, outputs)
        for name, codes in zip(node.output, results, strict=True):
            context[name] = to_container(codes)

    def generate_params(self, model: Any, path: str | Path, fpgapart: str | None = None) -> None:
        """Generate the source; the pieces below are what FINN's own template takes of it."""
        self._ip = node_ip(self.plain, model, self.onnx_node.name)

    def global_includes(self) -> None:
        """Our library's headers."""
        self.code_gen_dict["$GLOBALS$"] = [f'#include "{header}"' for header in INCLUDES]

    def defines(self, var: str) -> None:
        """Token types, configurations and weight memories."""
        self.code_gen_dict["$DEFINES$"] = self._prepared().definitions

    def blackboxfunction(self) -> None:
        """Head of the top function."""
        self.code_gen_dict["$BLACKBOXFUNCTION$"] = [self._prepared().signature]

    def pragmas(self) -> None:
        """Pragmas of the top function."""
        self.code_gen_dict["$PRAGMAS$"] = self._prepared().pragmas

    def docompute(self) -> None:
        """Streams and tasks of the top function."""
        self.code_gen_dict["$DOCOMPUTE$"] = self._prepared().body

    def _prepared(self) -> NodeIp:
        if self._ip is None:
            raise RuntimeError(f"{self.onnx_node.name}: generate_params must come first")
        return self._ip

    def get_ap_int_max_w(self) -> int:
        """Widest stream of the node in bits.

        Raises:
            UserError: FINN allows no stream of that width.
        """
        node = self.onnx_node
        widths = {
            **{name: self.get_instream_width(i) for i, name in enumerate(node.input)},
            **{name: self.get_outstream_width(i) for i, name in enumerate(node.output)},
        }
        tensor = max(widths, key=widths.__getitem__)
        if widths[tensor] > MAX_ALLOWED_AP_INT_W:
            raise UserError(
                f"node {node.name}: stream {tensor} has {widths[tensor]} bits a word, FINN allows "
                f"{MAX_ALLOWED_AP_INT_W}; choose smaller factors, or use the whole accelerator "
                "as one IP (step_generate_cpp)"
            )
        return widths[tensor]

    def code_generation_ipgen(self, model: Any, fpgapart: str, clk: float) -> None:
        """FINN's Tcl with our include folders and C++17, and our source in place of its own.

        FINN's source would include the library of its own layers.
        """
        super().code_generation_ipgen(model, fpgapart, clk)
        folder = Path(self.get_nodeattr("code_gen_dir_ipgen"))
        self._prepared().write(folder)
        script = folder / f"hls_syn_{self.onnx_node.name}.tcl"
        text = script.read_text(encoding="utf-8")
        flags = " ".join(f"-I{path}" for path in [folder, *include_folders()])
        if _FINN_STANDARD not in text:
            raise RuntimeError(f"FINN's HLS script names no {_FINN_STANDARD} to replace")
        script.write_text(text.replace(_FINN_STANDARD, f"-std=c++17 {flags}"), encoding="utf-8")

    def code_generation_cppsim(self, model: Any) -> None:
        """The source of the IP, to be compiled by `compile_singlenode_code`."""
        self.get_ap_int_max_w()
        folder = Path(self.get_nodeattr("code_gen_dir_cppsim"))
        self.generate_params(model, folder)
        self._prepared().write(folder)

    def compile_singlenode_code(self) -> None:
        """Compile the source with a test bench; sets ``executable_path``."""
        folder = Path(self.get_nodeattr("code_gen_dir_cppsim"))
        executable = compile_node(folder, self.onnx_node.name, self.ports())
        self.set_nodeattr("executable_path", str(executable))

    def ports(self) -> list[NodePort]:
        """The streams of the IP in the order of its function's arguments."""
        node = self.onnx_node
        inputs = [
            NodePort(f"in{index}", stream, self.get_instream_width(index), True)
            for index in range(len(node.input))
            if (stream := self.input_stream(index)) is not None
        ]
        outputs = [
            NodePort(
                f"out{index}", self.output_stream(index), self.get_outstream_width(index), False
            )
            for index in range(len(node.output))
        ]
        return inputs + outputs
