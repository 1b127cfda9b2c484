"""The rules of a catalog: ``permissions.json`` (pure)."""

from collections.abc import Mapping
from typing import Any, Final

from toolwright.catalog.directory.fields import Fields, Unfit, filled, mapping, one_of, one_or_more, text
from toolwright.contracts.definitions import CharterRule

_VERSION: Final = 1
_SOURCES: Final = ("platform", "skill", "mcp", "extractor")


def read_permissions(data: Mapping[str, Any]) -> tuple[tuple[CharterRule, ...], tuple[str, ...]]:
    """Return the rules and what their author should know. May raise Unfit: no rule counts then."""
    fields = Fields(data)
    version = fields.get("version", lambda value: value, default=_VERSION)
    if version != _VERSION:
        raise Unfit("invalid_field", f"version is {version!r}; only {_VERSION} is known")
    written = fields.get("rules", _list, default=[])
    rules: dict[str, CharterRule] = {}
    notes: list[str] = list(fields.unread())
    for number, one in enumerate(written):
        rule = _rule(one, f"rules[{number}]", f"rule-{number + 1}")
        if rules.setdefault(rule.id, rule) is not rule:
            raise Unfit("duplicate_name", f"two rules have the id {rule.id!r}")
    return tuple(rules.values()), tuple(notes)


def _rule(written: Any, where: str, usual_id: str) -> CharterRule:
    if not isinstance(written, dict):
        raise Unfit("invalid_field", f"{where} is no object")
    fields = Fields(written, where)
    effect = fields.need("effect", one_of("deny", "ask", "allow"))
    tool = fields.need("tool", filled)
    when = Fields(fields.get("when", mapping, default={}), f"{where}.when")
    rule = CharterRule(
        id=fields.get("id", filled, default=usual_id),
        effect=effect,
        tool=tool,
        paths=when.get("path", one_or_more, default=()),
        argv=when.get("argv", one_or_more, default=()),
        hosts=when.get("host", one_or_more, default=()),
        input=when.get("input", _input, default={}),
        agents=when.get("agent", one_or_more, default=()),
        sources=when.get("source", _sources, default=()),
        reason=fields.get("reason", text, default=""),
    )
    unknown = (*fields.unread(), *when.unread())
    if unknown:  # a condition that nobody reads would make a rule say something else than it means
        raise Unfit("invalid_field", unknown[0])
    return rule


def _input(value: Any) -> Mapping[str, tuple[Any, ...]]:
    found: dict[str, tuple[Any, ...]] = {}
    for pointer, wanted in mapping(value).items():
        if pointer and not pointer.startswith("/"):
            raise Unfit("invalid_field", f"{pointer[:80]!r} is no JSON pointer; write '/{pointer[:80]}'")
        found[pointer] = tuple(wanted) if isinstance(wanted, list) else (wanted,)
    return found


def _sources(value: Any) -> tuple[str, ...]:
    return tuple(one_of(*_SOURCES)(one) for one in one_or_more(value))


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise Unfit("invalid_field", "takes a list")
    return value
