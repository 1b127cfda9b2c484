"""Whether the files of a workspace are as they are expected to be (pure)."""

from collections.abc import Iterator

from toolwright.contracts.evals import Expected, FileExpected
from toolwright.surfaces.evals.found import Check, in_text, quoted
from toolwright.surfaces.evals.observing import Observed


def file_checks(expected: Expected, observed: Observed) -> Iterator[Check]:
    """Return the checks of all files."""
    for wanted in expected.files:
        if wanted.state is not None:
            yield _state(wanted, observed)
        if wanted.reads:
            yield from _text(wanted, observed.texts.get(wanted.path))
    if expected.no_other_files:
        named = {wanted.path for wanted in expected.files}
        others = [f"{path} was {what}" for path, what in observed.changes.items() if path not in named]
        yield Check("no other file changes", ", ".join(others))


def _state(wanted: FileExpected, observed: Observed) -> Check:
    path, is_there = wanted.path, wanted.path in observed.after
    change = observed.changes.get(path)
    if wanted.state in {"present", "absent"}:
        holds = is_there == (wanted.state == "present")
    elif wanted.state == "unchanged":
        holds = change is None and is_there
    else:
        holds = change == wanted.state
    found = change or ("unchanged" if is_there else "not there")
    return Check(f"{path} is {wanted.state}", "" if holds else f"it is {found}")


def _text(wanted: FileExpected, text: str | None) -> Iterator[Check]:
    if text is None:
        yield Check(f"{wanted.path} can be read", "there is no such text file")
        return
    yield from in_text(
        text, wanted.path, contains=wanted.contains, lacks=wanted.lacks, matches=wanted.matches
    )
    if wanted.equals is not None:
        yield Check(f"{wanted.path} is as written", "" if text == wanted.equals else f"it is {quoted(text)}")
