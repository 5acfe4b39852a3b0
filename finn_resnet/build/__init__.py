"""The build flow: from a configuration to a verified accelerator, and finished builds reopened."""

from __future__ import annotations

from finn_resnet.build.flow import BuildResult, build, find_step, run_steps

__all__ = ["BuildResult", "build", "find_step", "run_steps"]
