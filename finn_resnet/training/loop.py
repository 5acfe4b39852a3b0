"""The training loop both stages share: SGD, one learning-rate schedule, checkpoints, progress."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor, nn

from finn_resnet.errors import UserError
from finn_resnet.training.batches import TrainingBatches, accuracy
from finn_resnet.training.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from finn_resnet.training.data import LabelledImages
from finn_resnet.training.network_shape import NetworkShape

MOMENTUM = 0.9

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]  # (logits, inputs, labels) -> scalar


@dataclass(frozen=True)
class Schedule:
    """Learning rate per step: a linear rise, a plateau, a linear fall to zero over the last
    `decay_epochs` of `epochs`."""

    peak: float
    epochs: int
    decay_epochs: float
    warmup_epochs: float = 0.0

    def rate(self, epoch: float) -> float:
        """Learning rate at a (fractional) number of finished epochs."""
        rise = 1.0 if self.warmup_epochs == 0 else epoch / self.warmup_epochs
        fall = (self.epochs - epoch) / self.decay_epochs
        return self.peak * max(0.0, min(1.0, rise, fall))


@dataclass
class Stage:
    """One stage of training; `run` does (or goes on with) its epochs."""

    name: str
    network: nn.Module
    shape: NetworkShape
    classes: int
    schedule: Schedule
    loss: Loss
    weight_decay: float
    checkpoint_path: Path
    bf16: bool = False
    progress: bool = True
    extra: dict[str, Any] = field(default_factory=dict)
    base: str = ""

    def run(self, batches: TrainingBatches, test: LabelledImages) -> float:
        """Trains to the schedule's end; returns the accuracy on `test` (0 to 1).

        Goes on from `checkpoint_path` where that file exists. Raises UserError when it does not fit
        this run, or when the loss stops being a number.
        """
        # Convolutions on the CPU are fastest with the channels innermost.
        self.network.to(memory_format=torch.channels_last)
        optimizer = _sgd(self.network, self.schedule.peak, self.weight_decay)
        start = self._resume(optimizer, batches.seed)
        # Results alone go to standard output.
        console = Console(stderr=True, quiet=not self.progress, highlight=False)
        clock = time.perf_counter()
        with _progress_bar(console) as bar:
            task = bar.add_task(self.name, total=self.schedule.epochs * batches.per_epoch)
            bar.update(task, completed=start * batches.per_epoch)
            for epoch in range(start, self.schedule.epochs):
                loss = self._epoch(epoch, batches, optimizer, lambda: bar.advance(task))
                self._save(epoch + 1, batches.seed, optimizer)
                spent = time.perf_counter() - clock
                console.print(self._epoch_line(epoch + 1, loss, spent / (epoch + 1 - start)))
        return accuracy(self.network, test)

    def _epoch_line(self, done: int, loss: float, epoch_s: float) -> str:
        """What a log shows of an epoch, with the time left at `epoch_s` seconds per epoch."""
        epochs = self.schedule.epochs
        left = timedelta(seconds=round((epochs - done) * epoch_s))
        return f"{self.name} epoch {done} of {epochs}: loss {loss:.4f}, {left} left"

    def _resume(self, optimizer: torch.optim.Optimizer, seed: int) -> int:
        """Number of epochs the checkpoint holds; 0 where there is none."""
        if not self.checkpoint_path.exists():
            return 0
        checkpoint = load_checkpoint(self.checkpoint_path, self.name, self.shape)
        for what, found, wanted in (
            ("seed", checkpoint.seed, seed),
            ("classes", checkpoint.classes, self.classes),
        ):
            if found != wanted:
                raise UserError(
                    f"{self.checkpoint_path} was trained with {what} {found}, this run has "
                    f"{wanted}; give another output folder or delete it"
                )
        if checkpoint.base not in ("", self.base):
            raise UserError(
                f"{self.checkpoint_path} was fine-tuned from another float network than the one "
                "beside it; delete it to fine-tune again"
            )
        self.network.load_state_dict(checkpoint.model)
        if checkpoint.optimizer:
            optimizer.load_state_dict(checkpoint.optimizer)
        return checkpoint.epoch

    def _epoch(
        self,
        epoch: int,
        batches: TrainingBatches,
        optimizer: torch.optim.Optimizer,
        advance: Callable[[], None],
    ) -> float:
        self.network.train()
        total = 0.0
        for step, (inputs, labels) in enumerate(batches.epoch(epoch)):
            rate = self.schedule.rate(epoch + (step + 1) / (batches.per_epoch + 1))
            for group in optimizer.param_groups:
                group["lr"] = rate
            with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
                logits = self.network(inputs)
            loss = self.loss(logits.float(), inputs, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            advance()
        if not total < float("inf"):
            raise UserError(
                f"the {self.name} training diverged in epoch {epoch + 1}: lower the learning rate"
            )
        return total / batches.per_epoch

    def _save(self, epoch: int, seed: int, optimizer: torch.optim.Optimizer) -> None:
        checkpoint = Checkpoint(
            stage=self.name,
            blocks=self.shape.blocks,
            width=self.shape.width,
            classes=self.classes,
            seed=seed,
            epoch=epoch,
            model=self.network.state_dict(),
            optimizer=optimizer.state_dict(),
            extra=self.extra,
            base=self.base,
        )
        save_checkpoint(self.checkpoint_path, checkpoint)


def _sgd(network: nn.Module, rate: float, weight_decay: float) -> torch.optim.SGD:
    # Only weights decay: shrinking a batch norm's gain or a bias has no regularising effect.
    parameters = [p for p in network.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.SGD(groups, lr=rate, momentum=MOMENTUM, nesterov=True)


def _progress_bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=console,
        # Estimates over many steps: a single step's time says little on a shared machine.
        speed_estimate_period=300,
    )
