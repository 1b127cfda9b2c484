"""Commands typed into a conversation: ``/model ollama/qwen3`` (pure)."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

_COMMAND = re.compile(r"/([a-zA-Z?][\w?-]*)(?:[ \t]+(.*))?\Z")


@dataclass(frozen=True, slots=True)
class Slash:
    """One command, as people are told of it."""

    name: str
    about: str
    takes: str = ""
    also: tuple[str, ...] = ()


COMMANDS: tuple[Slash, ...] = (
    Slash("help", "what can be typed here", also=("?",)),
    Slash("model", "ask another model from now on", "[MODEL]"),
    Slash("mode", "how much is asked before something runs", "[MODE]"),
    Slash("permissions", "show the rules in force, or add one", "[allow|ask|deny RULE]"),
    Slash("tools", "show what the model may call"),
    Slash("mcp", "show the prompts of MCP servers; /mcp__SERVER__PROMPT takes one", "[ARGUMENTS]"),
    Slash("agents", "show the agents there are, and the children of this session"),
    Slash("skill", "work as a skill says", "[NAME [WORDS]]", ("skills",)),
    Slash("usage", "show tokens, cost and how full the window is", also=("context", "cost")),
    Slash("compact", "put a summary in place of the older part"),
    Slash("details", "how much of calls to show", "compact|normal|full"),
    Slash("unqueue", "take back what waits to be read"),
    Slash("title", "give the session a title", "TEXT"),
    Slash("fork", "go on in a copy of this session", "[ENTRY]"),
    Slash("resume", "go on with another session", "[ID]", ("continue",)),
    Slash("sessions", "list the sessions of this folder"),
    Slash("new", "begin a new session", "[AGENT]", ("clear",)),
    Slash("export", "write the conversation to a new file", "[FILE]"),
    Slash("quit", "leave; the session stays", also=("exit", "q")),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A command, by its own name, and what stands behind it."""

    name: str
    rest: str = ""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A command that there is not, or that is not clear, and what may be meant."""

    word: str
    near: tuple[str, ...] = ()


def read(text: str) -> Asked | Unknown | None:
    """Return the command that a person typed; None for words that are for the model.

    A path is no command, nor is anything that begins with a blank or has several lines. The beginning of a
    name is enough where only one command begins so.
    """
    found = _COMMAND.match(text.rstrip())
    if found is None:
        return None
    word, rest = found[1].lower(), (found[2] or "").strip()
    if word.startswith("mcp__"):
        return Asked("mcp", f"{found[1]} {rest}".rstrip())
    by_name = {name: one.name for one in COMMANDS for name in (one.name, *one.also)}
    if word in by_name:
        return Asked(by_name[word], rest)
    begun = sorted({name for name in by_name if name.startswith(word)})
    if len({by_name[name] for name in begun}) == 1:
        return Asked(by_name[begun[0]], rest)
    return Unknown(word, tuple(begun or difflib.get_close_matches(word, by_name, n=3)))


def unknown_text(unknown: Unknown) -> str:
    """Say what may be meant."""
    near = " or ".join(f"/{name}" for name in unknown.near)
    if near:
        return f"there is no /{unknown.word}: did you mean {near}?"
    return f"there is no /{unknown.word}; /help shows what there is."


def begun(text: str) -> Sequence[Slash]:
    """Return the commands that what stands before the cursor may become."""
    if not text.startswith("/") or any(char.isspace() for char in text):
        return ()
    word = text[1:].lower()
    found = [one for one in COMMANDS if any(name.startswith(word) for name in (one.name, *one.also))]
    return sorted(found, key=lambda one: not one.name.startswith(word))
