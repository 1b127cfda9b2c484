"""The text of a PDF. Blocking: called in a thread."""

import threading
import time
from contextlib import closing
from typing import Any

from toolwright.contracts.errors import ToolFailure

PDFIUM = threading.Lock()
"""Whoever uses pypdfium2 holds this: the library under it serves one thread at a time."""

MOST_PAGES = 500
SECONDS = 20.0


def text_of_pdf(data: bytes, *, most_chars: int) -> str:
    """The text of all pages until ``most_chars`` are there, each under a line that names the page.

    May raise ToolFailure ``unsupported`` for what cannot be opened.
    """
    import pypdfium2

    deadline = time.monotonic() + SECONDS
    with PDFIUM:
        try:
            with closing(pypdfium2.PdfDocument(data)) as document:
                return _pages(document, most_chars=most_chars, deadline=deadline)
        except pypdfium2.PdfiumError as problem:
            raise ToolFailure("unsupported", "The PDF is damaged or locked with a password") from problem


def _pages(document: Any, *, most_chars: int, deadline: float) -> str:
    parts: list[str] = []
    chars = 0
    total = len(document)
    for number in range(min(total, MOST_PAGES)):
        if chars >= most_chars or time.monotonic() > deadline:
            parts.append(f"[Stopped before page {number + 1} of {total}.]")
            return "\n\n".join(parts)
        text = _page_text(document[number])
        chars += len(text)
        parts.append(f"[Page {number + 1} of {total}]\n{text}")
    if total > MOST_PAGES:
        parts.append(f"[Stopped before page {MOST_PAGES + 1} of {total}.]")
    return "\n\n".join(parts)


def _page_text(page: Any) -> str:
    with closing(page), closing(page.get_textpage()) as content:
        return str(content.get_text_bounded()).replace("\r\n", "\n").strip()
