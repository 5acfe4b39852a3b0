"""A build on disk, opened again to be verified or simulated once more."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from finn_resnet.config import BuildConfig, load_config
from finn_resnet.errors import UserError
from finn_resnet.generation.project_file import PROJECT_FILE
from finn_resnet.output_folder import HLS_FOLDER, INTERMEDIATE_FOLDER, SETTINGS_NAME
from finn_resnet.report.report_file import read_report

if TYPE_CHECKING:
    from qonnx.core.modelwrapper import ModelWrapper


@dataclass(frozen=True)
class FinishedBuild:
    """The output folder of a build, and the settings it was built with."""

    folder: Path
    config: BuildConfig

    @classmethod
    def open(cls, output_dir: str | Path) -> FinishedBuild:
        """Open the output folder of a build.

        Raises:
            UserError: the folder holds no build, or one without generated C++.
        """
        folder = Path(output_dir)
        read_report(folder)
        if not (folder / HLS_FOLDER / PROJECT_FILE).is_file():
            raise UserError(
                f"'{output_dir}' holds no generated C++ ({HLS_FOLDER}/{PROJECT_FILE}); build again "
                "with step_generate"
            )
        config = load_config(folder / SETTINGS_NAME, {"output_dir": str(folder)})
        return cls(folder, config)

    def hardware_graph(self) -> ModelWrapper:
        """The graph the C++ was generated from: the last one saved."""
        from qonnx.core.modelwrapper import ModelWrapper

        saved = sorted((self.folder / INTERMEDIATE_FOLDER).glob("[0-9]*_*.onnx"))
        return ModelWrapper(str(saved[-1]))
