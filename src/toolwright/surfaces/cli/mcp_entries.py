"""An entry of a server out of the words of a command (pure)."""

from collections.abc import Iterable, Sequence
from typing import Any

import typer

_ADDRESSES = {"http://": "http", "https://": "http", "ws://": "ws", "wss://": "ws"}


def entry_of(
    target: Sequence[str], *, kind: str, env: Iterable[str], headers: Iterable[str]
) -> dict[str, Any]:
    """Return an entry as it is written in a file. Raises typer.BadParameter."""
    usual = next(
        (found for start, found in _ADDRESSES.items() if target[0].lower().startswith(start)), "stdio"
    )
    kind = kind or usual
    if kind == "stdio":
        if list(headers):
            raise typer.BadParameter("--header goes with an address; a program takes --env.")
        return _program(target, env)
    if usual == "stdio":
        raise typer.BadParameter(f"--type {kind} takes an address, such as https://mcp.example.com/mcp.")
    if len(target) > 1:
        raise typer.BadParameter("an address takes no further words.")
    if list(env):
        raise typer.BadParameter("--env goes with a program; an address takes --header.")
    entry: dict[str, Any] = {"type": kind, "url": target[0]}
    given = dict(_parted(header, ":", "--header takes 'NAME: VALUE'.") for header in headers)
    return {**entry, "headers": given} if given else entry


def _program(target: Sequence[str], env: Iterable[str]) -> dict[str, Any]:
    entry: dict[str, Any] = {"command": target[0]}
    if len(target) > 1:
        entry["args"] = list(target[1:])
    given = dict(_parted(variable, "=", "--env takes NAME=VALUE.") for variable in env)
    return {**entry, "env": given} if given else entry


def _parted(text: str, mark: str, wrong: str) -> tuple[str, str]:
    name, found, value = text.partition(mark)
    if not found or not name.strip():
        raise typer.BadParameter(wrong)
    return name.strip(), value.strip()
