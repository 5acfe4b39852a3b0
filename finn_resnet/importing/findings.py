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


@dataclass(frozen=True)
class FindingGroup:
    """Findings that differ in the node alone."""

    nodes: tuple[str, ...]
    op: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        if len(self.nodes) == 1:
            return str(Finding(self.nodes[0], self.op, self.reason, self.remedy))
        first = ", ".join(self.nodes[:_NODES_SHOWN])
        more = ", ..." if len(self.nodes) > _NODES_SHOWN else ""
        return f"{len(self.nodes)} {self.op} nodes ({first}{more}): {self.reason}; {self.remedy}"


_NODES_SHOWN = 3


def grouped(findings: Sequence[Finding]) -> list[FindingGroup]:
    """The same reason of many nodes once, in the order of first appearance."""
    nodes: dict[tuple[str, str, str], list[str]] = {}
    for finding in findings:
        nodes.setdefault((finding.op, finding.reason, finding.remedy), []).append(finding.node)
    return [FindingGroup(tuple(names), *key) for key, names in nodes.items()]


def refuse(findings: Sequence[Finding]) -> None:
    """Raise one UserError naming every finding; do nothing when there is none."""
    if findings:
        count = f"{len(findings)} problem{'s' if len(findings) > 1 else ''}"
        listed = " | ".join(str(group) for group in grouped(findings))
        raise UserError(f"the model cannot be mapped to hardware ({count}): {listed}")
