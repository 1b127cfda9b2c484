"""Rules about paths: which places may be read, written, or only with a person's word.

A path is judged under every spelling: as given, and every place it leads to through links. Denying and
asking need one spelling to match; allowing needs all of them.
"""

import sys
from collections.abc import Iterable, Iterator
from functools import cached_property
from re import Pattern

from toolwright.contracts.permissions import Behavior, Rule
from toolwright.contracts.tool import Access
from toolwright.tool_calls.permissions.families import EDIT, READ, family
from toolwright.tool_calls.permissions.path_patterns import (
    PathPattern,
    climbed,
    expression,
    path_key,
    read_pattern,
)
from toolwright.tool_calls.permissions.protected import is_critical, is_protected, lasting_places
from toolwright.tool_calls.permissions.subject import Policy

_PRIVATE = ("/private/etc", "/private/var", "/private/tmp")
_Compiled = tuple[tuple[Rule, Pattern[str]], ...]


class PathRules:
    """The path rules of one policy, compiled. Judging looks at the disk only through ``policy.resolve``."""

    def __init__(self, policy: Policy, *, private_prefix: bool = sys.platform == "darwin") -> None:
        self._policy = policy
        self._private_prefix = private_prefix
        self._written: dict[Behavior, tuple[tuple[Rule, str], ...]] = {
            "allow": _about_paths(policy.rules.allow),
            "ask": _about_paths(policy.rules.ask),
            "deny": _about_paths(policy.rules.deny),
        }
        self._compiled: dict[tuple[Behavior, str], _Compiled] = {}

    @cached_property
    def _roots(self) -> tuple[str, ...]:
        mounted = tuple(mount.path for mount in self._policy.mounts if mount.writable)
        return self._with_resolved((*self._policy.roots, *mounted))

    @cached_property
    def _free(self) -> tuple[str, ...]:
        mounted = tuple(mount.path for mount in self._policy.mounts)
        return self._with_resolved((*self._policy.readable, *mounted))

    @cached_property
    def _lasting(self) -> tuple[str, ...]:
        policy = self._policy
        places = lasting_places(policy.home, (policy.cwd, policy.original_cwd), policy.roots)
        places = (*places, *(mount.path for mount in policy.mounts))
        return self._with_resolved(places)

    @property
    def restrict(self) -> bool:
        """Whether there is any deny or ask rule about paths."""
        return bool(self._written["deny"] or self._written["ask"])

    def denied(self, path: str, access: Access) -> Rule | None:
        return self.denied_at(self.spellings(path), access)

    def asked(self, path: str, access: Access) -> Rule | None:
        return self.asked_at(self.spellings(path), access)

    def allowed(self, path: str, access: Access) -> Rule | None:
        return self.allowed_at(self.spellings(path), access)

    def inside(self, path: str) -> bool:
        return self.inside_at(self.spellings(path))

    def readable(self, path: str) -> bool:
        return self.readable_at(self.spellings(path))

    def protected(self, path: str) -> bool:
        return self.protected_at(self.spellings(path))

    def critical(self, path: str) -> bool:
        return self.critical_at(self.spellings(path))

    def spellings(self, path: str) -> tuple[str, ...]:
        """Return the path and every place it leads to."""
        return (path, *self._policy.resolve(path))

    def denied_at(self, spellings: Iterable[str], access: Access) -> Rule | None:
        """Return a deny rule for any spelling. Writing is refused where reading is."""
        return self._first("deny", spellings, (READ,) if access == "read" else (EDIT, READ))

    def asked_at(self, spellings: Iterable[str], access: Access) -> Rule | None:
        """Return an ask rule for any spelling."""
        return self._first("ask", spellings, (READ,) if access == "read" else (EDIT, READ))

    def allowed_at(self, spellings: Iterable[str], access: Access) -> Rule | None:
        """Return the allow rule of the last spelling if each one has a rule, or may be read anyway."""
        families = (READ, EDIT) if access == "read" else (EDIT,)
        granting: Rule | None = None
        for key in self._keys(spellings):
            rule = self._match("allow", key, families)
            if rule is None and not (access == "read" and self._free_to_read(key)):
                return None
            granting = rule or granting
        return granting

    def inside_at(self, spellings: Iterable[str]) -> bool:
        return all(_below(key, self._roots) for key in self._keys(spellings))

    def readable_at(self, spellings: Iterable[str]) -> bool:
        return all(self._free_to_read(key) for key in self._keys(spellings))

    def protected_at(self, spellings: Iterable[str]) -> bool:
        return any(is_protected(key) for key in self._keys(spellings))

    def critical_at(self, spellings: Iterable[str]) -> bool:
        return any(is_critical(key, kept=self._lasting) for key in self._keys(spellings))

    def _first(self, behavior: Behavior, spellings: Iterable[str], families: tuple[str, ...]) -> Rule | None:
        if not self._written[behavior]:
            return None
        keys = self._keys(self._with_originals(spellings))
        found = (self._match(behavior, key, families) for key in keys)
        return next((rule for rule in found if rule is not None), None)

    def _with_originals(self, spellings: Iterable[str]) -> Iterator[str]:
        """Return the spellings, and for each that lies in a copy what it is a copy of."""
        for path in spellings:
            yield path
            if self._policy.stands_for is not None:
                copy, original = self._policy.stands_for
                if path == copy or path.startswith(f"{copy}/"):
                    yield original + path[len(copy) :]

    def _match(self, behavior: Behavior, key: str, families: tuple[str, ...]) -> Rule | None:
        for kind in families:
            for rule, pattern in self._expressions(behavior, kind):
                if pattern.match(key):
                    return rule
        return None

    def _free_to_read(self, key: str) -> bool:
        return _below(key, self._roots) or _below(key, self._free)

    def _keys(self, spellings: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._key(path) for path in spellings))

    def _key(self, path: str) -> str:
        key = path_key(path, case_folds=self._policy.case_folds)
        if self._private_prefix and _below(key, _PRIVATE):
            return key.removeprefix("/private")
        return key

    def _with_resolved(self, paths: tuple[str, ...]) -> tuple[str, ...]:
        return self._keys(spelling for path in paths for spelling in (path, *self._policy.resolve(path)[-1:]))

    def _expressions(self, behavior: Behavior, kind: str) -> _Compiled:
        """The rules of one family, compiled when they are first asked."""
        compiled = self._compiled.get((behavior, kind))
        if compiled is None:
            compiled = self._compiled[behavior, kind] = tuple(
                (rule, self._expression(rule, content, strict=behavior != "allow"))
                for rule, content in self._written[behavior]
                if family(rule.tool) == kind
            )
        return compiled

    def _expression(self, rule: Rule, content: str, *, strict: bool) -> Pattern[str]:
        pattern = read_pattern(content.casefold() if self._policy.case_folds else content)
        anywhere = pattern.anywhere(strict=strict)
        lead = () if anywhere else pattern.lead
        places = self._places(climbed(self._directory(pattern, rule), pattern.climbs), lead, strict=strict)
        return expression(pattern.segments[len(lead) :], places, anywhere=anywhere, strict=strict)

    def _directory(self, pattern: PathPattern, rule: Rule) -> str:
        policy = self._policy
        match pattern.anchor:
            case "root":
                return "/"
            case "home":
                return policy.home
            case "source":
                return rule.base or policy.original_cwd
            case _:
                return policy.original_cwd

    def _places(self, directory: str, lead: tuple[str, ...], *, strict: bool) -> tuple[str, ...]:
        """Where a pattern starts. What a rule refuses, it refuses also where its own links lead."""
        resolve = self._policy.resolve
        places = ["/".join((place.rstrip("/"), *lead)) for place in (directory, *resolve(directory)[-1:])]
        if strict and lead:
            places += resolve(places[0])[-1:]
        return self._keys(places)


def _about_paths(rules: tuple[Rule, ...]) -> tuple[tuple[Rule, str], ...]:
    paths = (rule for rule in rules if family(rule.tool) in {READ, EDIT})
    return tuple((rule, rule.content) for rule in paths if rule.content is not None)


def _below(key: str, places: tuple[str, ...]) -> bool:
    return any(key == place or key.startswith(f"{place}/") for place in places)
