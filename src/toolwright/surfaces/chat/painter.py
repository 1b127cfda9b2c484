"""Nodes as text for a terminal, with colours where there are any."""

import io
from collections.abc import Mapping, Sequence

from toolwright.contracts.permissions import ApprovalRequest
from toolwright.contracts.view import Node
from toolwright.surfaces.chat.state import Printed
from toolwright.surfaces.rendering.approvals import approval_node
from toolwright.surfaces.rendering.calls import Verbosity
from toolwright.surfaces.rendering.safety import APPROVAL, EVERYDAY, Safety
from toolwright.surfaces.rendering.session_items import drawn, set_apart
from toolwright.surfaces.rendering.terminal import console_for, render_terminal
from toolwright.surfaces.rendering.transcript import Item


class Painter:
    """Draws for one terminal. Every text goes through ``rendering.safety``."""

    def __init__(self, environ: Mapping[str, str], *, screen_reader: bool = False) -> None:
        self._environ = environ
        self.screen_reader = screen_reader

    def text(self, node: Node, width: int, *, safety: Safety = EVERYDAY) -> str:
        """Return a node as lines of at most ``width`` columns, the last one ended, too."""
        paper = io.StringIO()
        console = console_for(paper, self._environ, width=max(width, 1), force_terminal=True)
        render_terminal(node, console, safety=safety, screen_reader=self.screen_reader)
        return paper.getvalue()

    def parts(self, parts: Sequence[Printed], width: int, *, before: object, details: Verbosity) -> str:
        """Return parts of a conversation, set apart from each other and from what stands before."""
        lines: list[str] = []
        for part in parts:
            if set_apart(before, part):
                lines.append("\n")
            lines.append(self.text(drawn(part, details) if isinstance(part, Item) else part, width))
            before = part
        return "".join(lines)

    def question(self, request: ApprovalRequest, width: int) -> Sequence[str]:
        """Return the lines of a question. Nothing of it is masked, cut or folded away."""
        node = approval_node(request, with_offers=False)
        return self.text(node, width, safety=APPROVAL).splitlines(keepends=True)
