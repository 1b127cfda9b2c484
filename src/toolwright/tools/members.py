"""The members of a tool, by name and type, as a decorator or builder takes them."""

import difflib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, Literal, TypedDict

from toolwright.contracts.tool import (
    NO_PROMISES,
    CallContext,
    CallState,
    Category,
    Input,
    McpOrigin,
    Objection,
    Schema,
    Source,
    Touch,
    Traits,
)
from toolwright.contracts.view import View

Promise = bool | Callable[[Input], bool]
Check = Callable[[Input, CallContext], "Objection | Awaitable[Objection | None] | None"]


class SpecMembers(TypedDict, total=False):
    """Every member of a tool that is data."""

    name: str
    description: str
    input_schema: Schema
    output_schema: Schema | None
    aliases: tuple[str, ...]
    display_name: str
    category: Category
    source: Source
    mcp: McpOrigin | None
    version: str
    feature: str | None
    unavailable: str
    prompt_section: str
    search_hint: str
    defer: bool
    always_load: bool
    input_aliases: Mapping[str, str]
    clamped: frozenset[str]
    strict: bool
    result_limit: int | None
    preview: Literal["head", "tail", "head_tail"]
    timeout: float | None
    interrupt: Literal["cancel", "block"]
    needs_person: bool
    idempotent: bool
    dispatches: bool
    polling: bool
    blocking: bool


class Members(SpecMembers, total=False):
    """Every member of a tool: its data, and its behaviour as constants or functions of the input."""

    read_only: Promise
    destructive: Promise
    concurrency_safe: Promise
    open_world: Promise
    pre_approved: Promise
    touches: Iterable[Touch] | Callable[[Input], Iterable[Touch] | None] | None
    command: Callable[[Input], str | None] | None
    subject: Callable[[Input], str | None] | None
    check: Check
    view: Callable[[CallState], View]


class BuildMembers(Members, total=False):
    """Members of a tool made from data: ``call`` is its function."""

    call: Callable[..., Any]


SPEC_NAMES = frozenset(SpecMembers.__annotations__)
_TRAIT_NAMES = frozenset(f.name for f in fields(Traits))
_NAMES = SPEC_NAMES | _TRAIT_NAMES | {"check", "view"}


def refuse_unknown(members: Iterable[str]) -> None:
    """Raises TypeError for a name that is no member, with the nearest that is."""
    unknown = sorted(set(members) - _NAMES)
    if unknown:
        near = difflib.get_close_matches(unknown[0], _NAMES | {"call"}, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise TypeError(f"a tool has no member {unknown[0]!r}{hint}")


def promises(members: Mapping[str, Any]) -> tuple[Traits, dict[str, Callable[[Input], Any]]]:
    """The promises that are always the same, and the functions of the others."""
    named = members.keys() & _TRAIT_NAMES
    if not named:
        return NO_PROMISES, {}
    predicates = {name: members[name] for name in named if callable(members[name])}
    constants = {name: members[name] for name in named if name not in predicates}
    if "touches" in constants:
        constants["touches"] = as_touches(constants["touches"])
    return Traits(**constants), predicates


def as_touches(value: Iterable[Touch] | None) -> tuple[Touch, ...] | None:
    """What a call reaches, as the contract holds it."""
    return None if value is None else tuple(value)
