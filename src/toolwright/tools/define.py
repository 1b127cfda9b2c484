"""Three ways to write a tool, one contract: a decorated function, a class, or plain data.

::

    @tool(read_only=True)
    def add(a: int, b: int) -> int:
        \"\"\"Add two numbers.\"\"\"
        return a + b
"""

import dataclasses
import inspect
import logging
import os
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Unpack, overload

from toolwright.contracts.errors import DefinitionError
from toolwright.contracts.tool import (
    NO_PROMISES,
    CallContext,
    CallState,
    Input,
    Objection,
    Outcome,
    Schema,
    ToolSpec,
    Traits,
)
from toolwright.contracts.view import View
from toolwright.tools import docstrings, naming, outcomes
from toolwright.tools.docstrings import Docstring
from toolwright.tools.generic_view import generic_view
from toolwright.tools.members import (
    SPEC_NAMES,
    BuildMembers,
    Check,
    Members,
    SpecMembers,
    as_touches,
    promises,
    refuse_unknown,
)
from toolwright.tools.signature import Signature, kind_of, signature_of

__all__ = ["FunctionTool", "ToolClass", "build_tool", "described", "generic_view", "tool"]

_logger = logging.getLogger(__name__)

_CAUTIOUS: Mapping[str, Any] = {"destructive": True, "open_world": True}
"""What is believed of a promise whose function raises; all others are not made."""


class FunctionTool:
    """A tool around one function. Still callable as the function it was."""

    __slots__ = ("_check", "_fixed", "_function", "_predicates", "_signature", "_spec", "_view", "docstring")

    def __init__(
        self, function: Callable[..., Any], members: Mapping[str, Any], given: Signature | None
    ) -> None:
        refuse_unknown(members)
        self.docstring = docstrings.parse(function.__doc__)
        self._function = function
        self._signature = given or signature_of(function, self.docstring)
        self._spec = _spec(function, self._signature, self.docstring, members)
        self._fixed, self._predicates = promises(members)
        self._check: Check | None = members.get("check")
        self._view: Callable[[CallState], View] | None = members.get("view")

    @property
    def spec(self) -> ToolSpec:
        """Frozen data about the tool."""
        return self._spec

    def traits(self, input: Input) -> Traits:
        """The promises made for this input."""
        if not self._predicates:
            return self._fixed
        return dataclasses.replace(self._fixed, **{name: self._ask(name, input) for name in self._predicates})

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        """The opinion of the ``check`` member; none when there is no such member."""
        if self._check is None:
            return None
        answer = self._check(input, ctx)
        return await answer if inspect.isawaitable(answer) else answer

    async def call(self, input: Input, ctx: CallContext) -> Outcome:
        """Run the function with typed arguments."""
        return await outcomes.run(self._function, self._signature, input, ctx)

    def view(self, call: CallState) -> View:
        """The ``view`` member, else the generic view."""
        if self._view is not None:
            return self._view(call)
        return generic_view(self._spec, call, before=call.before)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the plain function, past everything a tool call is."""
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.spec.name}>"

    def _ask(self, name: str, input: Input) -> Any:
        try:
            value = self._predicates[name](input)
        except Exception:
            _logger.exception("%s of tool %s failed", name, self.spec.name)
            return _CAUTIOUS.get(name, getattr(NO_PROMISES, name))
        return as_touches(value) if name == "touches" else value


@overload
def tool(function: Callable[..., Any], /) -> FunctionTool: ...
@overload
def tool(**members: Unpack[Members]) -> Callable[[Callable[..., Any]], FunctionTool]: ...
def tool(function: Callable[..., Any] | None = None, /, **members: Any) -> Any:
    """Make a tool of a function: type hints and docstring become its schema and texts.

    Works bare and with members. A promise (``read_only``, ``destructive``, ...) is a constant or a function
    of the validated input; whatever is not promised is not assumed. Raises DefinitionError for what cannot
    be a tool and TypeError for an unknown member.
    """
    if function is not None:
        return FunctionTool(function, members, None)
    return lambda function: FunctionTool(function, members, None)


def build_tool(**members: Unpack[BuildMembers]) -> FunctionTool:
    """Make a tool from data: ``name``, ``description``, ``input_schema``, ``call`` and any other member.

    With an ``input_schema`` the function ``call`` gets the members of the input as keywords, or, when it
    takes ``input`` (and perhaps a CallContext) and the schema has no such property, the whole mapping.
    """
    rest: dict[str, Any] = dict(members)
    function = rest.pop("call", None)
    refuse_unknown(rest)
    if not callable(function):
        raise DefinitionError("a tool needs call=: the function that does the work")
    schema = rest.pop("input_schema", None)
    if schema is None:
        return FunctionTool(function, rest, None)
    return FunctionTool(function, rest, _given(function, checked_schema(schema)))


class ToolClass:
    """A tool with state or predicates of its own: subclass it, give ``spec`` and ``run``.

    The input schema is read from the signature of ``run`` when the class is made.
    """

    spec: ToolSpec
    run: Callable[..., Any]
    docstring: ClassVar[Docstring] = docstrings.EMPTY
    _signature: ClassVar[Signature]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        function, spec = getattr(cls, "run", None), getattr(cls, "spec", None)
        if function is None or spec is None or not cls.__dict__.keys() & {"run", "spec"}:
            return
        own = "spec" in cls.__dict__
        text = docstrings.parse(spec.description) if own else cls.docstring
        signature = signature_of(function, text, method=True)
        properties = signature.schema["properties"]
        for name in text.properties:
            if name not in properties:
                raise DefinitionError(
                    f"{spec.name}: its text describes {name!r}, which {cls.__name__}.run does not take"
                )
        cls.docstring = text
        cls._signature = signature
        cls.spec = dataclasses.replace(
            spec,
            description=text.description,
            input_schema=(own and spec.input_schema) or signature.schema,
            output_schema=spec.output_schema or signature.returns,
            blocking=signature.kind == "blocking",
            interrupt="block" if signature.kind == "blocking" else spec.interrupt,
        )

    def traits(self, input: Input) -> Traits:
        """Promises for one input; none by default."""
        del input
        return NO_PROMISES

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        """Semantic validation and the tool's own opinion; no objection by default."""
        del input, ctx
        return None

    async def call(self, input: Input, ctx: CallContext) -> Outcome:
        """Run ``run`` with typed arguments."""
        return await outcomes.run(self.run, self._signature, input, ctx)

    def view(self, call: CallState) -> View:
        """What a person sees; generic by default."""
        return generic_view(self.spec, call)


def described(file: str, **members: Unpack[SpecMembers]) -> ToolSpec:
    """A spec whose texts stand in the ``.md`` file beside ``file``; ToolClass takes them apart."""
    path = os.path.splitext(file)[0] + ".md"
    with open(path, encoding="utf-8") as handle:
        text = handle.read()
    naming.check_name(members["name"])
    data: dict[str, Any] = {"description": text, "input_schema": {}, **members}
    return ToolSpec(**data)


# --- parts ----------------------------------------------------------------------------------


def _spec(
    function: Callable[..., Any], signature: Signature, docs: Docstring, members: Mapping[str, Any]
) -> ToolSpec:
    data: dict[str, Any] = {
        "name": getattr(function, "__name__", ""),
        "description": docs.description,
        "output_schema": signature.returns,
    }
    if signature.kind == "blocking":
        data["blocking"] = True
        data["interrupt"] = "block"
    data.update((name, value) for name, value in members.items() if name in SPEC_NAMES)
    data["input_schema"] = signature.schema
    naming.check_name(data["name"], mcp=data.get("mcp") is not None)
    return ToolSpec(**data)


def checked_schema(schema: Schema) -> Schema:
    """An input schema written by hand. Raises DefinitionError unless its root is one plain object."""
    for word in ("anyOf", "oneOf", "allOf", "not", "$ref", "enum", "const"):
        if word in schema:
            raise DefinitionError(f"{word!r} at the root of an input schema: the input is always one object")
    if schema.get("type", "object") != "object":
        raise DefinitionError(f"the root of an input schema has type 'object', not {schema['type']!r}")
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping):
        raise DefinitionError("'properties' of an input schema is an object")
    missing = [name for name in schema.get("required", ()) if name not in properties]
    if missing:
        raise DefinitionError(f"{missing[0]!r} is required but is no property")
    return {"type": "object", "properties": properties, **schema}


def _given(function: Callable[..., Any], schema: Schema) -> Signature:
    """The signature of a function whose input is described by a schema instead of by its annotations."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError) as problem:
        raise DefinitionError(f"{function!r} has no signature that can be read") from problem
    context = next((name for name, p in parameters.items() if _takes_context(p, schema)), None)
    whole = "input" in parameters and "input" not in schema["properties"]
    return Signature(schema, None, context, kind_of(function), {}, whole=whole)


def _takes_context(parameter: inspect.Parameter, schema: Schema) -> bool:
    if parameter.annotation in {CallContext, "CallContext"}:
        return True
    return parameter.name == "ctx" and "ctx" not in schema["properties"]
