"""What "do not ask again" may mean for a command: at most five narrow rules."""

from collections.abc import Iterable, Iterator

from toolwright.contracts.permissions import RuleChange
from toolwright.contracts.tool import Access
from toolwright.shell.arity import telling_words
from toolwright.shell.destructive import destructive
from toolwright.shell.exec_capable import exec_capable
from toolwright.shell.places import cd_target
from toolwright.shell.read_only import files_read
from toolwright.shell.units import START, Redirect, Unit
from toolwright.tool_calls.permissions.commands_grants import may_read
from toolwright.tool_calls.permissions.commands_places import Setting, places
from toolwright.tool_calls.permissions.path_patterns import escaped
from toolwright.tool_calls.permissions.rules import write_rule
from toolwright.tool_calls.permissions.subject import TouchedPath
from toolwright.tool_calls.permissions.suggestions import path_rule

MOST = 5
_SHELL = "Bash"


def offers(units: Iterable[Unit], redirects: Iterable[Redirect], setting: Setting) -> tuple[RuleChange, ...]:
    """The rules that would cover what nothing covers yet; none where more would be needed."""
    wanted = (
        *(_for_unit(unit, setting) for unit in units),
        *(_for_redirect(item, setting) for item in redirects),
    )
    rules = [rule for found in wanted for rule in found]
    if not rules or not all(wanted):
        return ()
    distinct = tuple(dict.fromkeys(rules))
    return (RuleChange("addRules", rules=distinct),) if len(distinct) <= MOST else ()


def _for_unit(unit: Unit, setting: Setting) -> tuple[str, ...]:
    if unit.kind == "assignment" or not unit.words or not unit.words[0].literal:
        return ()
    if unit.program == "cd":
        return tuple(_for_directory(unit, setting))
    files = files_read(unit.words, at_start=unit.trails == START)
    if files is not None and not unit.assignments:
        unread = [word for word in files if not may_read(word, unit.trails, setting)]
        found = [places(word.text or "", unit.trails, setting) for word in unread]
        if found and all(place.certain for place in found):
            return tuple(path_rule(TouchedPath(path, "read")) for place in found for path in place.paths)
    if unit.assignments or exec_capable(unit.words, unit.redirects) or destructive(unit.words):
        return _exact(unit)
    return (write_rule(_SHELL, " ".join((*map(_starless, telling_words(unit.words)), "*"))),)


def _exact(unit: Unit) -> tuple[str, ...]:
    values = [assignment.value for assignment in unit.assignments]
    if not all(word.literal for word in (*unit.words, *values)):
        return ()
    text = " ".join((*(item.source for item in unit.assignments), *(word.source for word in unit.words)))
    return (write_rule(_SHELL, _starless(text)),)


def _starless(text: str) -> str:
    return text.replace("*", "\\*")


def _for_directory(unit: Unit, setting: Setting) -> Iterator[str]:
    target = cd_target(unit)
    if target is None:
        return
    found = places(setting.home if target == "~" else target, unit.trails, setting)
    if found.certain:
        yield from (write_rule("Read", f"/{escaped(path)}/**") for path in found.paths if path != "/")


def _for_redirect(redirect: Redirect, setting: Setting) -> tuple[str, ...]:
    if redirect.target is None or redirect.target.text is None or redirect.heredoc is not None:
        return ()
    found = places(redirect.target.text, redirect.trails, setting)
    if not found.certain or redirect.descriptor not in {"", "0", "1", "2"}:
        return ()
    access: Access = "read" if redirect.reads else "write"
    return tuple(path_rule(TouchedPath(path, access)) for path in found.paths)
