"""Reads a skill from the texts of its folder (pure): ``SKILL.md``, ``skill.json``, or both together.

``SKILL.md`` is a folder of Agent Skills: front matter and instructions. ``skill.json`` says what a skill is
that runs as a call: its input, its prompt in ``prompt.md``, its script. Where both are there, ``SKILL.md``
has the name, the description and the instructions, and ``skill.json`` says how it runs.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from toolwright.catalog import skill_rules as rules
from toolwright.catalog import values
from toolwright.catalog.front_matter import read_yaml
from toolwright.catalog.skill_keys import RUNNING as KEYS_OF_RUNNING
from toolwright.catalog.values import Misfit
from toolwright.catalog.written import (
    Problem,
    Written,
    WrittenWrongly,
    check_size,
    decoded,
    read_json,
    split_front_matter,
)
from toolwright.contracts.skills import Skill, SkillFinding, SkillReading

MAIN: Final = "SKILL.md"
MAIN_SPELLINGS: Final = (MAIN, "skill.md")
RUNNING: Final = "skill.json"
PROMPT: Final = "prompt.md"
READ: Final = (*MAIN_SPELLINGS, RUNNING, PROMPT)
"""The files whose content says what the skill is."""
MOST_BYTES: Final = 1_048_576
"""Of one of them."""
SCRIPT_ENDINGS: Final = (".py", ".sh")
_RUNNING_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_LONGEST_TIMEOUT: Final = 600.0
_KEYS: Final = frozenset({"$schema", *(key.name for key in KEYS_OF_RUNNING)})


def read_skill(contents: Mapping[str, bytes], paths: Iterable[str], *, folder: str = "") -> SkillReading:
    """Read a skill. ``contents`` are the files named in ``READ`` that there are, ``paths`` all its files.

    ``folder`` is the name of its folder, where it lies in one. Raises WrittenWrongly when nothing can be made
    of it; what breaks a rule and can be used all the same is a finding.
    """
    files = tuple(sorted(set(paths) | contents.keys()))
    main = next((name for name in MAIN_SPELLINGS if name in contents), None)
    if main is None and RUNNING not in contents:
        raise WrittenWrongly(Problem(f"there is no {MAIN} and no {RUNNING} in it."))
    notes = _Notes()
    template = _text(contents, PROMPT)
    if main is None:
        name = rules.folded(folder)
        found = Skill(name=name, description="", form="skill.json", instructions=template, for_models=False)
    else:
        found = _read_main(main, contents[main], folder, notes)
        for finding in rules.broken_references(found.instructions, files):
            notes.found.append(finding)
    found = replace(found, template=template, files=files)
    if RUNNING in contents:
        found = _with_running(found, contents[RUNNING], notes, has_main=main is not None)
    if not found.entry:
        found = replace(found, template=template or found.instructions)
    _insist(found)
    digest = hashlib.sha256(b"\0".join(contents[name] for name in READ if name in contents))
    return SkillReading(replace(found, digest=digest.hexdigest()), tuple(notes.found))


@dataclass(slots=True)
class _Notes:
    """Collects findings about the front matter."""

    written: Written = field(default_factory=lambda: Written({}))
    found: list[SkillFinding] = field(default_factory=list)

    def rule(self, key: str, said: Iterable[str]) -> None:
        """Note what breaks a published rule about a key."""
        line = self.written.line_of((key,))
        self.found += [SkillFinding("error", f"{key!r} {text}", line, published=True) for text in said]

    def own(self, key: str, text: str) -> None:
        """Note what is wrong with a key of ours, which does not count then."""
        self.found.append(SkillFinding("warning", f"{key!r} {text}", self.written.line_of((key,))))


# --- SKILL.md -----------------------------------------------------------------------------------


def _read_main(path: str, content: bytes, folder: str, notes: _Notes) -> Skill:
    try:
        parts = split_front_matter(decoded(content, most=MOST_BYTES))
        notes.written = written = read_yaml(parts.text, first_line=2, only_texts=True)
    except WrittenWrongly as wrong:
        raise WrittenWrongly(*wrong.problems, path=path) from None
    if path != MAIN:
        notes.found.append(
            SkillFinding("warning", f"the file is better named {MAIN}: some look only for that.")
        )
    for key in written.data:
        finding = rules.unknown_key(key)
        if finding is not None:
            notes.found.append(replace(finding, line=written.line_of((key,))))
    description = _needed("description", written, path)
    notes.rule("description", rules.broken_by_description(description))
    notes.found += rules.about_body(parts.body)
    return Skill(
        name=_name(written, folder, notes, path),
        description=description,
        instructions=parts.body,
        allowed_tools=_optional("allowed-tools", _tools, notes, published=True) or (),
        license=_optional("license", values.text, notes, published=True) or "",
        compatibility=_compatibility(notes),
        metadata=_metadata(notes),
        for_models=_optional("disable-model-invocation", _flag, notes) is not True,
        when_to_use=_optional("when_to_use", values.text, notes) or "",
        arguments=_optional("arguments", _argument_names, notes) or (),
        version=_optional("version", values.text, notes) or _metadata(_Notes(written)).get("version", ""),
        category=_optional("category", values.text, notes) or "",
        capabilities=_optional("capabilities", values.words, notes) or (),
    )


def _name(written: Written, folder: str, notes: _Notes, path: str) -> str:
    name = rules.folded(_needed("name", written, path))
    if not rules.is_usable(name):
        said = next(rules.broken_by_name(name, ""), "begins with a letter or digit.")
        raise WrittenWrongly(Problem(f"'name' {said}", written.line_of(("name",))), path=path)
    notes.rule("name", rules.broken_by_name(name, folder))
    return name


def _needed(key: str, written: Written, path: str) -> str:
    value = written.data.get(key)
    if isinstance(value, str) and value.strip():
        return value.strip()
    said = "is missing" if key not in written.data else "has to be a text that is not empty"
    raise WrittenWrongly(Problem(f"{key!r} {said}.", written.line_of((key,)) or 1), path=path)


def _compatibility(notes: _Notes) -> str:
    text: str | None = _optional("compatibility", values.text, notes, published=True)
    if text is not None:
        notes.rule("compatibility", rules.broken_by_compatibility(text))
    return text or ""


def _metadata(notes: _Notes) -> Mapping[str, str]:
    value = notes.written.data.get("metadata", "")
    if value == "":
        return {}
    found = rules.texts_of(value)
    if found is None:
        notes.rule("metadata", ["takes texts by name, one below the other."])
    return found or {}


def _optional(key: str, read: Callable[[Any], Any], notes: _Notes, *, published: bool = False) -> Any:
    if key not in notes.written.data:
        return None
    try:
        return read(notes.written.data[key])
    except Misfit as wrong:
        if published:
            notes.rule(key, [str(wrong)])
        else:
            notes.own(key, str(wrong))
        return None


def _flag(value: Any) -> bool:
    return values.flag({"true": True, "false": False}.get(str(value).lower(), value))


def _tools(value: Any) -> tuple[str, ...]:
    """Rules with blanks or commas between them, which part nothing within brackets; or a list of rules."""
    return values.rules(_parted(value) if isinstance(value, str) else value)


def _parted(text: str) -> list[str]:
    """Return what stands between blanks and commas that are in no brackets. Raises Misfit."""
    parts, depth, escaped = [""], 0, False
    for character in text:
        if not escaped:
            depth += (character == "(") - (character == ")")
        if depth < 0:
            break
        escaped = character == "\\" and not escaped
        if depth == 0 and (character == "," or character.isspace()):
            parts.append("")
        else:
            parts[-1] += character
    if depth:
        raise Misfit(f"has a bracket without its partner: {values.shown(text)}.")
    return [part for part in parts if part]


def _argument_names(value: Any) -> tuple[str, ...]:
    return values.names(value.replace(" ", ",") if isinstance(value, str) and "," not in value else value)


# --- skill.json ---------------------------------------------------------------------------------


def _with_running(skill: Skill, content: bytes, notes: _Notes, *, has_main: bool) -> Skill:
    try:
        data = read_json(decoded(content, most=MOST_BYTES))
        check_size(data)
        for key in sorted(data.keys() - _KEYS):
            text = f"{key[:60]!r} of {RUNNING} is no key of a skill and is left out."
            notes.found.append(SkillFinding("warning", text))
        return _running(skill, data, has_main=has_main)
    except Misfit as wrong:
        raise WrittenWrongly(Problem(str(wrong)), path=RUNNING) from None
    except WrittenWrongly as wrong:
        raise WrittenWrongly(*wrong.problems, path=RUNNING) from None


def _running(skill: Skill, data: Mapping[str, Any], *, has_main: bool) -> Skill:
    def value(key: str, read: Callable[[Any], Any], default: Any) -> Any:
        if data.get(key) is None:
            return default
        try:
            return read(data[key])
        except Misfit as wrong:
            raise Misfit(f"{key!r} {wrong}") from None

    name = value("name", _running_name, skill.name)
    description = value("description", values.text, skill.description)
    if has_main and (name, description) != (skill.name, skill.description):
        raise Misfit(f"says another name or description than {MAIN}; take them out here.")
    return replace(
        skill,
        name=name,
        description=description,
        category=value("category", values.text, skill.category),
        capabilities=value("capabilities", _texts, skill.capabilities),
        confidence=value("confidence", _share, 1.0),
        version=value("version", values.text, skill.version),
        input_schema=value("input_schema", _schema, skill.input_schema),
        entry=value("entry", values.text, _usual_entry(skill.files)),
        timeout=value("timeout_seconds", _timeout, 60.0),
        reads_only=value("read_only", values.flag, False),
        exposed=value("expose_as_tool", values.flag, False),
        allowed_tools=value("allowed_tools", values.rules, skill.allowed_tools),
    )


def _running_name(value: Any) -> str:
    name = values.text(value)
    if not _RUNNING_NAME.fullmatch(name):
        raise Misfit(f"takes small letters, digits, '-' and '_', at most 64, not {values.shown(value)}.")
    return name


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list):
        raise Misfit(f"takes a list of texts, not {values.shown(value)}.")
    return tuple(values.text(entry) for entry in value)


def _share(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise Misfit(f"takes a number from 0 to 1, not {values.shown(value)}.")
    return float(value)


def _timeout(value: Any) -> float:
    seconds = values.amount(value)
    if seconds > _LONGEST_TIMEOUT:
        raise Misfit(f"takes at most {_LONGEST_TIMEOUT:g} seconds.")
    return seconds


def _schema(value: Any) -> Mapping[str, Any]:
    schema = values.mapping(value)
    if schema.get("type") != "object":
        raise Misfit("takes a JSON Schema whose type is 'object': the input is always one object.")
    return schema


def _usual_entry(files: Iterable[str]) -> str:
    """``script.py``, else the only script that lies beside ``skill.json``."""
    scripts = [path for path in files if "/" not in path and path.endswith(SCRIPT_ENDINGS)]
    return "script.py" if "script.py" in scripts else scripts[0] if len(scripts) == 1 else ""


def _insist(skill: Skill) -> None:
    """Raise WrittenWrongly for a skill that says too little."""
    if skill.form == "skill.json" and not _RUNNING_NAME.fullmatch(skill.name):
        raise WrittenWrongly(
            Problem(f"the name of its folder, {skill.name!r}, is none for a skill."), path=RUNNING
        )
    if not skill.description:
        raise WrittenWrongly(Problem("'description' is missing."), path=RUNNING)
    if skill.entry and (skill.entry not in skill.files or not skill.entry.endswith(SCRIPT_ENDINGS)):
        said = "is not there" if skill.entry not in skill.files else "is neither a .py nor a .sh file"
        raise WrittenWrongly(Problem(f"the script {skill.entry!r} {said}."), path=RUNNING)
    if skill.form == "skill.json" and not skill.entry and not skill.template:
        raise WrittenWrongly(
            Problem(f"there is nothing to run: write a {PROMPT} or a script.py."), path=RUNNING
        )


def _text(contents: Mapping[str, bytes], name: str) -> str:
    if name not in contents:
        return ""
    try:
        return decoded(contents[name], most=MOST_BYTES).strip()
    except WrittenWrongly as wrong:
        raise WrittenWrongly(*wrong.problems, path=name) from None
