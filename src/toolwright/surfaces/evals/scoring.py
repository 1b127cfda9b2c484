"""Whether what an agent did is what was expected of it (pure)."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from toolwright.contracts.evals import CallExpected, Expected
from toolwright.surfaces.evals.files import file_checks
from toolwright.surfaces.evals.found import Check, in_text, quoted
from toolwright.surfaces.evals.observing import Observed, ObservedCall
from toolwright.tool_calls.json_text import clipped, unfit
from toolwright.tool_calls.validation import InputValidator

__all__ = ["Check", "scored"]
_ANSWER = "the answer"


def scored(expected: Expected, observed: Observed) -> tuple[Check, ...]:
    """Return every check that can be made without asking anybody, in a fixed order.

    May raise DefinitionError for a schema that cannot be used.
    """
    return (
        _end(expected, observed),
        *(_called(wanted, observed.calls) for wanted in expected.called),
        *(_not_called(wanted, observed.calls) for wanted in expected.not_called),
        *_order(expected.order, observed.calls),
        *_text(expected, observed.text),
        *_limits(expected, observed),
        *file_checks(expected, observed),
    )


def _end(expected: Expected, observed: Observed) -> Check:
    why = f": {observed.message}" if observed.message else ""
    said = "" if observed.end == expected.end else f"it ended {observed.end!r}{why}"
    return Check(f"ends {expected.end}", said)


# --- calls ---------------------------------------------------------------------------------------


def _called(wanted: CallExpected, calls: Sequence[ObservedCall]) -> Check:
    times = sum(fits(wanted, call) for call in calls)
    enough = times >= wanted.least and (wanted.most is None or times <= wanted.most)
    name = f"calls {_described(wanted)}{_counted(wanted)}"
    return Check(name, "" if enough else f"it was called {_times(times)} {_tools_called(calls)}")


def _not_called(wanted: CallExpected, calls: Sequence[ObservedCall]) -> Check:
    times = sum(fits(wanted, call) for call in calls)
    return Check(f"does not call {_described(wanted)}", f"it was called {_times(times)}" if times else "")


def _order(tools: Sequence[str], calls: Sequence[ObservedCall]) -> Iterator[Check]:
    if not tools:
        return
    left = iter(calls)
    missing = next((tool for tool in tools if not any(_is_named(tool, call) for call in left)), None)
    said = "" if missing is None else f"{missing!r} does not come in its place; {_tools_called(calls)}"
    yield Check(f"calls in order {', '.join(tools)}", said)


def fits(wanted: CallExpected, call: ObservedCall) -> bool:
    """Whether a call is one of those that are meant."""
    if not _is_named(wanted.tool, call) or (wanted.state is not None and call.state != wanted.state):
        return False
    if wanted.input is not None and not holds(call.input, wanted.input):
        return False
    return wanted.input_schema is None or not InputValidator(wanted.input_schema).problems(call.input)


def holds(given: object, wanted: object) -> bool:
    """Whether a value is the wanted one; of keys with values it may have more, at every depth."""
    if isinstance(wanted, Mapping):
        return isinstance(given, Mapping) and all(
            name in given and holds(given[name], value) for name, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(given, list)
            and len(given) == len(wanted)
            and all(holds(one, other) for one, other in zip(given, wanted, strict=True))
        )
    return isinstance(given, bool) is isinstance(wanted, bool) and given == wanted


def _is_named(pattern: str, call: ObservedCall) -> bool:
    return any(name and fnmatchcase(name, pattern) for name in (call.tool, call.offered))


def _described(wanted: CallExpected) -> str:
    parts = [wanted.tool]
    if wanted.input is not None:
        parts.append(f"with {clipped(json.dumps(wanted.input, ensure_ascii=False), 120)}")
    if wanted.input_schema is not None:
        parts.append(f"with input of schema {clipped(json.dumps(wanted.input_schema), 120)}")
    if wanted.state is not None:
        parts.append(f"and it is {wanted.state}")
    return " ".join(parts)


def _counted(wanted: CallExpected) -> str:
    least, most = wanted.least, wanted.most
    if most is None:
        return "" if least == 1 else f", at least {_times(least)}"
    return f", {_times(least)}" if least == most else f", {least} to {_times(most)}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _tools_called(calls: Sequence[ObservedCall]) -> str:
    if not calls:
        return "(nothing was called)"
    shown = [
        f"{call.offered} {clipped(json.dumps(call.input, ensure_ascii=False), 80)}" for call in calls[:10]
    ]
    more = f", and {len(calls) - 10} more" if len(calls) > 10 else ""
    return f"(called were {', '.join(shown)}{more})"


# --- the answer ----------------------------------------------------------------------------------


def _text(expected: Expected, text: str) -> Iterator[Check]:
    yield from in_text(
        text, _ANSWER, contains=expected.contains, lacks=expected.lacks, matches=expected.matches
    )
    for pattern in expected.matches_none:
        found = re.search(pattern, text, re.MULTILINE)
        said = "" if found is None else f"it says {quoted(found[0])}"
        yield Check(f"{_ANSWER} does not match {pattern}", said)
    if expected.schema is not None:
        yield Check(f"{_ANSWER} fits the schema", _unfit(expected.schema, text))


def _unfit(schema: Mapping[str, Any], text: str) -> str:
    """What is wrong with an answer that should be JSON; empty when it fits."""
    validator = InputValidator(schema)
    try:
        value = json.loads(text, object_pairs_hook=_without_doubles, parse_constant=_refused)
    except RecursionError:
        return "it is nested too deep"
    except ValueError as problem:
        return f"it is not JSON ({problem}): {quoted(text)}"
    said = unfit(value)
    return said or "; ".join(
        problem.removeprefix("- ") for problem in validator.problems(value, bounded=True)
    )


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _refused(word: str) -> Any:
    raise ValueError(f"{word} is no JSON number")


# --- limits --------------------------------------------------------------------------------------


def _limits(expected: Expected, observed: Observed) -> Iterator[Check]:
    failed = sum(call.state in {"failed", "denied"} for call in observed.calls)
    measured: tuple[tuple[str, float | None, float], ...] = (
        ("calls", expected.max_calls, len(observed.calls)),
        ("failed calls", expected.max_failed_calls, failed),
        ("rounds", expected.max_rounds, observed.rounds),
        ("tokens", expected.max_tokens, observed.tokens),
        ("dollars", expected.max_cost, observed.cost),
    )
    for what, most, used in measured:
        if most is not None:
            yield Check(
                f"at most {most:g} {what}" if most < 1e6 else f"at most {most:,.0f} {what}",
                f"{used:g} were used" if used > most else "",
            )
