"""Reads hooks as people write them in settings."""

import json
import logging
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

from toolwright.contracts.errors import SettingsError
from toolwright.contracts.hooks import Hook, HookEvent, HookHandler, HookTransport
from toolwright.tool_calls.hooks.matching import name_test
from toolwright.tool_calls.hooks.protocol import through

HookSource = Literal["managed", "user", "project", "local", "cli", "plugin", "skill", "agent"]
TransportMaker = Callable[[Mapping[str, Any]], HookTransport]
"""Makes the way to one handler from its settings. May raise SettingsError."""

ORDER: tuple[HookSource, ...] = get_args(HookSource)
"""Order in which the answers of handlers are merged; handlers of the running program come last."""

_EVENTS: frozenset[str] = frozenset(get_args(HookEvent))
_EVENTS_OF_SESSIONS = frozenset(
    {
        "UserPromptSubmit",
        "Stop",
        "SubagentStart",
        "SubagentStop",
        "SessionStart",
        "SessionEnd",
        "PreCompact",
        "PostCompact",
        "Notification",
        "CwdChanged",
        "FileChanged",
        "WorktreeCreate",
        "WorktreeRemove",
        "ConfigChange",
        "Elicitation",
        "ElicitationResult",
    }
)
_LONGEST_LABEL = 80
_COMMON = frozenset({"type", "timeout", "if", "statusMessage", "once"})
_SPELLINGS = {
    "async_rewake": "asyncRewake",
    "allowed_env_vars": "allowedEnvVars",
    "status_message": "statusMessage",
}
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Kind:
    """What one type of handler is written with; ``named_by`` is required and labels the handler."""

    named_by: str
    optional: frozenset[str]
    timeout: float


_KINDS: Mapping[str, _Kind] = {
    "command": _Kind("command", frozenset({"args", "shell", "async", "asyncRewake", "env"}), 600),
    "http": _Kind("url", frozenset({"headers", "allowedEnvVars"}), 600),
    "mcp_tool": _Kind("tool", frozenset({"server", "input"}), 600),
    "prompt": _Kind("prompt", frozenset({"model"}), 30),
    "agent": _Kind("prompt", frozenset({"model"}), 60),
    "python": _Kind("handler", frozenset(), 60),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSettings:
    """The hooks of one source of settings, as written."""

    source: HookSource
    hooks: Mapping[str, Any] = field(default_factory=dict)
    disable_all: bool = False


def load_hooks(
    settings: Sequence[HookSettings],
    makers: Mapping[str, TransportMaker],
    *,
    in_process: Sequence[Hook] = (),
) -> tuple[Hook, ...]:
    """Return the hooks of all sources in the order in which their answers count.

    ``makers`` knows the types of handlers that can be reached here. Sources other than the managed one
    cannot switch managed hooks off, and no setting switches off hooks of the running program itself.
    May raise SettingsError.
    """
    ordered = sorted(settings, key=lambda one: ORDER.index(one.source))
    switched_off = [one.source for one in ordered if one.disable_all]
    if "managed" in switched_off:
        ordered = []
    elif switched_off:
        ordered = [one for one in ordered if one.source == "managed"]
    return (*(hook for one in ordered for hook in parse_hooks(one.hooks, makers)), *in_process)


def python_hook(
    event: HookEvent,
    handler: HookHandler,
    *,
    matcher: str = "*",
    condition: str = "",
    timeout: float = 60,
    once: bool = False,
) -> Hook:
    """Return a hook for a callable of this program."""
    name_test(matcher)
    label = getattr(handler, "__qualname__", type(handler).__name__)
    return Hook(
        event=event,
        handler=handler,
        label=label,
        matcher=matcher,
        condition=condition,
        in_process=True,
        timeout=timeout,
        once=once,
    )


def parse_hooks(written: Mapping[str, Any], makers: Mapping[str, TransportMaker]) -> tuple[Hook, ...]:
    """Return the hooks of one ``hooks`` section: events → groups with a matcher → handlers.

    May raise SettingsError, which says where.
    """
    hooks: list[Hook] = []
    for event, groups in written.items():
        if event in _EVENTS_OF_SESSIONS:
            _logger.warning("hooks for %s are never called: nothing here sends this event", event)
            continue
        if event not in _EVENTS:
            raise SettingsError(
                f"hooks: there is no event {event!r}; known are {', '.join(sorted(_EVENTS))}."
            )
        for number, group in enumerate(_list(groups, f"hooks.{event}")):
            hooks.extend(_group(cast(HookEvent, event), group, makers, f"hooks.{event}[{number}]"))
    return tuple(hooks)


def _group(event: HookEvent, group: object, makers: Mapping[str, TransportMaker], where: str) -> list[Hook]:
    members = _object(group, where)
    _refuse_unknown(members, frozenset({"matcher", "hooks"}), where)
    matcher = _text(members.get("matcher") or "*", f"{where}.matcher")
    name_test(matcher)
    return [
        _hook(event, matcher, _respelled(_object(handler, at)), makers, at)
        for number, handler in enumerate(_list(members.get("hooks"), f"{where}.hooks"))
        for at in (f"{where}.hooks[{number}]",)
    ]


def _hook(
    event: HookEvent,
    matcher: str,
    written: Mapping[str, Any],
    makers: Mapping[str, TransportMaker],
    where: str,
) -> Hook:
    kind_name = _text(written.get("type"), f"{where}.type")
    kind = _KINDS.get(kind_name)
    if kind is None:
        raise SettingsError(f"{where}.type: {kind_name!r} is none of {', '.join(_KINDS)}.")
    _refuse_unknown(written, _COMMON | kind.optional | {kind.named_by}, where)
    if kind.named_by not in written:
        raise SettingsError(f"{where}: a {kind_name} handler needs {kind.named_by!r}.")
    in_process = kind_name == "python"
    wakes = _flag(written, "asyncRewake", where)
    return Hook(
        event=event,
        handler=_python(written["handler"], where)
        if in_process
        else through(_made(kind_name, written, makers, where)),
        label=_label(written[kind.named_by]),
        matcher=matcher,
        condition=_text(written.get("if", ""), f"{where}.if"),
        in_process=in_process,
        timeout=_seconds(written.get("timeout", kind.timeout), f"{where}.timeout"),
        once=_flag(written, "once", where),
        background=wakes or _flag(written, "async", where),
        wakes=wakes,
        status_message=_text(written.get("statusMessage", ""), f"{where}.statusMessage"),
        identity=json.dumps(written, sort_keys=True, default=repr),
    )


def _made(
    kind: str, written: Mapping[str, Any], makers: Mapping[str, TransportMaker], where: str
) -> HookTransport:
    maker = makers.get(kind)
    if maker is None:
        raise SettingsError(
            f"{where}: {kind} handlers cannot be used here; available are {', '.join(makers)}."
        )
    try:
        return maker(written)
    except SettingsError as error:
        raise SettingsError(f"{where}: {error}") from error


def _python(handler: object, where: str) -> HookHandler:
    """A callable, or where to import it from: ``package.module:name``."""
    found = handler
    if isinstance(handler, str):
        try:
            found = pkgutil.resolve_name(handler)
        except (ImportError, AttributeError, ValueError) as error:
            raise SettingsError(f"{where}.handler: {handler!r} cannot be imported: {error}.") from error
    if not callable(found):
        raise SettingsError(f"{where}.handler: {handler!r} is nothing that can be called.")
    return cast(HookHandler, found)


def _label(name: object) -> str:
    text = name if isinstance(name, str) else getattr(name, "__qualname__", type(name).__name__)
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_LABEL else f"{line[: _LONGEST_LABEL - 1]}…"


def _respelled(written: Mapping[str, Any]) -> dict[str, Any]:
    return {_SPELLINGS.get(key, key): value for key, value in written.items()}


def _refuse_unknown(written: Mapping[str, Any], known: frozenset[str], where: str) -> None:
    unknown = sorted(set(written) - known)
    if unknown:
        raise SettingsError(
            f"{where}: {', '.join(unknown)} is not known; known are {', '.join(sorted(known))}."
        )


def _object(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise SettingsError(f"{where} is no object.")
    return value


def _list(value: object, where: str) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise SettingsError(f"{where} is no list.")
    return value


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise SettingsError(f"{where} is no text.")
    return value


def _flag(written: Mapping[str, Any], key: str, where: str) -> bool:
    value = written.get(key, False)
    if not isinstance(value, bool):
        raise SettingsError(f"{where}.{key} is neither true nor false.")
    return value


def _seconds(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 86_400:
        raise SettingsError(f"{where} is no number of seconds above 0.")
    return float(value)
