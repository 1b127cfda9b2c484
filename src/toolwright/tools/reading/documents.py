"""PDF documents, page by page: their text and how they look."""

import re
from dataclasses import dataclass
from typing import Any

from toolwright.contracts.content import ImageBlock
from toolwright.contracts.errors import ToolFailure
from toolwright.tools.pdf_text import PDFIUM
from toolwright.tools.reading.pictures import LONGEST_EDGE, block_of

WHOLE_PAGES = 10
MOST_PAGES = 20
LARGEST_FILE = 100 * 1024 * 1024

_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")


@dataclass(frozen=True, slots=True)
class DocumentPage:
    number: int
    text: str
    image: ImageBlock


@dataclass(frozen=True, slots=True)
class Document:
    pages: tuple[DocumentPage, ...]
    total: int


def wanted_pages(written: str) -> range:
    """The pages that ``"3"`` or ``"1-5"`` names. Raises ToolFailure."""
    match = _RANGE.fullmatch(written.strip())
    first = int(match[1]) if match else 0
    last = int(match[2] or first) if match else 0
    if not 1 <= first <= last:
        raise ToolFailure(
            "validation_failed", f"pages {written!r} names no pages.", hint='Write "3" or "1-5".'
        )
    if last - first >= MOST_PAGES:
        raise ToolFailure("validation_failed", f"pages {written!r} are more than {MOST_PAGES}.")
    return range(first, last + 1)


def document_of(data: bytes, pages: str | None, path: str) -> Document:
    """Read pages of a PDF. Raises ToolFailure."""
    import pypdfium2

    wanted = wanted_pages(pages) if pages is not None else None
    with PDFIUM:
        try:
            document = pypdfium2.PdfDocument(data)
        except pypdfium2.PdfiumError as error:
            raise ToolFailure("unsupported", f"{path} cannot be opened as a PDF: {error}") from error
        try:
            total = len(document)
            chosen = _chosen(wanted, total, path)
            return Document(tuple(_page(document[number - 1], number) for number in chosen), total)
        except pypdfium2.PdfiumError as error:
            raise ToolFailure("unsupported", f"{path} has a broken page: {error}") from error
        finally:
            document.close()


def _chosen(wanted: range | None, total: int, path: str) -> range:
    if wanted is None:
        if total > WHOLE_PAGES:
            raise ToolFailure(
                "file_too_large",
                f"{path} has {total} pages; only up to {WHOLE_PAGES} are read at once without saying which.",
                hint=f'Give pages, such as "1-{WHOLE_PAGES}"; at most {MOST_PAGES} at a time.',
            )
        return range(1, total + 1)
    if wanted[-1] > total:
        raise ToolFailure("validation_failed", f"{path} has {total} pages, not {wanted[-1]}.")
    return wanted


def _page(page: Any, number: int) -> DocumentPage:
    try:
        longest = max(*page.get_size(), 1.0)
        text = page.get_textpage().get_text_bounded().replace("\r\n", "\n").strip()
        bitmap = page.render(scale=LONGEST_EDGE / longest)
        return DocumentPage(number, text, block_of(bitmap.to_pil(), photo=True))
    finally:
        page.close()
