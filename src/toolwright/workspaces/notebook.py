"""Jupyter notebooks as text: parsed, changed cell by cell, and written in the style they had."""

import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from toolwright.contracts.errors import ToolFailure

CellType = Literal["code", "markdown", "raw"]

_INDENT = re.compile(r"^[\[{]\r?\n([ \t]+)\S")
_BY_PLACE = re.compile(r"cell-(\d+)")


@dataclass(frozen=True, slots=True)
class Notebook:
    """A parsed notebook and how its JSON was written. ``root`` is changed in place."""

    root: dict[str, Any]
    cells: list[dict[str, Any]]
    indent: str | None
    separators: tuple[str, str]
    ascii_only: bool
    ending: str

    @property
    def names_cells(self) -> bool:
        """Whether the format (4.5 and later) gives cells ids."""
        major, minor = self.root.get("nbformat", 4), self.root.get("nbformat_minor", 0)
        return isinstance(major, int) and isinstance(minor, int) and (major, minor) >= (4, 5)

    def text(self) -> str:
        """The notebook as JSON in the style it had."""
        written = json.dumps(
            self.root, indent=self.indent, separators=self.separators, ensure_ascii=self.ascii_only
        )
        return written + self.ending

    def position(self, name: str) -> int:
        """The place of a cell by its id, or by ``cell-N`` where it has none. Raises ToolFailure."""
        for index, cell in enumerate(self.cells):
            if cell.get("id") == name:
                return index
        by_place = _BY_PLACE.fullmatch(name)
        if by_place and int(by_place[1]) < len(self.cells) and "id" not in self.cells[int(by_place[1])]:
            return int(by_place[1])
        raise ToolFailure(
            "no_match",
            f"There is no cell {name!r}.",
            hint="Cells: " + ", ".join(cell_id_of(cell, index) for index, cell in enumerate(self.cells[:50])),
        )


def parse_notebook(text: str, path: str) -> Notebook:
    """Read a notebook. Raises ToolFailure when the text is none."""
    try:
        root = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ToolFailure(
            "unsupported", f"{path} is not a notebook: its JSON is broken ({error})."
        ) from error
    cells = root.get("cells") if isinstance(root, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise ToolFailure("unsupported", f"{path} is not a notebook: it has no list of cells.")
    body = text.rstrip()
    indent = _INDENT.match(body)
    spaced = indent is not None or '": ' in body
    return Notebook(
        root=root,
        cells=cells,
        indent=indent[1] if indent else None,
        separators=("," if indent else ", " if spaced else ",", ": " if spaced else ":"),
        ascii_only=body.isascii() and "\\u" in body,
        ending=text[len(body) :],
    )


def cell_id_of(cell: Mapping[str, Any], index: int) -> str:
    """The id of a cell, or ``cell-N`` where the format has none."""
    name = cell.get("id")
    return name if isinstance(name, str) and name else f"cell-{index}"


def source_of(cell: Mapping[str, Any]) -> str:
    source = cell.get("source", "")
    if isinstance(source, list):
        return "".join(part for part in source if isinstance(part, str))
    return source if isinstance(source, str) else ""


def replace_source(cell: dict[str, Any], source: str, cell_type: CellType | None) -> None:
    """Give a cell new text (and perhaps another type). Code that changed has no outputs."""
    lines = not isinstance(cell.get("source"), str)
    cell["source"] = source.splitlines(keepends=True) if lines else source
    if cell_type is not None:
        cell["cell_type"] = cell_type
    if cell.get("cell_type") == "code":
        cell["execution_count"] = None
        cell["outputs"] = []
    else:
        cell.pop("execution_count", None)
        cell.pop("outputs", None)


def insert_cell(notebook: Notebook, at: int, source: str, cell_type: CellType) -> str:
    """Put a new cell at a place; return its id."""
    cell: dict[str, Any] = {"cell_type": cell_type}
    if cell_type == "code":
        cell["execution_count"] = None
    if notebook.names_cells:
        cell["id"] = _fresh_id(notebook)
    cell["metadata"] = {}
    if cell_type == "code":
        cell["outputs"] = []
    cell["source"] = source.splitlines(keepends=True)
    notebook.cells.insert(at, cell)
    return cell_id_of(cell, at)


def _fresh_id(notebook: Notebook) -> str:
    taken = {cell.get("id") for cell in notebook.cells}
    while (name := secrets.token_hex(4)) in taken:
        continue
    return name
