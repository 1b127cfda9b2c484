"""The OpenAPI document, made of the routes that are served."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import TypeAdapter

from toolwright.surfaces.http.routes import Route

_REF: Final = "#/components/schemas/{model}"
_IN_PATH: Final = re.compile(r"\{(\w+)(?::\w+)?\}")


def document(
    routes: Sequence[Route], *, version: str, error: Any, title: str = "Toolwright"
) -> dict[str, Any]:
    """Return the document for some routes; ``error`` is the shape of every refusal."""
    schemas: dict[str, Any] = {}
    refused = _schema(error, schemas)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        path = _IN_PATH.sub(r"{\1}", route.path)
        paths.setdefault(path, {})[route.method.lower()] = _operation(route, schemas, refused)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
            },
        },
        "security": [{"bearer": []}, {"key": []}],
    }


def _operation(route: Route, schemas: dict[str, Any], refused: Mapping[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": route.summary,
        "operationId": _operation_id(route),
        "tags": [route.group],
        "parameters": [*_path_parameters(route), *_query_parameters(route, schemas), *_headers(route)],
        "responses": {
            "200": {"description": "Done", "content": {route.media: {"schema": _success(route, schemas)}}},
            "default": {"description": "Refused", "content": {"application/json": {"schema": refused}}},
        },
    }
    if route.body is not None:
        body = _schema(route.body, schemas, mode="validation")
        operation["requestBody"] = {"required": True, "content": {route.accepts: {"schema": body}}}
    return operation


def _success(route: Route, schemas: dict[str, Any]) -> Mapping[str, Any]:
    if route.returns is not None:
        return _schema(route.returns, schemas)
    return {"type": "string"} if route.media.startswith("text/") else {"type": "string", "format": "binary"}


def _operation_id(route: Route) -> str:
    words = re.findall(r"\w+", route.path)
    return "_".join([route.method.lower(), *words])


def _path_parameters(route: Route) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _IN_PATH.findall(route.path)
    ]


def _query_parameters(route: Route, schemas: dict[str, Any]) -> list[dict[str, Any]]:
    if route.query is None:
        return []
    whole = TypeAdapter(route.query).json_schema(ref_template=_REF, by_alias=True)
    schemas.update(whole.pop("$defs", {}))
    return [
        {
            "name": f"{name}[]" if schema.get("type") == "array" else name,
            "in": "query",
            "required": name in whole.get("required", ()),
            "schema": schema,
        }
        for name, schema in whole.get("properties", {}).items()
    ]


def _headers(route: Route) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "header", "required": True, "schema": {"const": value}}
        for name, _, value in (header.partition(": ") for header in route.headers)
    ]


def _schema(shape: Any, schemas: dict[str, Any], *, mode: Any = "serialization") -> dict[str, Any]:
    whole = TypeAdapter(shape).json_schema(ref_template=_REF, mode=mode)
    schemas.update(whole.pop("$defs", {}))
    return whole
