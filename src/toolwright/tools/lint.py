"""Whether a model will understand a tool: findings and a score for each definition."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from toolwright.tools import lint_rules
from toolwright.tools.definitions import Definition
from toolwright.tools.lint_rules import Finding, Severity

__all__ = ["Finding", "Report", "Severity", "exit_code", "linted"]

_COST: dict[Severity, int] = {"error": 25, "warning": 8, "advice": 2}


@dataclass(frozen=True, slots=True)
class Report:
    """What was found about one tool."""

    tool: str
    findings: tuple[Finding, ...]

    @property
    def score(self) -> int:
        """From 100 (nothing found) down to 0."""
        return max(0, 100 - sum(_COST[finding.severity] for finding in self.findings))

    @property
    def worst(self) -> Severity | Literal["none"]:
        """The gravest finding."""
        found = {finding.severity for finding in self.findings}
        return next((severity for severity in _COST if severity in found), "none")


def linted(
    definitions: Sequence[Definition], *, others: Collection[str] = (), strict: bool = False
) -> list[Report]:
    """Judge every definition. ``others`` are names of tools offered beside them.

    With ``strict`` a property without a description is an error.
    """
    names = lint_rules.Names(definitions, others)
    return [
        Report(definition.name, tuple(_sorted(lint_rules.findings(definition, names, strict=strict))))
        for definition in definitions
    ]


def exit_code(reports: Iterable[Report], *, min_score: int = 0) -> int:
    """1 when a tool has an error or scores less than asked for, else 0."""
    return int(any(report.worst == "error" or report.score < min_score for report in reports))


def _sorted(findings: Iterable[Finding]) -> list[Finding]:
    order = list(_COST)
    return sorted(
        findings, key=lambda finding: (order.index(finding.severity), finding.rule, finding.property)
    )
