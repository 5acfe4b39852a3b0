"""Losses: cross entropy with the labels, or with a larger network's softened answers as well."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

TEMPERATURE = 4.0
TEACHER_SHARE = 0.9


def label_loss(logits: Tensor, _inputs: Tensor, labels: Tensor) -> Tensor:
    """Cross entropy of logits [N, classes] with labels int64 [N]."""
    return functional.cross_entropy(logits, labels)


class DistillationLoss:
    """Labels and teacher: (1 - share) * cross entropy + share * T^2 * KL(teacher || student).

    The teacher sees the very crops the student sees. T^2 keeps the gradients of the softened
    answers at the labels' order of magnitude (Hinton, Vinyals, Dean 2015).
    """

    def __init__(self, teacher: nn.Module) -> None:
        """`teacher`: trained network; it stays as it is."""
        self.teacher = teacher.eval()

    def __call__(self, logits: Tensor, inputs: Tensor, labels: Tensor) -> Tensor:
        """Loss of logits [N, classes] on inputs [N, 3, H, W] with labels int64 [N]."""
        with torch.no_grad():
            target = functional.softmax(self.teacher(inputs).float() / TEMPERATURE, dim=1)
        student = functional.log_softmax(logits / TEMPERATURE, dim=1)
        divergence = functional.kl_div(student, target, reduction="batchmean")
        hard = label_loss(logits, inputs, labels)
        return (1 - TEACHER_SHARE) * hard + TEACHER_SHARE * TEMPERATURE**2 * divergence
