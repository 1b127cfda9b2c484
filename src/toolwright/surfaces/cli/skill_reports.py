"""Reports on skills: how they are written, and which rules they break."""

import dataclasses
import os
from dataclasses import dataclass, replace
from typing import Any

from toolwright.catalog.skill_folders import KnownSkills, read_skill_folder
from toolwright.catalog.written import WrittenWrongly
from toolwright.contracts.skills import SkillFinding


@dataclass(frozen=True, slots=True)
class SkillReport:
    """What was found in one folder."""

    path: str
    name: str
    findings: tuple[SkillFinding, ...]

    @property
    def is_broken(self) -> bool:
        """Whether something has to be put right."""
        return any(finding.severity == "error" for finding in self.findings)

    def data(self) -> dict[str, Any]:
        """The report as JSON data."""
        found = [dataclasses.asdict(finding) for finding in self.findings]
        return {"path": self.path, "skill": self.name, "ok": not self.is_broken, "findings": found}


def reports(known: KnownSkills, *, strict: bool) -> list[SkillReport]:
    """Reports on the skills of a project and of its user, also on those that others hide."""
    used = [one.skill.folder for one in known.skills if one.skill.scope != "package"]
    hidden = [path for one in known.skills for path in one.hides]
    broken = [
        path if os.path.isdir(path) else os.path.dirname(path) for path in (b.path for b in known.broken)
    ]
    return [report(path, strict=strict) for path in sorted({*used, *hidden, *broken})]


def report(path: str, *, strict: bool) -> SkillReport:
    """A report on one folder, or on the folder of a file. ``strict`` makes errors of all broken rules."""
    folder = os.path.dirname(path) or "." if os.path.isfile(path) else path
    try:
        reading = read_skill_folder(folder)
    except WrittenWrongly as wrong:
        found = (
            SkillFinding("error", problem.text, problem.line, published=True) for problem in wrong.problems
        )
        return SkillReport(wrong.path or folder, "", tuple(found))
    findings = tuple(
        replace(finding, severity="error") if strict and finding.published else finding
        for finding in reading.findings
    )
    return SkillReport(folder, reading.skill.name, findings)
