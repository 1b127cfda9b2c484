"""What a person sees, as plain data: a tree of nodes that any renderer can draw.

The same tree is stored with the call, so that an old call can be drawn without the tool's code.
``n`` names the kind of a node in JSON; nobody else sets it. Nodes have no slots: see ``events``.
"""

from dataclasses import field
from typing import Literal

from toolwright.contracts.values import value

Style = Literal["plain", "dim", "bold", "ok", "warn", "error", "accent", "code"]
Tone = Literal["neutral", "ok", "warn", "error", "accent"]
Phase = Literal[
    "streaming",
    "queued",
    "waiting_permission",
    "running",
    "done",
    "error",
    "rejected",
    "cancelled",
]


@value(frozen=True)
class Text:
    text: str
    style: Style = "plain"
    n: Literal["Text"] = field(default="Text", repr=False)


@value(frozen=True)
class Path:
    path: str
    line: int | None = None
    display: str | None = None
    n: Literal["Path"] = field(default="Path", repr=False)


@value(frozen=True)
class Link:
    url: str
    text: str | None = None
    n: Literal["Link"] = field(default="Link", repr=False)


@value(frozen=True)
class Badge:
    text: str
    tone: Tone = "neutral"
    n: Literal["Badge"] = field(default="Badge", repr=False)


@value(frozen=True)
class Line:
    parts: tuple["Text | Path | Link | Badge", ...]
    n: Literal["Line"] = field(default="Line", repr=False)


@value(frozen=True)
class Para:
    text: str
    markdown: bool = False
    n: Literal["Para"] = field(default="Para", repr=False)


@value(frozen=True)
class Code:
    text: str
    language: str | None = None
    start_line: int | None = None
    highlight: tuple[tuple[int, int], ...] = ()
    n: Literal["Code"] = field(default="Code", repr=False)


@value(frozen=True)
class Command:
    text: str
    cwd: str | None = None
    description: str | None = None
    n: Literal["Command"] = field(default="Command", repr=False)


@value(frozen=True)
class Output:
    """Text that a process printed; with ``ansi`` a renderer may draw SGR colours and nothing else."""

    text: str
    stream: Literal["stdout", "stderr"] | None = None
    ansi: bool = False
    n: Literal["Output"] = field(default="Output", repr=False)


@value(frozen=True)
class Hunk:
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[str, ...]


@value(frozen=True)
class Diff:
    path: str
    hunks: tuple[Hunk, ...]
    added: int
    removed: int
    language: str | None = None
    n: Literal["Diff"] = field(default="Diff", repr=False)


@value(frozen=True)
class Column:
    title: str
    align: Literal["left", "right", "center"] = "left"


@value(frozen=True)
class Table:
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    n: Literal["Table"] = field(default="Table", repr=False)


@value(frozen=True)
class KeyValue:
    items: tuple[tuple[str, "Node"], ...]
    n: Literal["KeyValue"] = field(default="KeyValue", repr=False)


@value(frozen=True)
class Items:
    """A list; in JSON its kind is ``List``."""

    items: tuple["Node", ...]
    ordered: bool = False
    n: Literal["List"] = field(default="List", repr=False)


@value(frozen=True)
class Tree:
    label: str
    children: tuple["Tree", ...] = ()
    n: Literal["Tree"] = field(default="Tree", repr=False)


@value(frozen=True)
class Image:
    """An image by reference; bytes are never part of a view."""

    ref: str
    media_type: str
    width: int
    height: int
    alt: str = ""
    n: Literal["Image"] = field(default="Image", repr=False)


@value(frozen=True)
class ProgressBar:
    """How far something is; in JSON its kind is ``Progress``."""

    text: str
    fraction: float | None = None
    elapsed: float | None = None
    eta: float | None = None
    detail: str | None = None
    n: Literal["Progress"] = field(default="Progress", repr=False)


@value(frozen=True)
class TodoItem:
    text: str
    state: Literal["pending", "in_progress", "completed"]


@value(frozen=True)
class Todo:
    items: tuple[TodoItem, ...]
    n: Literal["Todo"] = field(default="Todo", repr=False)


@value(frozen=True)
class Collapsible:
    summary: "Node"
    body: "Node"
    open: bool = False
    hidden_lines: int | None = None
    n: Literal["Collapsible"] = field(default="Collapsible", repr=False)


@value(frozen=True)
class Group:
    title: "Node"
    children: tuple["Node", ...]
    n: Literal["Group"] = field(default="Group", repr=False)


@value(frozen=True)
class Stack:
    children: tuple["Node", ...]
    n: Literal["Stack"] = field(default="Stack", repr=False)


@value(frozen=True)
class StoredRef:
    path: str
    chars: int
    lines: int
    preview: str
    n: Literal["StoredRef"] = field(default="StoredRef", repr=False)


Node = (
    Text
    | Line
    | Para
    | Code
    | Command
    | Output
    | Diff
    | Table
    | KeyValue
    | Items
    | Tree
    | Path
    | Link
    | Image
    | Badge
    | ProgressBar
    | Todo
    | Collapsible
    | Group
    | Stack
    | StoredRef
)


@value(frozen=True)
class View:
    """How one call looks in its present phase. Absent parts are drawn generically or not at all."""

    title: str
    activity: str = ""
    use: Node | None = None
    progress: Node | None = None
    result: Node | None = None
    error: Node | None = None
    rejected: Node | None = None
    summary: str = ""
    folds: bool = field(default=False)
    """May stand with its neighbours in one folded line (searching and reading)."""
