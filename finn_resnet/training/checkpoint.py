"""Checkpoints: everything a run needs to go on where it stopped, written so that a kill is safe."""

from __future__ import annotations

import hashlib
import os
import pickle
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from finn_resnet.errors import UserError
from finn_resnet.training.network_shape import NetworkShape


@dataclass
class Checkpoint:
    """State after `epoch` finished epochs of one stage (`float` or `quantised`) of a run.

    `extra` holds what the stage needs to rebuild its network (the quantisation plan), `base` the
    fingerprint of the network the stage started from, "" where it started from nothing.
    """

    stage: str
    blocks: tuple[int, ...]
    width: int
    classes: int
    seed: int
    epoch: int
    model: dict[str, torch.Tensor]
    optimizer: dict[str, Any]
    extra: dict[str, Any]
    base: str = ""

    @property
    def shape(self) -> NetworkShape:
        """Of the network."""
        return NetworkShape(tuple(self.blocks), self.width)


def fingerprint(network: nn.Module) -> str:
    """Hash of all parameters and statistics of a network."""
    digest = hashlib.sha256()
    for name, tensor in network.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.detach().contiguous().numpy().tobytes())
    return digest.hexdigest()


def save_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Writes the file in one step: a run killed meanwhile leaves the previous one intact."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    torch.save(asdict(checkpoint), partial)
    os.replace(partial, path)


def load_checkpoint(path: Path, stage: str, shape: NetworkShape | None = None) -> Checkpoint:
    """Reads a checkpoint of this stage and, unless None, this shape.

    Raises UserError when the file is missing, damaged, or of another stage or shape.
    """
    if not path.is_file():
        raise UserError(f"checkpoint {path} does not exist")
    try:
        checkpoint = Checkpoint(**torch.load(path, map_location="cpu", weights_only=True))
    except (RuntimeError, EOFError, TypeError, pickle.UnpicklingError, zipfile.BadZipFile) as error:
        raise UserError(f"{path} is not a checkpoint of this recipe or is damaged") from error
    if shape not in (None, checkpoint.shape):
        raise UserError(f"{path} is of a {checkpoint.shape.name}, not of a {shape.name}")
    if checkpoint.stage != stage:
        raise UserError(f"{path} is of the {checkpoint.stage} stage, not of the {stage} stage")
    return checkpoint
