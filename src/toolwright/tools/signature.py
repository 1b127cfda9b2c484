"""From the signature of a Python function to the schema of its input, and from JSON to its arguments."""

import builtins
import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field
from typing import Any, Literal, NamedTuple

from toolwright.contracts.content import DocumentBlock, ImageBlock, TextBlock
from toolwright.contracts.errors import DefinitionError, ToolFailure
from toolwright.contracts.tool import CallContext, Done, Failed, Progress, Schema, Waiting
from toolwright.tools import shapes
from toolwright.tools.docstrings import EMPTY, Docstring
from toolwright.tools.fields import Field
from toolwright.tools.type_shape import Convert, Definitions, Shape, property_schema

FunctionKind = Literal["blocking", "async", "stream"]

_MAYBE_CONTEXT = CallContext | None
_OUTCOMES = (Done, Failed, Waiting, Progress, TextBlock, ImageBlock, DocumentBlock)
_UNTYPED = (None, type(None), str, Any, object, inspect.Signature.empty)


@dataclass(frozen=True, slots=True)
class Signature:
    """What is known of a function: the schema of its input, of its value, and how it is called."""

    schema: Schema
    returns: Schema | None
    context: str | None
    """The parameter that receives the CallContext."""
    kind: FunctionKind
    converts: Mapping[str, Convert]
    renames: Mapping[str, str] = field(default_factory=dict)
    """Properties whose parameter has another name: property → parameter."""
    whole: bool = False
    """The function takes the input as one mapping named ``input``."""

    def arguments(self, input: Mapping[str, Any]) -> dict[str, Any]:
        """Typed arguments from validated input. Raises ToolFailure when a type of yours refuses a value."""
        if self.whole:
            return {"input": input}
        arguments = dict(input)
        for name, convert in self.converts.items():
            if name in arguments:
                try:
                    arguments[name] = convert(arguments[name])
                except (ValueError, TypeError) as problem:
                    raise ToolFailure("invalid_input", f"{name}: {problem}") from problem
        for name, parameter in self.renames.items():
            if name in arguments:
                arguments[parameter] = arguments.pop(name)
        return arguments


class _Parameter(NamedTuple):
    name: str
    annotation: Any
    default: Any


def signature_of(function: Callable[..., Any], docs: Docstring = EMPTY, *, method: bool = False) -> Signature:
    """Read a function. With ``method`` its first parameter is the instance and is left out.

    Raises DefinitionError, naming the parameter, for what has no place in a schema.
    """
    target = inspect.unwrap(function) if hasattr(function, "__wrapped__") else function
    annotations, parameters = _parameters(target, method=method)
    definitions = Definitions()
    properties: dict[str, Schema] = {}
    required: list[str] = []
    converts: dict[str, Convert] = {}
    renames: dict[str, str] = {}
    context: str | None = None
    for name, annotation, default in parameters:
        if annotation.__class__ is str:
            annotation = _resolved(target, name, annotation)
        if annotation is CallContext or annotation == _MAYBE_CONTEXT:
            if context is not None:
                raise DefinitionError(f"parameter {name!r}: {context!r} already receives the CallContext")
            context = name
            continue
        shape = _shape(name, annotation, default, definitions)
        given = "" if annotation.__class__ is type else _given_name(annotation)
        if given:
            renames[given] = name
            name = given
        properties[name] = property_schema(shape, docs.properties.get(name, ""), default)
        if default is MISSING:
            required.append(name)
        if shape.convert is not None:
            converts[name] = shape.convert
    schema = _root(properties, required, definitions)
    returns = _returns(target, annotations.get("return"), docs)
    return Signature(schema, returns, context, kind_of(function), converts, renames)


def _given_name(annotation: Any) -> str:
    """The name a property is given by its ``Field``, empty when it has the parameter's."""
    metadata = getattr(annotation, "__metadata__", ())
    return next((item.name for item in metadata if isinstance(item, Field) and item.name), "")


def _root(properties: dict[str, Schema], required: list[str], definitions: Definitions) -> Schema:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    if definitions.schemas:
        schema["$defs"] = definitions.schemas
    return schema


def _shape(name: str, annotation: Any, default: Any, definitions: Definitions) -> Shape:
    if isinstance(default, Field):
        raise DefinitionError(
            f"parameter {name!r}: write Annotated[..., Field(...)], not a default of Field(...)"
        )
    try:
        return shapes.shape_of(annotation, definitions)
    except DefinitionError as problem:
        raise DefinitionError(f"parameter {name!r}: {problem}") from problem


# --- parameters -----------------------------------------------------------------------------


def _parameters(function: Callable[..., Any], *, method: bool) -> tuple[Mapping[str, Any], list[_Parameter]]:
    if not isinstance(function, types.FunctionType):
        return _inspected(function)
    code = function.__code__
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) or code.co_posonlyargcount:
        _refuse(function)
    annotations = function.__annotations__
    positional = code.co_argcount
    names = code.co_varnames[: positional + code.co_kwonlyargcount]
    defaults = function.__defaults__ or ()
    named = function.__kwdefaults__ or {}
    first = positional - len(defaults)
    parameters = []
    for number in range(1 if method else 0, len(names)):
        name = names[number]
        if name not in annotations:
            raise DefinitionError(f"parameter {name!r} of {function.__qualname__} has no annotation")
        if number >= positional:
            default = named.get(name, MISSING)
        else:
            default = defaults[number - first] if number >= first else MISSING
        parameters.append(_Parameter(name, annotations[name], default))
    return annotations, parameters


def _inspected(function: Callable[..., Any]) -> tuple[Mapping[str, Any], list[_Parameter]]:
    """Callable objects, bound methods and partials, read the slow way."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError) as problem:
        raise DefinitionError(f"{function!r} has no signature that can be read") from problem
    empty = inspect.Parameter.empty
    parameters = []
    for parameter in found.parameters.values():
        _refuse_kind(parameter)
        if parameter.annotation is empty:
            raise DefinitionError(f"parameter {parameter.name!r} of {function!r} has no annotation")
        default = MISSING if parameter.default is empty else parameter.default
        parameters.append(_Parameter(parameter.name, parameter.annotation, default))
    return {"return": found.return_annotation}, parameters


def _refuse(function: Callable[..., Any]) -> None:
    for parameter in inspect.signature(function).parameters.values():
        _refuse_kind(parameter)


def _refuse_kind(parameter: inspect.Parameter) -> None:
    if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
        raise DefinitionError(f"parameter {parameter.name!r} is positional-only; tools are called by name")
    if parameter.kind in {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}:
        raise DefinitionError(
            f"parameter {str(parameter).split(':')[0]!r} takes any number of arguments; name each one"
        )


def _resolved(function: Callable[..., Any], name: str, text: str) -> Any:
    """An annotation written as text. Plain names are looked up; the rest is left to ``typing``."""
    owner = _innermost(function)
    scope: dict[str, Any] = getattr(owner, "__globals__", {})
    enclosed = _enclosed(owner)
    if text.isidentifier():
        for names in (enclosed, scope, vars(builtins)):
            if text in names:
                found = names[text]
                return found if not isinstance(found, str) else _resolved(function, name, found)
    holder = types.SimpleNamespace(__annotations__={name: text})
    try:
        return typing.get_type_hints(holder, scope, enclosed, include_extras=True)[name]
    except (NameError, SyntaxError, TypeError, AttributeError) as problem:
        raise DefinitionError(
            f"parameter {name!r}: the annotation {text!r} cannot be read: {problem}"
        ) from problem


def _innermost(function: Callable[..., Any]) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, types.MethodType):
        return function.__func__
    return function if isinstance(function, types.FunctionType) else type(function).__call__


def _enclosed(function: Any) -> dict[str, Any]:
    """Names of the functions around this one, as far as it holds on to them."""
    code = getattr(function, "__code__", None)
    found = {}
    for name, cell in zip(
        getattr(code, "co_freevars", ()), getattr(function, "__closure__", None) or (), strict=False
    ):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # still empty: assigned after the definition
            continue
    return found


# --- what comes back ------------------------------------------------------------------------


def kind_of(function: Callable[..., Any]) -> FunctionKind:
    """How a function is to be called."""
    inner = _innermost(function)
    flags = inner.__code__.co_flags if isinstance(inner, types.FunctionType) else 0
    if flags & inspect.CO_ASYNC_GENERATOR:
        return "stream"
    if flags & (inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE):
        return "async"
    if flags & inspect.CO_GENERATOR:
        raise DefinitionError(
            f"{inner.__qualname__} is a generator; write it as 'async def' to report progress"
        )
    return "async" if inspect.iscoroutinefunction(function) else "blocking"


def _returns(function: Callable[..., Any], annotation: Any, docs: Docstring) -> Schema | None:
    """The schema of the value, where the annotation has one without asking a stranger."""
    described: Schema | None = {"description": docs.returns} if docs.returns else None
    try:
        if annotation.__class__ is str:
            annotation = _resolved(function, "return", annotation)
        if _says_nothing(annotation):
            return described
        schema = _root_of_value(annotation)
    except DefinitionError:  # a value no schema describes is still a value
        return described
    return {**schema, **described} if described else schema


def _says_nothing(annotation: Any) -> bool:
    """Whether the value is no data: text, nothing, an outcome or a stream. Compared by identity: hints may
    have no hash."""
    if any(annotation is other for other in _UNTYPED):
        return True
    parts = (annotation, *typing.get_args(annotation))
    if any(part is other for part in parts for other in _OUTCOMES):
        return True
    return typing.get_origin(annotation) in _STREAMS


def _root_of_value(annotation: Any) -> Schema:
    definitions = Definitions(foreign=False)
    schema = shapes.shape_of(annotation, definitions).whole_schema
    return {**schema, "$defs": definitions.schemas} if definitions.schemas else schema


_STREAMS = frozenset(
    {typing.get_origin(typing.AsyncIterator[int]), typing.get_origin(typing.AsyncGenerator[int, None])}
)
