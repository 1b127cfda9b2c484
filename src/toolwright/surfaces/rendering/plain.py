"""Views as plain text: for logs, pipes and programs that read aloud. No control characters."""

from collections.abc import Callable, Iterable, Mapping
from textwrap import indent
from typing import Any

from toolwright.contracts import view as nodes
from toolwright.contracts.view import Node
from toolwright.surfaces.rendering.safety import EVERYDAY, Safety, without_colours

_STEP = "  "
TODO_SIGNS: Mapping[str, str] = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


def render_plain(node: Node, *, safety: Safety = EVERYDAY) -> str:
    """Return a node as lines of text without a newline at the end."""
    return _Plain(safety).draw(node).replace("\t", "    ").rstrip("\n")


class _Plain:
    def __init__(self, safety: Safety) -> None:
        self._safe = safety

    def draw(self, node: Any) -> str:
        painter = _PAINTERS.get(type(node))
        return painter(self, node) if painter is not None else self._safe.text(str(getattr(node, "text", "")))

    def _blocks(self, children: Iterable[Node]) -> str:
        return "\n".join(text for child in children if (text := self.draw(child)))

    def text(self, node: nodes.Text) -> str:
        return self._safe.text(node.text)

    def para(self, node: nodes.Para) -> str:
        return self._safe.text(node.text)

    def line(self, node: nodes.Line) -> str:
        return "".join(self.draw(part) for part in node.parts).replace("\n", "⏎")

    def path(self, node: nodes.Path) -> str:
        return path_text(node, self._safe)

    def link(self, node: nodes.Link) -> str:
        return link_text(node, self._safe)

    def badge(self, node: nodes.Badge) -> str:
        return f"[{self._safe.line(node.text)}]"

    def code(self, node: nodes.Code) -> str:
        lines = self._safe.command(node.text).split("\n")
        if node.start_line is None:
            return "\n".join(lines)
        return "\n".join(f"{number:>5} {line}" for number, line in enumerate(lines, start=node.start_line))

    def command(self, node: nodes.Command) -> str:
        about = [self._safe.text(node.description)] if node.description else []
        place = [f"(in {self._safe.name(node.cwd)})"] if node.cwd else []
        return "\n".join([*about, f"$ {self._safe.command(node.text)}", *place])

    def output(self, node: nodes.Output) -> str:
        return self._safe.text(without_colours(node.text) if node.ansi else node.text)

    def diff(self, node: nodes.Diff) -> str:
        return "\n".join(diff_lines(node, self._safe))

    def table(self, node: nodes.Table) -> str:
        titles = [self._safe.line(column.title) for column in node.columns]
        rows = [[self._safe.line(cell) for cell in row] for row in node.rows]
        return "\n".join(" | ".join(row) for row in ([titles] if any(titles) else []) + rows)

    def key_value(self, node: nodes.KeyValue) -> str:
        return "\n".join(self._pair(self._safe.line(key), self.draw(value)) for key, value in node.items)

    def _pair(self, key: str, value: str) -> str:
        return f"{key}:\n{indent(value, _STEP)}" if "\n" in value else f"{key}: {value}"

    def items(self, node: nodes.Items) -> str:
        signs = [f"{number}. " if node.ordered else "- " for number in range(1, len(node.items) + 1)]
        return "\n".join(
            _hanging(sign, self.draw(item)) for sign, item in zip(signs, node.items, strict=True)
        )

    def tree(self, node: nodes.Tree) -> str:
        below = "\n".join(self.tree(child) for child in node.children)
        label = self._safe.line(node.label)
        return f"{label}\n{indent(below, _STEP)}" if below else label

    def image(self, node: nodes.Image) -> str:
        return image_text(node, self._safe)

    def progress(self, node: nodes.ProgressBar) -> str:
        return progress_text(node, self._safe)

    def todo(self, node: nodes.Todo) -> str:
        return "\n".join(f"{TODO_SIGNS[item.state]} {self._safe.line(item.text)}" for item in node.items)

    def collapsible(self, node: nodes.Collapsible) -> str:
        if node.open or self._safe.approval:
            return self.draw(node.body)
        return "\n".join([self.draw(node.summary), *hidden_text(node)])

    def group(self, node: nodes.Group) -> str:
        return "\n".join([self.draw(node.title), *filter(None, [indent(self._blocks(node.children), _STEP)])])

    def stack(self, node: nodes.Stack) -> str:
        return self._blocks(node.children)

    def stored(self, node: nodes.StoredRef) -> str:
        return f"{self._safe.text(node.preview)}\n{stored_text(node, self._safe)}".lstrip("\n")


def _hanging(sign: str, text: str) -> str:
    return sign + indent(text, " " * len(sign))[len(sign) :]


# --- wordings that all renderers share --------------------------------------------------------


def path_text(node: nodes.Path, safe: Safety) -> str:
    """A path with its line; while something is approved the real path, whatever may be displayed."""
    shown = node.path if safe.approval else node.display or node.path
    return safe.name(shown) + (f":{node.line}" if node.line is not None else "")


def link_text(node: nodes.Link, safe: Safety) -> str:
    """A link that always shows where it leads."""
    url = safe.url(node.url)
    return f"{safe.line(node.text)} ({url})" if node.text and node.text != node.url else url


def image_text(node: nodes.Image, safe: Safety) -> str:
    """What stands for an image where none can be drawn."""
    about = f": {safe.line(node.alt)}" if node.alt else ""
    return f"[image {node.width}×{node.height}{about}]"


def progress_text(node: nodes.ProgressBar, safe: Safety) -> str:
    """How far something is, in words."""
    share = f" {round(node.fraction * 100)} %" if node.fraction is not None else ""
    times = [
        f"{seconds:.0f} s{word}" for seconds, word in ((node.elapsed, ""), (node.eta, " left")) if seconds
    ]
    detail = [safe.line(node.detail)] if node.detail else []
    rest = ", ".join(times + detail)
    return f"{safe.line(node.text)}{share}" + (f" ({rest})" if rest else "")


def stored_text(node: nodes.StoredRef, safe: Safety) -> str:
    """Where the whole of a large result is."""
    return f"[{node.chars:,} characters, {node.lines:,} lines in {safe.name(node.path)}]"


def hidden_text(node: nodes.Collapsible) -> list[str]:
    """How much a folded part hides."""
    if not node.hidden_lines:
        return []
    return [f"… {node.hidden_lines} more line{'s' if node.hidden_lines > 1 else ''}"]


def diff_lines(node: nodes.Diff, safe: Safety) -> list[str]:
    """A diff as its usual text."""
    lines = [f"{safe.name(node.path)} +{node.added} −{node.removed}"]
    for hunk in node.hunks:
        lines.append(f"@@ -{hunk.old_start},{hunk.old_lines} +{hunk.new_start},{hunk.new_lines} @@")
        lines.extend(safe.command(line).replace("\n", "⏎") for line in hunk.lines)
    return lines


_PAINTERS: Mapping[type, Callable[[_Plain, Any], str]] = {
    nodes.Text: _Plain.text,
    nodes.Line: _Plain.line,
    nodes.Para: _Plain.para,
    nodes.Code: _Plain.code,
    nodes.Command: _Plain.command,
    nodes.Output: _Plain.output,
    nodes.Diff: _Plain.diff,
    nodes.Table: _Plain.table,
    nodes.KeyValue: _Plain.key_value,
    nodes.Items: _Plain.items,
    nodes.Tree: _Plain.tree,
    nodes.Path: _Plain.path,
    nodes.Link: _Plain.link,
    nodes.Image: _Plain.image,
    nodes.Badge: _Plain.badge,
    nodes.ProgressBar: _Plain.progress,
    nodes.Todo: _Plain.todo,
    nodes.Collapsible: _Plain.collapsible,
    nodes.Group: _Plain.group,
    nodes.Stack: _Plain.stack,
    nodes.StoredRef: _Plain.stored,
}
