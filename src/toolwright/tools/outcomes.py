"""Running tool functions, and turning what they return into outcomes."""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Self

from toolwright.contracts.content import DocumentBlock, ImageBlock, TextBlock
from toolwright.contracts.tool import CallContext, Done, Failed, Input, Outcome, Progress, Waiting
from toolwright.tools.signature import FunctionKind, Signature

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_THREADS = 256
_BLOCKS = (TextBlock, ImageBlock, DocumentBlock)


async def run(function: Callable[..., Any], signature: Signature, input: Input, ctx: CallContext) -> Outcome:
    """Call ``function`` with its typed arguments and make an outcome of what it returns."""
    arguments = signature.arguments(input)
    if signature.context is None:
        return outcome_of(await _value(function, signature.kind, arguments, ctx))
    if signature.kind != "blocking":
        arguments[signature.context] = ctx
        return outcome_of(await _value(function, signature.kind, arguments, ctx))
    with _ThreadReports(ctx.report) as report:
        arguments[signature.context] = dataclasses.replace(ctx, report=report)
        return outcome_of(await _value(function, signature.kind, arguments, ctx))


async def _value(
    function: Callable[..., Any], kind: FunctionKind, arguments: Mapping[str, Any], ctx: CallContext
) -> Any:
    if kind == "async":
        return await function(**arguments)
    if kind == "stream":
        return await _last(function(**arguments), ctx)
    value = await _in_thread(functools.partial(function, **arguments))
    return await value if inspect.isawaitable(value) else value


async def _last(stream: Any, ctx: CallContext) -> Any:
    """Report what is progress; the last other thing that a stream yields is its value."""
    value = None
    async with aclosing(stream):
        async for item in stream:
            if isinstance(item, Progress):
                ctx.report(item)
            else:
                value = item
    return value


# --- threads --------------------------------------------------------------------------------


async def _in_thread(work: Callable[[], Any]) -> Any:
    """Run in a worker thread. A thread cannot be stopped: a cancelled call leaves it to end by itself."""
    import asyncio  # half of what importing this package would take
    import contextvars

    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(_pool(), context.run, _finished, work)


def _finished(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except StopIteration as stop:  # no future can carry it: the call would wait for ever
        raise RuntimeError("the function raised StopIteration") from stop


@functools.cache
def _pool() -> "ThreadPoolExecutor":
    """Threads of our own, sized for waiting and not for cores, and started only when they are needed."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(_THREADS, thread_name_prefix="toolwright-tool")


class _ThreadReports:
    """Brings reports from any thread to the event loop, in order; those after the end are dropped."""

    def __init__(self, report: Callable[[Progress], None]) -> None:
        self._report = report
        import asyncio

        self._loop = asyncio.get_running_loop()
        self._open = True

    def __call__(self, progress: Progress) -> None:
        if self._open:
            self._loop.call_soon_threadsafe(self._deliver, progress)

    def _deliver(self, progress: Progress) -> None:
        if self._open:
            self._report(progress)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._open = False


# --- values ---------------------------------------------------------------------------------


def outcome_of(value: Any) -> Outcome:
    """Outcomes pass; text and blocks are content; any other value is written as compact JSON."""
    if isinstance(value, (Done, Failed, Waiting)):
        return value
    if isinstance(value, str):
        return Done(value)
    if value is None:
        return Done("")
    if isinstance(value, _BLOCKS):
        return Done((value,))
    if isinstance(value, (tuple, list)) and value and all(isinstance(item, _BLOCKS) for item in value):
        return Done(tuple(value))
    text = json_text(value)
    return Done(text, data=value if isinstance(value, (int, float)) else _loads(text))


def json_text(value: Any, *, sort_keys: bool = False) -> str:
    """Compact JSON. Raises TypeError for a value that JSON cannot hold."""
    import orjson

    option = orjson.OPT_SORT_KEYS if sort_keys else 0
    try:
        return orjson.dumps(value, default=_plain, option=option | orjson.OPT_NON_STR_KEYS).decode()
    except orjson.JSONEncodeError as problem:
        return _slow_text(value, problem, sort_keys=sort_keys)


def _slow_text(value: Any, problem: Exception, *, sort_keys: bool) -> str:
    """Integers beyond 64 bits are fine for JSON, though not for the quick writer."""
    import json

    compact = json.JSONEncoder(
        ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=sort_keys, default=_plain
    )
    try:
        return compact.encode(value)
    except (TypeError, ValueError):
        message = f"the value of type {type(value).__name__} cannot be written as JSON: {problem}"
        raise TypeError(message) from problem


def _plain(value: Any) -> Any:
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "__fspath__"):
        return value.__fspath__()
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    raise TypeError(f"{type(value).__name__} is not JSON")


def _loads(text: str) -> Any:
    import json

    return json.loads(text)
