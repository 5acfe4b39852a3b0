"""What a model holds that cannot become hardware: found all at once, said in one line each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from finn_resnet.errors import UserError


@dataclass(frozen=True)
class Finding:
    """One unsupported place of a model."""

    node: str
    op: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.node} ({self.op}): {self.reason}; {self.remedy}"


def refuse(findings: Sequence[Finding]) -> None:
    """Raise one UserError naming every finding; do nothing when there is none."""
    if findings:
        count = f"{len(findings)} problem{'s' if len(findings) > 1 else ''}"
        listed = " | ".join(str(finding) for finding in findings)
        raise UserError(f"the model cannot be mapped to hardware ({count}): {listed}")
