"""Reports on agent files: how they are written, and what is wrong with them beyond that."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from toolwright.catalog.folders import BUILTIN_FOLDER, KnownAgents, read_agent_file
from toolwright.catalog.written import WrittenWrongly
from toolwright.wiring.agents import AgentChecks, Finding


@dataclass(frozen=True, slots=True)
class FileReport:
    """What was found in one file."""

    path: str
    name: str
    findings: tuple[Finding, ...]

    @property
    def is_broken(self) -> bool:
        """Whether it cannot be used."""
        return any(finding.severity == "error" for finding in self.findings)

    def data(self) -> dict[str, Any]:
        """The report as JSON data."""
        found = [dataclasses.asdict(finding) for finding in self.findings]
        return {"file": self.path, "agent": self.name, "ok": not self.is_broken, "findings": found}


def reports(known: KnownAgents, checks: AgentChecks) -> list[FileReport]:
    """Reports on the files of a project and of its user, also on those that others hide.

    Files are read as they are written: what is held back of an untrusted project is looked at, too.
    """
    used = [agent.definition.origin for agent in known.agents if agent.where != "built in"]
    hidden = [path for agent in known.agents for path in agent.hides if not path.startswith(BUILTIN_FOLDER)]
    found = [FileReport(one.path, "", _errors(one.problems)) for one in known.broken]
    found += reports_on_files([*used, *hidden], checks)
    return sorted(found, key=lambda report: report.path)


def reports_on_files(paths: Sequence[str], checks: AgentChecks) -> list[FileReport]:
    """Reports on files that a person named."""
    return [_report(path, checks) for path in paths]


def _report(path: str, checks: AgentChecks) -> FileReport:
    try:
        file = read_agent_file(path)
    except WrittenWrongly as wrong:
        return FileReport(path, "", _errors(wrong.problems))
    notices = (Finding("warning", notice.removeprefix(f"{path}: ")) for notice in file.notices)
    return FileReport(path, file.definition.name, (*notices, *checks.findings(file.definition)))


def _errors(problems: Sequence[Any]) -> tuple[Finding, ...]:
    return tuple(
        Finding("error", f"line {problem.line}: {problem.text}" if problem.line else problem.text)
        for problem in problems
    )
