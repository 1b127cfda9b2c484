"""Modes: which may be entered, and what changes while one is on."""

import re
from dataclasses import dataclass

from toolwright.contracts.permissions import Mode, Rule, RuleSet
from toolwright.tool_calls.permissions.families import SHELLS

_INTERPRETERS = frozenset({
    "bash", "sh", "dash", "zsh", "ksh", "ash", "fish", "pwsh", "python", "python2", "python3", "pypy",
    "pypy3", "node", "nodejs", "deno", "bun", "ts-node", "tsx", "ruby", "irb", "perl", "php", "lua", "r",
    "luajit", "rscript", "julia", "osascript", "awk", "gawk", "mawk",
    "env", "sudo", "doas", "su", "ssh", "eval", "exec", "source", "xargs", "find", "parallel", "watch",
})  # fmt: skip
_RUNNERS = frozenset({"npx", "bunx", "pnpx", "uvx", "pipx", "npm", "pnpm", "yarn", "uv", "poetry"})
_RUNNER_VERBS = frozenset({"run", "run-script", "exec", "x", "dlx", "*"})
_WHOLE = frozenset({"agent", "task", "monitor", "bash"})
_VERSION = re.compile(r"[\d.]+\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What decides whether a mode may be entered here."""

    uid: int
    sandboxed: bool = False
    """Whether the whole engine runs inside a recognised sandbox."""
    bypass_enabled: bool = False
    """Bypassing was asked for when the run was started."""
    as_root_accepted: bool = False
    """Bypassing as uid 0 was asked for in so many words."""
    disable_bypass: bool = False
    disable_auto: bool = False
    has_reviewer: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """The mode that is really entered, and why it is not the one asked for."""

    mode: Mode
    refusal: str = ""


def mode_named(name: str) -> Mode | None:
    """Return the mode a person means; ``manual`` is another word for ``default``."""
    modes: dict[str, Mode] = {
        "default": "default",
        "manual": "default",
        "acceptEdits": "acceptEdits",
        "plan": "plan",
        "dontAsk": "dontAsk",
        "auto": "auto",
        "bypassPermissions": "bypassPermissions",
    }
    return modes.get(name)


def entered(mode: Mode, here: Surroundings) -> Entry:
    """Return the mode to enter when ``mode`` is asked for; what is refused becomes ``default``."""
    if mode == "bypassPermissions":
        refusal = _bypass_refusal(here)
    elif mode == "auto":
        refusal = _auto_refusal(here)
    else:
        refusal = ""
    return Entry("default", refusal) if refusal else Entry(mode)


def _bypass_refusal(here: Surroundings) -> str:
    if here.disable_bypass:
        return "bypassPermissions is disabled by the settings"
    if not here.bypass_enabled:
        return "bypassPermissions must be enabled when the run is started"
    if here.uid == 0 and not (here.sandboxed or here.as_root_accepted):
        return "bypassPermissions is refused for root; the setting permissions.bypass_as_root permits it"
    return ""


def _auto_refusal(here: Surroundings) -> str:
    if here.disable_auto:
        return "auto is disabled by the settings"
    return "" if here.has_reviewer else "auto needs a reviewer and none is configured"


_STRICTNESS: tuple[Mode, ...] = ("bypassPermissions", "auto", "acceptEdits", "default", "plan", "dontAsk")


def child_mode(parent: Mode, wanted: Mode | None) -> Mode:
    """Return the mode of a child run: its parent's, or a stricter one it was defined with.

    A parent that bypasses, accepts edits or is reviewed decides for its children. Planning and never asking
    are strict in different ways; who is to do both plans, and has nobody to ask.
    """
    if wanted is None or parent in {"bypassPermissions", "acceptEdits", "auto"}:
        return parent
    if "plan" in {parent, wanted}:
        return "plan"
    return wanted if _STRICTNESS.index(wanted) > _STRICTNESS.index(parent) else parent


def in_force(rules: RuleSet, mode: Mode) -> RuleSet:
    """Return the rules that count in a mode: ``auto`` sets broad allow rules aside while it is on."""
    if mode != "auto":
        return rules
    kept = tuple(rule for rule in rules.allow if not is_broad(rule))
    return RuleSet(kept, rules.ask, rules.deny)


def is_broad(rule: Rule) -> bool:
    """Return whether an allow rule would let arbitrary code or other agents run unreviewed."""
    if rule.content is None:
        return rule.tool in _WHOLE
    if rule.tool not in SHELLS or "*" not in rule.content:
        return False
    words = re.split(r"\s+|:(?=\*\Z)", rule.content.strip())
    program = words[0].rpartition("/")[2].casefold()
    if "*" in program or _VERSION.sub("", program) in _INTERPRETERS or program in _INTERPRETERS:
        return True
    return program in _RUNNERS and (len(words) < 2 or program.endswith("x") or words[1] in _RUNNER_VERBS)
