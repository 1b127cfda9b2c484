"""The published rules of Agent Skills, each as a function that says what breaks it (pure).

What breaks one may still be used here, where it is clear what was meant; it should not be passed on.
"""

import difflib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from toolwright.catalog.skill_keys import FRONT_MATTER
from toolwright.contracts.skills import SkillFinding

LONGEST_NAME: Final = 64
LONGEST_DESCRIPTION: Final = 1_024
LONGEST_COMPATIBILITY: Final = 500
MOST_BODY_LINES: Final = 500
"""What the rules recommend."""
PUBLISHED: Final = tuple(key.name for key in FRONT_MATTER if key.published)
OWN: Final = tuple(key.name for key in FRONT_MATTER if not key.published)
"""Keys in use beyond the rules that have a meaning here."""
WITHOUT_MEANING: Final = frozenset(
    {
        "agent",
        "argument-hint",
        "author",
        "context",
        "disallowed-tools",
        "effort",
        "hooks",
        "model",
        "paths",
        "tags",
        "user-invocable",
    }
)
"""Keys in use elsewhere that are read over."""
_LINK: Final = re.compile(r"\]\(\s*<?([^)<>\s#]+)")
_MENTION: Final = re.compile(r"(?<![\w./:~$}-])((?:references|scripts|assets)/[\w./-]*\w)")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_USABLE: Final = re.compile(r"[^\W_][\w-]{0,63}")


def folded(name: str) -> str:
    """Return a name as it is compared: one spelling for what looks the same."""
    return unicodedata.normalize("NFKC", name.strip())


def is_usable(name: str) -> bool:
    """Whether a skill can go by this name here, be it as the rules want it or not."""
    return _USABLE.fullmatch(name) is not None


def broken_by_name(name: str, folder: str) -> Iterator[str]:
    """Yield what is wrong with a name, of which ``folder`` is the name of its folder, if it has one."""
    if len(name) > LONGEST_NAME:
        yield f"has {len(name)} characters; {LONGEST_NAME} are allowed."
    if name != name.lower():
        yield f"is written in small letters: {name.lower()!r}."
    if name.startswith("-") or name.endswith("-"):
        yield "neither begins nor ends with a hyphen."
    if "--" in name:
        yield "has no two hyphens in a row."
    if not all(character.isalnum() or character == "-" for character in name):
        yield "is made of letters, digits and hyphens only."
    if folder and folded(folder) != name:
        yield f"is that of its folder: rename the folder {folder!r}, or the skill."


def broken_by_description(text: str) -> Iterator[str]:
    """Yield what is wrong with a description that is there."""
    if len(text) > LONGEST_DESCRIPTION:
        yield f"has {len(text):,} characters; {LONGEST_DESCRIPTION:,} are allowed. Say the rest below."


def broken_by_compatibility(text: str) -> Iterator[str]:
    """Yield what is wrong with a note on compatibility."""
    if not text:
        yield "is empty; take it out or say what is needed."
    if len(text) > LONGEST_COMPATIBILITY:
        yield f"has {len(text):,} characters; {LONGEST_COMPATIBILITY} are allowed."


def unknown_key(key: str) -> SkillFinding | None:
    """Return what is to be said of a key of the front matter that the rules do not know."""
    if key in PUBLISHED:
        return None
    shown = repr(key[:60])
    if key in OWN:
        text = f"{shown} has a meaning here, but is no key of the published rules."
    elif key in WITHOUT_MEANING:
        text = f"{shown} has no effect here, and is no key of the published rules."
    else:
        near = difflib.get_close_matches(key, (*PUBLISHED, *OWN), n=1)
        remedy = f"Did you mean {near[0]!r}?" if near else "Put what is your own under 'metadata'."
        text = f"{shown} is no key of a skill and is left out. {remedy}"
    return SkillFinding("warning", text, published=True)


def references(body: str) -> tuple[str, ...]:
    """Return the files of a skill that its instructions speak of, in their order, each once."""
    links = (link for link in _LINK.findall(body) if not _SCHEME.match(link) and not link.startswith("#"))
    mentions = _MENTION.findall(body)
    return tuple(dict.fromkeys(path.removeprefix("./") for path in (*links, *mentions)))


def broken_references(body: str, paths: Iterable[str]) -> Iterator[SkillFinding]:
    """Yield what is wrong with the files that instructions speak of; ``paths`` are those there are."""
    known = frozenset(paths)
    folders = {path.rsplit("/", depth)[0] for path in known for depth in range(1, path.count("/") + 1)}
    for path in references(body):
        if path.startswith("/") or ".." in path.split("/"):
            yield SkillFinding(
                "warning", f"{path[:120]!r} leads out of the skill: only its own files go with it."
            )
        elif path.rstrip("/") not in known | folders:
            yield SkillFinding("warning", f"it speaks of {path[:120]!r}, which is not there.")


def about_body(body: str) -> Iterator[SkillFinding]:
    """Yield what is to be said of instructions that are empty, or longer than recommended."""
    if not body:
        yield SkillFinding("warning", "there are no instructions below the front matter.")
    lines = body.count("\n") + 1
    if lines > MOST_BODY_LINES:
        yield SkillFinding(
            "warning",
            f"the instructions have {lines:,} lines; keep them under {MOST_BODY_LINES} and move the rest to "
            "references/.",
        )


def texts_of(value: Any) -> Mapping[str, str] | None:
    """Return ``metadata`` as texts by name; None when it is something else."""
    if not isinstance(value, Mapping) or not all(isinstance(text, str) for text in value.values()):
        return None
    return dict(value)
