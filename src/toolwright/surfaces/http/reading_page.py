"""A page that tells a person what an OpenAPI document says: plain HTML, no script."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "code{background:#8881;padding:.1em .3em;border-radius:3px}h2{margin-top:2.5rem}"
    "table{border-collapse:collapse}td,th{text-align:left;padding:.15rem .8rem .15rem 0;vertical-align:top}"
)


def page(document: Mapping[str, Any]) -> str:
    """Return the page."""
    info = document["info"]
    title = escape(f"{info['title']} {info['version']}")
    body = "\n".join(_groups(document))
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title><style>{_STYLE}</style>"
        f"<h1>{title}</h1><p>As a machine reads it: <code>openapi.json</code> beside this page.</p>"
        f"{body}</html>"
    )


def _groups(document: Mapping[str, Any]) -> Iterator[str]:
    groups: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            groups.setdefault(operation["tags"][0], []).append(_operation(path, method, operation))
    for name, told in groups.items():
        yield f"<h2>{escape(name)}</h2>"
        yield from told


def _operation(path: str, method: str, operation: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(one['name'])}</code><td>{escape(one['in'])}<td>{escape(_kind(one['schema']))}"
        for one in operation["parameters"]
    )
    body = operation.get("requestBody")
    if body is not None:
        for media, content in body["content"].items():
            rows += f"<tr><td>body<td>{escape(media)}<td>{escape(_kind(content['schema']))}"
    table = f"<table>{rows}</table>" if rows else ""
    head = f"<code>{method.upper()} {escape(path)}</code> {escape(operation['summary'])}"
    return f"<section><h3>{head}</h3>{table}</section>"


def _kind(schema: Mapping[str, Any]) -> str:
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(_kind(one) for one in schema[key]))
    if "properties" in schema:
        required = set(schema.get("required", ()))
        return ", ".join(name if name in required else f"{name}?" for name in schema["properties"])
    return str(
        schema.get("const") or schema.get("format") or schema.get("type") or schema.get("title", "any")
    )
