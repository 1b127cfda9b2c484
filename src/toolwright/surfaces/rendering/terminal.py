"""Views on a terminal. Nothing is ever wider than the terminal, and no text is taken for markup."""

import sys
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import IO, Any, Self

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markdown import Markdown
from rich.padding import Padding
from rich.segment import Segment
from rich.spinner import Spinner
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from toolwright.contracts import view as nodes
from toolwright.contracts.view import Node
from toolwright.surfaces.rendering.plain import (
    TODO_SIGNS,
    diff_lines,
    hidden_text,
    image_text,
    link_text,
    path_text,
    progress_text,
    render_plain,
    stored_text,
)
from toolwright.surfaces.rendering.safety import EVERYDAY, Safety

_NARROWEST_CELL = 8
_BAR_WIDTH = 20
_TAB = 4
_STYLES: Mapping[str, str] = {
    "plain": "",
    "dim": "dim",
    "bold": "bold",
    "ok": "green",
    "warn": "yellow",
    "error": "red",
    "accent": "cyan",
    "code": "cyan",
    "neutral": "dim",
}
_DIFF_STYLES: Mapping[str, str] = {"+": "green", "-": "red", "@": "cyan"}


def console_for(
    stream: IO[str],
    environ: Mapping[str, str],
    *,
    width: int | None = None,
    force_terminal: bool | None = None,
) -> Console:
    """Return a console without markup, emoji codes and highlighting; without colour if NO_COLOR is set
    or the stream is no terminal."""
    return Console(
        file=stream,
        width=width,
        force_terminal=force_terminal,
        no_color=bool(environ.get("NO_COLOR")) or None,
        markup=False,
        emoji=False,
        highlight=False,
        _environ=environ,
    )


def render_terminal(
    node: Node, console: Console, *, safety: Safety = EVERYDAY, screen_reader: bool = False
) -> None:
    """Print a node. For screen readers no boxes, bars or signs are drawn, only words."""
    if screen_reader:
        console.print(_text(render_plain(node, safety=safety)), soft_wrap=False)
    else:
        console.print(Fitted(_Terminal(safety, console.width).draw(node)))


def _text(text: str, style: str = "") -> Text:
    # Tabs become blanks here: what is measured to be indented would count each of them as one column.
    return Text(text.expandtabs(_TAB), style=style, overflow="fold", no_wrap=False)


class Fitted:
    """Draws something and cuts what would still stick out; what matters is folded before it comes here."""

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: Any) -> Iterable[Segment]:
        for line in console.render_lines(self._inner, options, pad=False):
            yield from Segment.adjust_line_length(line, options.max_width, pad=False)
            yield Segment.line()


class _Markdown:
    """Markdown without the empty lines that some of it begins with, and without blanks at line ends."""

    def __init__(self, inner: Markdown) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: Any) -> Iterable[Segment]:
        begun = False
        for line in console.render_lines(self._inner, options, pad=False):
            words = _without_blank_end(line)
            begun = begun or bool(words)
            if begun:
                yield from words
                yield Segment.line()


def _without_blank_end(line: list[Segment]) -> list[Segment]:
    """A line up to its last visible part; blanks with a background are visible."""
    kept = list(line)
    while kept and not kept[-1].text.strip() and not (kept[-1].style and kept[-1].style.bgcolor):
        kept.pop()
    if kept and not (kept[-1].style and kept[-1].style.bgcolor):
        kept[-1] = Segment(kept[-1].text.rstrip(), kept[-1].style)
    return kept


class _Terminal:
    def __init__(self, safety: Safety, width: int) -> None:
        self._safe = safety
        self._width = width

    def draw(self, node: Any) -> RenderableType:
        painter = _PAINTERS.get(type(node))
        if painter is None:
            return _text(self._safe.text(str(getattr(node, "text", ""))))
        return painter(self, node)

    def _inside(self, columns: int) -> "_Terminal":
        return _Terminal(self._safe, max(self._width - columns, 1))

    def _blocks(self, children: Iterable[Node]) -> Group:
        return Group(*(self.draw(child) for child in children))

    def _indented(self, node: Node) -> Padding:
        return Padding(self._inside(2).draw(node), (0, 0, 0, 2), expand=False)

    def text(self, node: nodes.Text) -> Text:
        return _text(self._safe.text(node.text), _STYLES[node.style])

    def line(self, node: nodes.Line) -> Text:
        line = _text("")
        for part in node.parts:
            line.append_text(self.inline(part))
        return line

    def inline(self, part: nodes.Text | nodes.Path | nodes.Link | nodes.Badge) -> Text:
        if isinstance(part, nodes.Text):
            return _text(self._safe.line(part.text), _STYLES[part.style])
        drawn = self.draw(part)
        return drawn if isinstance(drawn, Text) else _text("")

    def para(self, node: nodes.Para) -> RenderableType:
        text = self._safe.text(node.text)
        if node.markdown and not self._safe.approval:
            return _Markdown(Markdown(text, hyperlinks=False))
        return _text(text)

    def path(self, node: nodes.Path) -> Text:
        return _text(path_text(node, self._safe), "cyan")

    def link(self, node: nodes.Link) -> Text:
        return _text(link_text(node, self._safe), "cyan underline")

    def badge(self, node: nodes.Badge) -> Text:
        return _text(f"[{self._safe.line(node.text)}]", f"bold {_STYLES[node.tone]}")

    def code(self, node: nodes.Code) -> RenderableType:
        text = self._safe.command(node.text)
        if self._safe.approval or node.language is None:
            return _text(render_plain(node, safety=self._safe))
        return Syntax(
            text,
            node.language,
            theme="ansi_dark",
            background_color="default",
            line_numbers=node.start_line is not None and self._width > _NARROWEST_CELL * 3,
            start_line=node.start_line or 1,
            word_wrap=True,
            highlight_lines={number for first, last in node.highlight for number in range(first, last + 1)},
        )

    def command(self, node: nodes.Command) -> RenderableType:
        parts: list[RenderableType] = []
        if node.description:
            parts.append(_text(self._safe.text(node.description)))
        parts.append(Text.assemble(("$ ", "dim"), (self._safe.command(node.text), "bold"), overflow="fold"))
        if node.cwd:
            parts.append(_text(f"in {self._safe.name(node.cwd)}", "dim"))
        return Group(*parts)

    def output(self, node: nodes.Output) -> Text:
        style = "red" if node.stream == "stderr" else ""
        if not node.ansi:
            return _text(self._safe.text(node.text.rstrip("\n")), style)
        shown = self._safe.output(node.text.rstrip("\n"))
        coloured = Text.from_ansi(shown, style=style, overflow="fold", no_wrap=False)
        coloured.expand_tabs(_TAB)
        return coloured

    def diff(self, node: nodes.Diff) -> Group:
        title, *lines = diff_lines(node, self._safe)
        return Group(_text(title, "bold"), *(_text(line, _DIFF_STYLES.get(line[:1], "")) for line in lines))

    def table(self, node: nodes.Table) -> RenderableType:
        count = max([len(node.columns), *(len(row) for row in node.rows)])
        columns = [*node.columns, *(nodes.Column("") for _ in range(count - len(node.columns)))]
        if count * (_NARROWEST_CELL + 3) > self._width:
            return self.items(_as_pairs(columns, node.rows))
        table = Table(show_header=any(column.title for column in columns), highlight=False)
        for column in columns:
            table.add_column(_text(self._safe.line(column.title)), justify=column.align, overflow="fold")
        for row in node.rows:
            table.add_row(*(_text(self._safe.text(cell)) for cell in row))
        return table

    def key_value(self, node: nodes.KeyValue) -> Group:
        return Group(*(part for key, value in node.items for part in self._pair(key, value)))

    def _pair(self, key: str, value: Node) -> list[RenderableType]:
        name = _text(f"{self._safe.line(key)}: ", "dim")
        drawn = self.draw(value)
        if isinstance(drawn, Text) and "\n" not in drawn.plain:
            return [_joined(name, drawn)]
        return [name, self._indented(value)]

    def items(self, node: nodes.Items) -> Group:
        rows: list[RenderableType] = []
        for number, item in enumerate(node.items, start=1):
            sign = f"{number}. " if node.ordered else "• "
            rows.append(_beside(sign, self._inside(len(sign)).draw(item)))
        return Group(*rows)

    def tree(self, node: nodes.Tree) -> Group:
        label = _text(self._safe.line(node.label))
        return Group(
            label, *(Padding(self.tree(child), (0, 0, 0, 2), expand=False) for child in node.children)
        )

    def image(self, node: nodes.Image) -> Text:
        return _text(image_text(node, self._safe), "dim")

    def progress(self, node: nodes.ProgressBar) -> Text:
        words = progress_text(node, self._safe)
        if node.fraction is None or len(words) + _BAR_WIDTH + 3 > self._width:
            return _text(words)
        filled = round(min(max(node.fraction, 0.0), 1.0) * _BAR_WIDTH)
        return Text.assemble(("━" * filled, "green"), ("─" * (_BAR_WIDTH - filled), "dim"), f" {words}")

    def todo(self, node: nodes.Todo) -> Group:
        styles = {"pending": "", "in_progress": "bold", "completed": "dim"}
        return Group(
            *(
                _text(f"{TODO_SIGNS[item.state]} {self._safe.line(item.text)}", styles[item.state])
                for item in node.items
            )
        )

    def collapsible(self, node: nodes.Collapsible) -> RenderableType:
        if node.open or self._safe.approval:
            return self.draw(node.body)
        return Group(self.draw(node.summary), *(_text(line, "dim") for line in hidden_text(node)))

    def group(self, node: nodes.Group) -> Group:
        return Group(self.draw(node.title), *(self._indented(child) for child in node.children))

    def stack(self, node: nodes.Stack) -> Group:
        return self._blocks(node.children)

    def stored(self, node: nodes.StoredRef) -> Group:
        return Group(_text(self._safe.text(node.preview)), _text(stored_text(node, self._safe), "dim"))


def _as_pairs(columns: Iterable[nodes.Column], rows: Iterable[tuple[str, ...]]) -> nodes.Items:
    """A table as a list, for where it would be too wide."""
    titles = [column.title or f"{number}" for number, column in enumerate(columns, start=1)]
    pairs = [
        tuple((title, nodes.Text(cell)) for title, cell in zip(titles, row, strict=False)) for row in rows
    ]
    return nodes.Items(tuple(nodes.KeyValue(row) for row in pairs))


def _joined(first: Text, second: Text) -> Text:
    """Two texts on one line that keep their own styles."""
    line = _text("")
    line.append_text(first)
    line.append_text(second)
    return line


def _beside(sign: str, inner: RenderableType) -> RenderableType:
    """A sign, and something that stays to the right of it."""
    grid = Table.grid(padding=0)
    grid.add_column(no_wrap=True, width=len(sign))
    grid.add_column(overflow="fold")
    grid.add_row(_text(sign, "dim"), inner)
    return grid


_PAINTERS: Mapping[type, Callable[[_Terminal, Any], RenderableType]] = {
    nodes.Text: _Terminal.text,
    nodes.Line: _Terminal.line,
    nodes.Para: _Terminal.para,
    nodes.Code: _Terminal.code,
    nodes.Command: _Terminal.command,
    nodes.Output: _Terminal.output,
    nodes.Diff: _Terminal.diff,
    nodes.Table: _Terminal.table,
    nodes.KeyValue: _Terminal.key_value,
    nodes.Items: _Terminal.items,
    nodes.Tree: _Terminal.tree,
    nodes.Path: _Terminal.path,
    nodes.Link: _Terminal.link,
    nodes.Image: _Terminal.image,
    nodes.Badge: _Terminal.badge,
    nodes.ProgressBar: _Terminal.progress,
    nodes.Todo: _Terminal.todo,
    nodes.Collapsible: _Terminal.collapsible,
    nodes.Group: _Terminal.group,
    nodes.Stack: _Terminal.stack,
    nodes.StoredRef: _Terminal.stored,
}


class LiveArea:
    """A place at the bottom of a terminal that shows what is going on. Whoever has one calls ``tick``.

    Nothing draws on its own: what is printed meanwhile, and by whom, never meets a drawing half done. On
    anything that is no terminal, and for screen readers, only changes of the words are printed.
    """

    def __init__(self, console: Console, *, safety: Safety = EVERYDAY, screen_reader: bool = False) -> None:
        self._console = console
        self._safety = safety
        self._words = screen_reader or not console.is_terminal or console.is_dumb_terminal
        self._last = ""
        self._spinner = Spinner("dots")
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if not self._words:
            # A new one each time: a Live that was stopped still believes that its last lines stand there, and
            # takes as many lines above away.
            # And what is printed to a pipe meanwhile goes there, not above the live area.
            self._live = Live(
                console=self._console,
                auto_refresh=False,
                transient=True,
                redirect_stdout=sys.stdout.isatty(),
                redirect_stderr=sys.stderr.isatty(),
            )
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.stop()

    def show(self, activity: str, node: Node | None = None) -> None:
        """Say what is being done and how far it is; it is drawn at the next tick."""
        if self._words:
            self._say(activity)
        elif self._live is not None:
            self._live.update(Fitted(self._drawn(activity, node)))

    def tick(self) -> None:
        """Draw what goes on, with the next frame of the spinner."""
        if self._live is not None:
            self._live.refresh()

    def _say(self, activity: str) -> None:
        words = self._safety.line(activity)
        if words and words != self._last:
            self._last = words
            self._console.print(_text(words))

    def _drawn(self, activity: str, node: Node | None) -> RenderableType:
        head = Columns([self._spinner, _text(self._safety.line(activity))])
        if node is None:
            return head
        return Group(head, _Terminal(self._safety, self._console.width).draw(node))
