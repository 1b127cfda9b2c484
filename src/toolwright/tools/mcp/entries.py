"""One server as it is written in a file or given to the library, read strictly (pure).

What cannot be used is told in words and never guessed: an entry with an address and no type is an error.
"""

import difflib
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolwright.contracts.mcp import (
    OAuthSettings,
    SamplingSettings,
    ServerDefinition,
    ServerSandbox,
    ServerScope,
    Transport,
)
from toolwright.tools.mcp.expansion import Expansion, variables_in

LONGEST_NAME: Final = 64
RESERVED: Final = frozenset({"toolwright", "ide"})
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TYPES: Final[Mapping[str, Transport]] = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "sse": "sse",
    "ws": "ws",
    "websocket": "ws",
    "sdk": "sdk",
}
_NOT_FROM_PROJECTS: Final = ("trusted", "sampling")
"""What a repository may not say of its own servers."""
_READ_OVER: Final = frozenset({"description", "auto_approve", "always_allow", "gallery", "version"})
"""Keys in use elsewhere that mean nothing here."""


class Misfit(ValueError):
    """An entry cannot be used; the text says why and what to write."""


@dataclass(frozen=True, slots=True)
class Read:
    """What came of an entry."""

    server: ServerDefinition | None
    problem: str = ""
    """Why there is no server."""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an entry stands, and what counts there."""

    scope: ServerScope
    origin: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)
    folder: str = "/"
    """Relative working folders start here."""
    trusted: bool = True
    """Whether whoever wrote it may have programs run at each connect."""
    sandboxed: bool = False
    """Whether programs run locked in where an entry does not say."""


def read_entry(name: str, written: Any, place: Place) -> Read:
    """Read one entry. Must not raise."""
    reading = _Reading(name, place)
    try:
        return Read(reading.server(written), notices=tuple(reading.notices))
    except Misfit as misfit:
        return Read(None, f"server {name!r}: {misfit}", tuple(reading.notices))


def fitting_name(name: str) -> str:
    """Return a name that a server can have, like the one it was given; the same where that fits."""
    if not name_problem(name):
        return name
    spelled = _spelled(name)[: LONGEST_NAME - len("-server")]
    return f"{spelled}-server" if spelled in RESERVED else spelled or "server"


def _spelled(name: str) -> str:
    only = re.sub(r"_{2,}", "_", re.sub(r"[^A-Za-z0-9_-]+", "-", name))
    return only.strip("-_")[:LONGEST_NAME].strip("-_")


def name_problem(name: str) -> str:
    """Return what is wrong with the name of a server, with a better one; empty when nothing is."""
    if name in RESERVED:
        return f"the name {name!r} is taken; call it {name}-server"
    if len(name) <= LONGEST_NAME and _NAME.fullmatch(name) and "__" not in name:
        return ""
    better = _spelled(name)
    rule = "letters, digits, '-' and single '_', at most 64, with a letter or digit at both ends"
    return f"{name!r} is no name for a server: {rule}" + (f". Call it {better!r}" if better else "")


def entry_digest(written: Any) -> str:
    """Return what an approval is given for: the entry as it is written, whatever its variables hold."""
    text = json.dumps(written, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


class _Reading:
    """One entry on its way to a definition."""

    def __init__(self, name: str, place: Place) -> None:
        self._name = name
        self._place = place
        self._expand = Expansion(place.environ)
        self.notices: list[str] = []
        self._entry: dict[str, Any] = {}

    def server(self, written: Any) -> ServerDefinition:
        problem = name_problem(self._name)
        if problem:
            raise Misfit(f"{problem}.")
        if not isinstance(written, Mapping):
            raise Misfit("an entry is an object with 'command', or with 'type' and 'url'.")
        self._entry = {_canonical(key): value for key, value in written.items()}
        transport = self._transport()
        made = _BUILDERS[transport](self)
        common = self._common()
        self._note_missing()
        self._note_unknown(transport)
        return ServerDefinition(
            name=self._name,
            transport=transport,
            scope=self._place.scope,
            origin=self._place.origin,
            digest=entry_digest(written),
            target=_target(self._entry),
            takes=tuple(dict.fromkeys(variables_in(json.dumps(written, default=str)))),
            **made,
            **common,
        )

    # --- kinds ------------------------------------------------------------------------------------

    def _transport(self) -> Transport:
        written = self._entry.get("type")
        if written is None:
            if "url" in self._entry:
                raise Misfit('it has an address and no type; add "type": "http", "sse" or "ws".')
            return "sdk" if "instance" in self._entry else "stdio"
        transport = _TYPES.get(written) if isinstance(written, str) else None
        if transport is None:
            raise Misfit(f"there is no type {written!r}: it is stdio, http, sse, ws or sdk.")
        return transport

    def stdio(self) -> Mapping[str, Any]:
        command = self._text("command")
        if not command:
            raise Misfit("it has no command.")
        folder = self._text("cwd")
        return {
            "command": command,
            "args": tuple(self._expanded(text, "args") for text in self._texts("args")),
            "env": self._words("env"),
            "cwd": folder if folder.startswith("/") else f"{self._place.folder}/{folder}".rstrip("/") or "/",
            "sandbox": self._sandbox(),
            "restart": self._entry.get("restart") in {True, "on_failure"},
        }

    def remote(self) -> Mapping[str, Any]:
        helper = self._text("headers_helper", expand=False)
        if helper and not self._place.trusted:
            self._say("its headers_helper does not run until the project is trusted (toolwright trust)")
            helper = ""
        return {
            "url": self._text("url"),
            "headers": self._words("headers"),
            "headers_helper": helper,
            "oauth": self._oauth(),
        }

    def in_process(self) -> Mapping[str, Any]:
        instance = self._entry.get("instance")
        if instance is None or self._place.scope not in {"code", "agent"}:
            raise Misfit("a server of type sdk is given as an object by a program, not in a file.")
        return {"instance": instance}

    # --- what all have ------------------------------------------------------------------------------

    def _common(self) -> Mapping[str, Any]:
        return {
            "timeout": self._timeout(),
            "always_load": self._flag("always_load"),
            "trusted": self._allowed_here("trusted") and self._flag("trusted"),
            "parallel": self._flag("parallel"),
            "shared": self._flag("shared"),
            "handshake": self._flag("handshake"),
            "disabled": self._flag("disabled"),
            "max_concurrency": self._number("max_concurrency"),
            "enabled_tools": self._texts("enabled_tools"),
            "disabled_tools": self._texts("disabled_tools"),
            "sampling": self._sampling() if self._allowed_here("sampling") else None,
        }

    def _allowed_here(self, key: str) -> bool:
        if self._place.scope != "project" or key not in self._entry:
            return True
        self._say(f"{key!r} does not count in a project's own file")
        return False

    def _timeout(self) -> float | None:
        value = self._entry.get("timeout")
        if value is None:
            return None
        if not isinstance(value, int | float) or isinstance(value, bool) or value < 1_000:
            self._say("its timeout is not used: it is written in milliseconds, from 1000 on")
            return None
        return value / 1000

    def _sandbox(self) -> ServerSandbox | None:
        value = self._entry.get("sandbox", self._place.sandboxed)
        if isinstance(value, bool):
            return ServerSandbox() if value else None
        if not isinstance(value, Mapping):
            raise Misfit("'sandbox' is true, false or an object with allowed_hosts, writable, readable.")
        unknown = sorted(set(value) - {"allowed_hosts", "writable", "readable"})
        if unknown:
            raise Misfit(f"'sandbox' knows no {unknown[0]!r}: allowed_hosts, writable, readable.")
        lists = {key: tuple(self._texts(key, value)) for key in value}
        return ServerSandbox(**lists)

    def _oauth(self) -> OAuthSettings | None:
        value = self._entry.get("oauth")
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise Misfit("'oauth' is an object.")
        known = {_canonical(key): inner for key, inner in value.items()}
        return OAuthSettings(
            client_id=self._text("client_id", known),
            callback_port=self._number("callback_port", known),
            scopes=self._texts("scopes", known),
            metadata_url=self._text("metadata_url", known),
            client_metadata_url=self._text("client_metadata_url", known),
        )

    def _sampling(self) -> SamplingSettings | None:
        value = self._entry.get("sampling")
        if value is None or value is False:
            return None
        if value is True:
            return SamplingSettings()
        if not isinstance(value, Mapping):
            raise Misfit("'sampling' is true or an object with model, max_tokens, daily_limit.")
        if value.get("enabled") is False:
            return None
        usual = SamplingSettings()
        return SamplingSettings(
            model=self._text("model", value),
            max_tokens=self._number("max_tokens", value) or usual.max_tokens,
            daily_limit=self._number("daily_limit", value) or usual.daily_limit,
        )

    # --- values ---------------------------------------------------------------------------------------

    def _text(self, key: str, of: Mapping[str, Any] | None = None, *, expand: bool = True) -> str:
        value = (self._entry if of is None else of).get(key, "")
        if not isinstance(value, str):
            raise Misfit(f"{key!r} takes a text.")
        return self._expanded(value, key) if expand else value.strip()

    def _texts(self, key: str, of: Mapping[str, Any] | None = None) -> tuple[str, ...]:
        value = (self._entry if of is None else of).get(key, ())
        if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
            raise Misfit(f"{key!r} takes a list of texts.")
        return tuple(value)

    def _words(self, key: str) -> Mapping[str, str]:
        value = self._entry.get(key, {})
        if not isinstance(value, Mapping):
            raise Misfit(f"{key!r} takes names with texts.")
        found = {}
        for name, text in value.items():
            if not isinstance(text, str | int | float) or isinstance(text, bool):
                raise Misfit(f"{name!r} of {key!r} takes a text.")
            found[str(name)] = self._expanded(str(text), f"{key}.{name}")
        return found

    def _flag(self, key: str) -> bool:
        value = self._entry.get(key, False)
        if not isinstance(value, bool):
            raise Misfit(f"{key!r} is true or false.")
        return value

    def _number(self, key: str, of: Mapping[str, Any] | None = None) -> int | None:
        value = (self._entry if of is None else of).get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise Misfit(f"{key!r} takes a whole number from 1 on.")
        return value

    def _expanded(self, text: str, key: str) -> str:
        """The text with its variables written out. Blanks at its ends are told, the text itself never."""
        found = self._expand(text)
        if found != found.strip():
            self._say(f"the value of {key!r} begins or ends with a blank")
        return found

    # --- what a person should know --------------------------------------------------------------------

    def _say(self, notice: str) -> None:
        self.notices.append(f"server {self._name!r}: {notice}.")

    def _note_missing(self) -> None:
        for name in sorted(self._expand.missing):
            self._say(f"the variable {name} is not set and stays as it is written")

    def _note_unknown(self, transport: Transport) -> None:
        for key in self._entry:
            if key in _KNOWN[transport] or key in _READ_OVER:
                continue
            near = difflib.get_close_matches(key, _KNOWN[transport], n=1)
            self._say(f"{key!r} means nothing here" + (f"; did you mean {near[0]!r}?" if near else ""))


_COMMON: Final = (
    "type", "timeout", "always_load", "trusted", "parallel", "shared", "handshake", "disabled",
    "max_concurrency", "enabled_tools", "disabled_tools", "sampling",
)  # fmt: skip
_REMOTE: Final = ("url", "headers", "headers_helper", "oauth")
_KNOWN: Final[Mapping[Transport, frozenset[str]]] = {
    "stdio": frozenset({*_COMMON, "command", "args", "env", "cwd", "sandbox", "restart"}),
    "http": frozenset({*_COMMON, *_REMOTE}),
    "sse": frozenset({*_COMMON, *_REMOTE}),
    "ws": frozenset({*_COMMON, *_REMOTE}),
    "sdk": frozenset({*_COMMON, "instance"}),
}
_BUILDERS = {
    "stdio": _Reading.stdio,
    "http": _Reading.remote,
    "sse": _Reading.remote,
    "ws": _Reading.remote,
    "sdk": _Reading.in_process,
}


def _target(entry: Mapping[str, Any]) -> str:
    """What an entry leads to, with variables as they are written: their values may be secret."""
    if "instance" in entry:
        return "an object of the program"
    words = (
        (entry.get("command", ""), *entry.get("args", ())) if "command" in entry else (entry.get("url", ""),)
    )
    return " ".join(words)


def _canonical(key: Any) -> str:
    return _HUMP.sub("_", str(key)).replace("-", "_").lower()


def entries_of(data: Any) -> Iterator[tuple[str, Any]]:
    """Yield the entries of a map of servers. May raise Misfit."""
    if not isinstance(data, Mapping):
        raise Misfit("servers are written as an object, by their names.")
    for name, written in data.items():
        yield str(name), written
