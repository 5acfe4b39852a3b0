"""Write the SystemVerilog project of a hardware graph; say beforehand what has none."""

from __future__ import annotations

from pathlib import Path

from qonnx.core.modelwrapper import ModelWrapper

from finn_resnet.generation.rtl.rtl_network import RtlNetwork, build_rtl, library_files
from finn_resnet.output_folder import RTL_FOLDER, staged_files
from finn_resnet.top_name import check_top_name

SOURCE_LIST = "sources.f"
"""Names of the SystemVerilog files, the library's first, one a line."""


def generate_rtl_project(model: ModelWrapper, output_dir: str | Path, top_name: str) -> RtlNetwork:
    """Generate ``<output_dir>/rtl/``: the network, its library, memories and `SOURCE_LIST`.

    The files are written aside and take their places at the end; the same graph gives the same
    bytes.

    Args:
        model: graph after `LowerToHardware` with factors and stream depths.
        output_dir: the build's folder.
        top_name: name of the top module, a C identifier.

    Raises:
        UserError: the name is no identifier, nodes or attribute values without RTL, or the folder
            cannot be written.
    """
    check_top_name(top_name, "rtl")
    network = build_rtl(model, top_name)
    with staged_files(Path(output_dir) / RTL_FOLDER) as folder:
        network.write(folder)
        modules = [path.name for path in library_files() if path.suffix == ".sv"]
        names = "".join(f"{name}\n" for name in [*modules, *network.sources])
        (folder / SOURCE_LIST).write_text(names, encoding="utf-8")
    return network
