"""Programs that run another program named in their arguments, and how to find that program."""

import re
from dataclasses import dataclass, replace
from itertools import pairwise

from toolwright.shell.units import UNKNOWN_WORD, Assignment, Dynamic, Word, assignment_in


@dataclass(frozen=True, slots=True)
class Wrapper:
    """The options of a wrapper. Short options in ``values`` take a value, attached or as the next word;
    those in ``attached`` take the rest of their own word; long ones in ``long_values`` take the next word."""

    flags: str = ""
    values: str = ""
    attached: str = ""
    long_flags: frozenset[str] = frozenset()
    long_values: frozenset[str] = frozenset()
    operands: int = 0
    assignments: bool = False
    numbers: bool = False
    """``-5`` is an option."""
    lone_dash: bool = False
    """``-`` is an option, behind ``--`` too."""


def _wrapper(
    flags: str = "", values: str = "", long_flags: str = "", long_values: str = "", **more: int | str
) -> Wrapper:
    return Wrapper(
        flags,
        values,
        str(more.get("attached", "")),
        frozenset(long_flags.split()),
        frozenset(long_values.split()),
        operands=int(more.get("operands", 0)),
        assignments=bool(more.get("assignments", 0)),
        numbers=bool(more.get("numbers", 0)),
        lone_dash=bool(more.get("lone_dash", 0)),
    )


PEELED_FOR_ALLOW = frozenset({
    "timeout", "time", "nice", "nohup", "stdbuf", "command", "builtin", "xargs",
})  # fmt: skip
"""Wrappers that a rule for the wrapped program may be seen through."""

WRAPPERS: dict[str, Wrapper] = {
    "timeout": _wrapper("v", "ks", "foreground preserve-status verbose", "kill-after signal", operands=1),
    "time": _wrapper("p", assignments=1),
    "nice": _wrapper("", "n", "", "adjustment", numbers=1),
    "nohup": _wrapper(),
    "stdbuf": _wrapper("", "ioe", "", "input output error"),
    "command": _wrapper("p"),
    "builtin": _wrapper(),
    "exec": _wrapper("cl", "a"),
    "env": _wrapper(
        "i0v", "uC", "ignore-environment null debug list-signal-handling", "unset chdir argv0", assignments=1,
        lone_dash=1,
    ),
    "sudo": _wrapper(
        "AbEeHKklNnPSsiv", "CDghprRtTuU",
        "askpass background preserve-env edit set-home login non-interactive preserve-groups stdin shell",
        "close-from chdir group host prompt chroot role type command-timeout user other-user",
        assignments=1,
    ),
    "doas": _wrapper("Lns", "aCu"),
    "ionice": _wrapper("t", "cnpPu", "ignore", "class classdata pid"),
    "setsid": _wrapper("cfw", "", "ctty fork wait"),
    "watch": _wrapper(
        "bcCdegtwxp", "nqs", "beep color differences errexit chgexit no-title no-wrap exec precise",
        "interval",
    ),
    "flock": _wrapper(
        "sexnuoFv", "wE", "shared exclusive nonblock unlock close no-fork verbose",
        "timeout wait conflict-exit-code", operands=1,
    ),
    "strace": _wrapper("cCdDfFhiknqrtTvVwxyYzZ", "aebEIopPsSuUX"),
    "chroot": _wrapper("", "", "skip-chdir", "userspec groups", operands=1),
    "unshare": _wrapper(
        "mUuinpCTfrc", "SGRwl",
        "mount uts ipc net pid user cgroup time fork map-root-user map-current-user kill-child mount-proc",
        "setuid setgid root wd setgroups propagation",
    ),
    "busybox": _wrapper(),
    "toybox": _wrapper(),
    "taskset": _wrapper("ac", "", "all-tasks cpu-list", operands=1),
    "chrt": _wrapper("abdfiomrRv", "DPT", "all-tasks batch deadline fifo idle other rr reset-on-fork",
                     "sched-runtime sched-period sched-deadline", operands=1),
    "caffeinate": _wrapper("disum", "tw"),
    "xargs": _wrapper(
        "0oprtx", "aEdILnPs", "null open-tty interactive no-run-if-empty verbose exit show-limits",
        "arg-file delimiter max-args max-procs max-chars max-lines process-slot-var", attached="eil",
    ),
    # no option is known of these, so whatever follows one may be the program
    **{name: _wrapper() for name in [
    "coproc", "parallel", "nsenter", "runuser", "setpriv", "systemd-run", "dbus-run-session",
    "eatmydata", "unbuffer", "ltrace", "rlwrap", "valgrind", "perf", "proxychains", "proxychains4",
    "torsocks", "firejail", "bwrap", "linux32", "linux64", "setarch", "prlimit", "numactl",
    "pkexec", "gosu", "su-exec", "start-stop-daemon", "daemonize", "cgexec", "softlimit",
    "setuidgid", "chpst", "s6-setuidgid", "fakeroot", "catchsegv", "cpulimit", "schedtool",
    "annotate-output", "ts", "faketime", "script-exec", "tini", "dumb-init", "trickle", "proot",
]},
}  # fmt: skip

MAX_GUESSES = 12
"""Places tried for the program of a wrapper whose options are not understood."""

UNPREDICTABLE = frozenset({
    "coproc", "parallel",
})  # fmt: skip
"""Wrappers whose program may stand in several places."""

_PRINTS_ONLY = re.compile(r"-p?[vV]+")


@dataclass(frozen=True, slots=True)
class Peeled:
    """What a wrapper would run: one program, or several guesses where its options are not understood."""

    inner: tuple[tuple[Word, ...], ...]
    certain: bool
    options: bool = False
    """Whether the wrapper was given options of its own."""
    assignments: tuple[Assignment, ...] = ()
    """The variables that the wrapper sets for the program."""


def program_name(words: tuple[Word, ...]) -> str:
    """The program without its directory; empty when the shell computes it."""
    text = words[0].text if words else None
    return text.rsplit("/", 1)[-1] if text else ""


def peeled(words: tuple[Word, ...]) -> Peeled | None:
    """What runs inside a wrapper; None when the first word is no wrapper."""
    name = program_name(words)
    wrapper = WRAPPERS.get(name)
    if wrapper is None:
        return None
    if name == "command" and any(_PRINTS_ONLY.fullmatch(word.text or "") for word in words[1:2]):
        return Peeled((), certain=True, options=True)
    place, certain = _place(words, wrapper)
    options = place > 1 + wrapper.operands
    if not certain or name in UNPREDICTABLE:
        last = min(place + MAX_GUESSES, len(words))
        guesses = tuple(words[start:] for start in range(min(place, last), last))
        return Peeled(_marked(name, words, guesses), False, True, _assigned(words[1:], wrapper))
    inner = _marked(name, words, (words[place:],))
    return Peeled(inner, True, options, _assigned(words[1:place], wrapper))


def _assigned(words: tuple[Word, ...], wrapper: Wrapper) -> tuple[Assignment, ...]:
    if not wrapper.assignments:
        return ()
    return tuple(assignment_in(word) for word in words if "=" in word.shape)


def _marked(
    name: str, words: tuple[Word, ...], guesses: tuple[tuple[Word, ...], ...]
) -> tuple[tuple[Word, ...], ...]:
    """``xargs`` and ``parallel`` put words of their own into the command."""
    if name not in {"xargs", "parallel"}:
        return tuple(guess for guess in guesses if guess)
    mark = _replaced_mark(words)
    return tuple(
        (*(with_hole(word, mark) for word in guess), *(() if mark != "{}" else (UNKNOWN_WORD,)))
        for guess in guesses
        if guess
    )


def _replaced_mark(words: tuple[Word, ...]) -> str:
    for word, following in pairwise(words):
        text = word.text or ""
        if text in {"-I", "--replace"}:
            return following.text or "{}"
        if text.startswith("-I"):
            return text[2:]
    return "{}"


def with_hole(word: Word, mark: str) -> Word:
    """A word in which ``mark`` will be replaced by something unknown."""
    if not mark or mark not in word.shape:
        return word
    return replace(word, text=None, kinds=word.kinds | {Dynamic.PARAMETER})


def _place(words: tuple[Word, ...], wrapper: Wrapper) -> tuple[int, bool]:
    """Where the wrapped program stands, and whether that is certain."""
    place = 1
    while place < len(words):
        text = words[place].text
        if text is None:
            return place, False
        if text == "--":
            place += 2 if wrapper.lone_dash and _is_dash(words[place + 1 : place + 2]) else 1
            break
        if text == "-" and wrapper.lone_dash:
            place += 1
            continue
        if not text.startswith("-") or text == "-":
            break
        step = _option_length(text, wrapper)
        if step == 0:
            return place + 1, False
        place += step
    if wrapper.assignments:
        while place < len(words) and "=" in words[place].shape:
            place += 1
    skipped = words[place : place + wrapper.operands]
    return place + wrapper.operands, all(word.literal for word in skipped)


def _is_dash(words: tuple[Word, ...]) -> bool:
    return any(word.text == "-" for word in words)


def _option_length(text: str, wrapper: Wrapper) -> int:
    """How many words an option takes; 0 when it is not known."""
    if text.startswith("--"):
        name, equals, _ = text[2:].partition("=")
        if name in wrapper.long_flags or (equals and name in wrapper.long_values):
            return 1
        return 2 if name in wrapper.long_values else 0
    if wrapper.numbers and text[1:].lstrip("-").isdigit():
        return 1
    for position, letter in enumerate(text[1:], start=2):
        if letter in wrapper.attached:
            return 1
        if letter in wrapper.values:
            return 1 if position < len(text) else 2
        if letter not in wrapper.flags:
            return 0
    return 1
