"""Every difference between two input schemas, judged from the side of those who write the input.

What cannot be shown to be compatible is called breaking: whatever was accepted must still be accepted.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

from toolwright.contracts.tool import Schema
from toolwright.tools.schema_reading import (
    ALL_TYPES,
    TEXTS,
    Document,
    choices_of,
    exact,
    reference_of,
    refers,
    values_of,
    without_texts,
)

Kind = Literal["breaking", "compatible", "note"]

_COUNTED = (
    ("string", "minLength", "maxLength"),
    ("array", "minItems", "maxItems"),
    ("object", "minProperties", "maxProperties"),
)
_BOUNDS = (
    ("number", "minimum", "exclusiveMinimum", 1),
    ("number", "maximum", "exclusiveMaximum", -1),
    *((kind, least, "", 1) for kind, least, _ in _COUNTED),
    *((kind, most, "", -1) for kind, _, most in _COUNTED),
)
_JUDGED = TEXTS | {
    *(word for bound in _BOUNDS for word in bound[1:3] if word),
    *("type", "enum", "const", "multipleOf", "pattern", "format", "uniqueItems"),
    *("properties", "required", "additionalProperties", "items", "prefixItems"),
    *("anyOf", "oneOf", "allOf", "default", "$ref", "$defs", "definitions"),
}
_NARROWS_WHEN_GONE = frozenset({"patternProperties", "minContains"})
"""Words that let something through that would be refused without them."""
_CHOICES = frozenset({"anyOf", "oneOf"})


@dataclass(frozen=True, slots=True)
class Change:
    """One difference; ``path`` is the dotted path of the property, empty for the root."""

    kind: Kind
    rule: str
    path: str
    message: str


def schema_changes(old: Schema, new: Schema) -> Iterator[Change]:
    """Compare two whole schemas; references are followed."""
    yield from _Comparison(Document(old), Document(new), set()).nodes(old, new, "")


@dataclass(frozen=True, slots=True)
class _Pair:
    old: Mapping[str, Any]
    new: Mapping[str, Any]
    path: str
    types: frozenset[str]
    """What was accepted before; a constraint on any other type takes nothing away."""

    def judged(self, rule: str, *, widened: bool, message: str) -> Change:
        return Change("compatible" if widened else "breaking", rule, self.path, message)


class _Comparison:
    def __init__(self, old: Document, new: Document, met: set[str]) -> None:
        self._old = old
        self._new = new
        self._met = met
        """Pairs of references compared already, or being compared: what differs in them is told once."""
        self._moved = old.definitions != new.definitions

    def nodes(self, old: Any, new: Any, path: str) -> Iterator[Change]:
        """Compare two schemas at one place."""
        if reference_of(old) or reference_of(new):
            here = f"{exact(old)!r} {exact(new)!r}"
            if here in self._met:
                return
            self._met.add(here)
        before, after = self._old.at(old), self._new.at(new)
        if not self._same(before, after, texts=True):
            yield from self._contents(_Pair(before, after, path, self._old.types(before)))

    def _tried(self, old: Any, new: Any, path: str) -> tuple[Change, ...]:
        """What would come of comparing two schemas, without counting them as compared."""
        return tuple(_Comparison(self._old, self._new, set(self._met)).nodes(old, new, path))

    def _contents(self, pair: _Pair) -> Iterator[Change]:
        yield from _texts(pair)
        old, new = choices_of(pair.old), choices_of(pair.new)
        if old is None and new is not None:
            yield from self._parted(pair, new)
        elif old is not None and new is None:
            yield from self._joined(pair, old)
        else:
            yield from self._types(pair)
            yield from _closed_sets(pair)
            yield from _bounds(pair)
            yield from _forms(pair)
            yield from self._members(pair)
            yield from self._elements(pair)
            if old is not None and new is not None:
                yield from self._branches(pair, old, new)
            yield from self._all_of(pair)
            yield from self._unjudged(pair)

    def _same(self, old: Any, new: Any, *, texts: bool = False) -> bool:
        """Whether two schemas accept the same for certain; with ``texts`` also whether they say the same."""
        if self._moved and (refers(old) or refers(new)):
            return False
        form = exact if texts else without_texts
        return bool(form(old) == form(new))

    def _types(self, pair: _Pair) -> Iterator[Change]:
        if values_of(pair.new) is not None:
            return  # the closed set says it all
        old, new = pair.types, self._new.types(pair.new)
        if not old <= new:
            said = f"from {_listed(old)} to {_listed(new)}"
            rule = "type-narrowed" if new < old else "type-changed"
            yield pair.judged(rule, widened=False, message=f"The type changed {said}.")
        elif old != new:
            yield pair.judged("type-widened", widened=True, message=f"{_listed(new)} is accepted now.")

    # --- objects and lists ---

    def _members(self, pair: _Pair) -> Iterator[Change]:
        if "object" not in pair.types:
            return
        old, new = pair.old.get("properties", {}), pair.new.get("properties", {})
        required_before, required = set(pair.old.get("required", ())), set(pair.new.get("required", ()))
        added = [name for name in new if name not in old]
        for name in old:
            if name not in new:
                successor = next((other for other in added if self._same(old[name], new[other])), None)
                if successor is not None:
                    added.remove(successor)
                yield _gone(_join(pair.path, name), successor)
        for name in added:
            yield _come(_join(pair.path, name), required=name in required)
        for name in old:
            if name in new:
                now, before = name in required, name in required_before
                yield from _obligation(_join(pair.path, name), now=now, before=before)
                yield from self.nodes(old[name], new[name], _join(pair.path, name))
        for name in sorted(required - required_before - set(new)):
            yield from _obligation(_join(pair.path, name), now=True, before=False)
        yield from self._others(pair)

    def _others(self, pair: _Pair) -> Iterator[Change]:
        """``additionalProperties``, of which absent means anything goes."""
        old, new = (_anything(schema.get("additionalProperties")) for schema in (pair.old, pair.new))
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from self.nodes(old, new, _join(pair.path, "*"))
        elif old != new:
            widened = new is True or old is False
            message = f"{'More' if widened else 'Fewer'} unnamed properties are accepted."
            yield pair.judged("additional-properties", widened=widened, message=message)

    def _elements(self, pair: _Pair) -> Iterator[Change]:
        if "array" not in pair.types:
            return
        old, new = (_anything(schema.get("items")) for schema in (pair.old, pair.new))
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from self.nodes(old, new, f"{pair.path}[]")
        elif old != new:
            widened = new is True or old is False
            yield pair.judged("items", widened=widened, message="Other elements are accepted than before.")
        first, second = pair.old.get("prefixItems", []), pair.new.get("prefixItems", [])
        for place, (before, after) in enumerate(zip(first, second, strict=False)):
            yield from self.nodes(before, after, f"{pair.path}[{place}]")
        if len(first) != len(second):
            yield pair.judged("prefix-items", widened=False, message="The list has another number of places.")

    # --- alternatives ---

    def _branches(self, pair: _Pair, old: list[Any], new: list[Any]) -> Iterator[Change]:
        lost = [branch for branch in old if not any(self._same(branch, other) for other in new)]
        won = [branch for branch in new if not any(self._same(branch, other) for other in old)]
        for branch in list(lost):
            partner = self._partner(branch, won)
            if partner is not None:
                lost.remove(branch)
                won.remove(partner)
                yield from self.nodes(_as_branch(branch), _as_branch(partner), pair.path)
        if lost:
            message = f"{len(lost)} of the alternatives are gone."
            yield pair.judged("choice-removed", widened=False, message=message)
        if won:
            yield pair.judged("choice-added", widened=True, message=f"{len(won)} alternatives are new.")
        if "oneOf" not in pair.old or not self._same(old, new):
            yield from self._overlap(pair, new)

    def _partner(self, branch: Any, others: list[Any]) -> Any | None:
        """The alternative that stands for another one now: it refers to the same, or is of the same type."""
        named = [
            other for other in others if reference_of(branch) and reference_of(other) == reference_of(branch)
        ]
        types = self._old.types(branch)
        return next(iter([*named, *(other for other in others if self._new.types(other) == types)]), None)

    def _overlap(self, pair: _Pair, new: list[Any]) -> Iterator[Change]:
        """``oneOf`` refuses what fits two alternatives."""
        if "oneOf" in pair.new and not all(self._new.disjoint(*two) for two in combinations(new, 2)):
            message = (
                "A value may fit two of the alternatives, of which 'oneOf' wants exactly one; use 'anyOf'."
            )
            yield pair.judged("choices-overlap", widened=False, message=message)

    def _parted(self, pair: _Pair, new: list[Any]) -> Iterator[Change]:
        """What had no alternatives has some now: one of them must take all that was taken."""
        before = _as_branch(pair.old)
        rest = {key: value for key, value in _as_branch(pair.new).items() if key not in _CHOICES}
        if rest:
            beside = self.nodes(before, rest, pair.path)
            yield from (change for change in beside if change.kind == "breaking")
        taken = [self._tried(before, _as_branch(branch), pair.path) for branch in new]
        fitting = [place for place, changes in enumerate(taken) if _harmless(changes)]
        partner = self._partner(before, new)
        chosen = next(iter(fitting), None if partner is None else new.index(partner))
        if chosen is None:
            message = "None of the alternatives takes all that was accepted."
            yield pair.judged("choice-removed", widened=False, message=message)
            return
        yield from taken[chosen]
        if len(new) > 1:
            yield pair.judged("choice-added", widened=True, message=f"{len(new) - 1} alternatives are new.")
        yield from self._overlap(pair, new)

    def _joined(self, pair: _Pair, old: list[Any]) -> Iterator[Change]:
        """What had alternatives has none now: all of them must still be taken."""
        rest = {key: value for key, value in _as_branch(pair.old).items() if key not in _CHOICES}
        after = _as_branch(pair.new)
        lost = [branch for branch in old if not self._takes(after, branch, rest, pair.path)]
        if lost:
            message = f"{len(lost)} of the alternatives are gone."
            yield pair.judged("choice-removed", widened=False, message=message)
        else:
            message = "All that the alternatives took is accepted without them."
            yield pair.judged("choices-joined", widened=True, message=message)

    def _takes(self, new: Mapping[str, Any], branch: Any, rest: Mapping[str, Any], path: str) -> bool:
        """Whether a schema takes all that an alternative took, or all that stood beside the alternatives."""
        return any(_harmless(self._tried(old, new, path)) for old in (_as_branch(branch), rest))

    def _all_of(self, pair: _Pair) -> Iterator[Change]:
        old, new = pair.old.get("allOf", []), pair.new.get("allOf", [])
        if len(old) == len(new):
            for before, after in zip(old, new, strict=True):
                yield from self.nodes(_as_branch(before), _as_branch(after), pair.path)
            return
        won = [part for part in new if not any(self._same(part, other) for other in old)]
        message = f"{len(won)} conditions are new." if won else "Conditions are gone."
        yield pair.judged("all-of", widened=not won, message=message)

    def _unjudged(self, pair: _Pair) -> Iterator[Change]:
        for word in sorted((pair.old.keys() | pair.new.keys()) - _JUDGED):
            if not self._same(pair.old.get(word), pair.new.get(word)):
                widened = word not in pair.new and word not in _NARROWS_WHEN_GONE
                message = f"{word!r} changed; judge it yourself."
                yield pair.judged("keyword-changed", widened=widened, message=message)


# --- single keywords ------------------------------------------------------------------------


def _texts(pair: _Pair) -> Iterator[Change]:
    if pair.old.get("description") != pair.new.get("description"):
        message = "The description changed; changing the meaning is breaking, even with the same schema."
        yield Change("note", "description-changed", pair.path, message)
    before, after = pair.old.get("default"), pair.new.get("default")
    if exact(before) != exact(after):
        message = (
            f"The default changed from {before!r} to {after!r}; calls that leave it out act differently."
        )
        yield Change("note", "default-changed", pair.path, message)


def _closed_sets(pair: _Pair) -> Iterator[Change]:
    old, new = values_of(pair.old), values_of(pair.new)
    if old is None and new is not None:
        yield pair.judged("enum-added", widened=False, message=f"Only {new!r} is accepted now.")
    elif old is not None and new is None:
        message = "Values are no longer limited to a closed set."
        yield pair.judged("enum-removed", widened=True, message=message)
    elif old is not None and new is not None:
        lost, won = _missing(old, new), _missing(new, old)
        if lost:
            yield pair.judged("enum-tightened", widened=False, message=f"{lost!r} is no longer accepted.")
        if won:
            yield pair.judged("enum-loosened", widened=True, message=f"{won!r} is accepted now.")


def _missing(values: list[Any], others: list[Any]) -> list[Any]:
    known = [exact(other) for other in others]
    return [value for value in values if exact(value) not in known]


def _bounds(pair: _Pair) -> Iterator[Change]:
    for kind, word, exclusive, sign in _BOUNDS:
        old, new = (_bound(schema, word, exclusive, sign) for schema in (pair.old, pair.new))
        if old == new or not _concerns(pair, kind):
            continue
        widened = new < old
        said = "wider" if widened else "narrower"
        shown = pair.new.get(word, pair.new.get(exclusive, "none"))
        yield pair.judged(
            f"range-{'widened' if widened else 'narrowed'}",
            widened=widened,
            message=f"{word} is {said} now: {shown}.",
        )


def _concerns(pair: _Pair, kind: str) -> bool:
    """Whether a constraint on one type could take anything away."""
    return kind in pair.types or (kind == "number" and "integer" in pair.types)


def _bound(schema: Mapping[str, Any], word: str, exclusive: str, sign: int) -> tuple[float, bool]:
    """How strict a bound is, the greater the stricter; an excluded bound is stricter than an included."""
    found = [(-math.inf, False)]
    if word in schema:
        found.append((sign * schema[word], False))
    if exclusive and exclusive in schema:
        found.append((sign * schema[exclusive], True))
    return max(found)


def _forms(pair: _Pair) -> Iterator[Change]:
    for word in ("pattern", "format"):
        old, new = pair.old.get(word), pair.new.get(word)
        if old != new and _concerns(pair, "string"):
            said = f"{word} changed from {old!r} to {new!r}."
            yield pair.judged(f"{word}-changed", widened=new is None, message=said)
    distinct = bool(pair.new.get("uniqueItems", False))
    if bool(pair.old.get("uniqueItems", False)) != distinct and _concerns(pair, "array"):
        message = "Whether elements may repeat changed."
        yield pair.judged("unique-items", widened=not distinct, message=message)
    old, new = pair.old.get("multipleOf"), pair.new.get("multipleOf")
    if old != new and _concerns(pair, "number"):
        widened = new is None or (
            old is not None and math.isclose(math.remainder(old, new), 0, abs_tol=1e-12)
        )
        message = f"multipleOf changed from {old!r} to {new!r}."
        yield pair.judged("multiple-of", widened=widened, message=message)


# --- properties -----------------------------------------------------------------------------


def _gone(path: str, successor: str | None) -> Change:
    if successor is None:
        return Change("breaking", "property-removed", path, "The property was removed.")
    return Change("breaking", "property-renamed", path, f"The property was renamed to {successor!r}.")


def _come(path: str, *, required: bool) -> Change:
    if required:
        return Change("breaking", "required-added", path, "The property is new and required.")
    return Change("compatible", "property-added", path, "The property is new and optional.")


def _obligation(path: str, *, now: bool, before: bool) -> Iterator[Change]:
    if now and not before:
        yield Change("breaking", "required-added", path, "The property is required now.")
    elif before and not now:
        yield Change("compatible", "required-removed", path, "The property is optional now.")


def _as_branch(schema: Any) -> Any:
    """An alternative without its outer texts, which may have been those of the whole property."""
    if not isinstance(schema, Mapping):
        return {} if schema is True else schema
    return {key: value for key, value in schema.items() if key not in TEXTS and key != "default"}


def _anything(schema: Any) -> Any:
    """Absent, true and empty all mean that anything goes."""
    return True if schema is None or schema == {} else schema


def _harmless(changes: tuple[Change, ...]) -> bool:
    return not any(change.kind == "breaking" for change in changes)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _listed(types: frozenset[str]) -> str:
    return "anything" if types == ALL_TYPES else " or ".join(sorted(types))
