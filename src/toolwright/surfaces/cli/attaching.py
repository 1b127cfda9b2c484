"""Files that a person hands to a session: images, PDFs and texts."""

import base64
import os
import sys

from toolwright.contracts.content import Block, Content, DocumentBlock, TextBlock
from toolwright.contracts.errors import SettingsError, ToolFailure

MOST_TEXT = 400_000
MOST_BYTES = 32 * 1024 * 1024
_IMAGES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".ico"})


def content_of(task: str, files: tuple[str, ...]) -> Content:
    """Return a task with what comes along; ``-`` reads the task from standard input. Blocking.

    May raise SettingsError.
    """
    text = _standard_input() if task == "-" else task
    if not files:
        return text
    return (*((TextBlock(text),) if text else ()), *map(attached, files))


def attached(path: str, *, folder: str = "") -> Block:
    """Return a file, named from ``folder``, as a block that a model can read. Blocking.

    May raise SettingsError.
    """
    data = _bytes_of(path, folder)
    if data.startswith(b"%PDF-"):
        return DocumentBlock(
            base64.b64encode(data).decode("ascii"), "application/pdf", os.path.basename(path)
        )
    if os.path.splitext(path)[1].lower() in _IMAGES:
        return _image(data, path)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise SettingsError(f"{path} is no image, no PDF and no UTF-8 text.") from None
    if len(text) > MOST_TEXT:
        raise SettingsError(f"{path} is too long to attach: {len(text):,} of {MOST_TEXT:,} characters.")
    return TextBlock(f'<file path="{path}">\n{text}\n</file>')


def _image(data: bytes, path: str) -> Block:
    from toolwright.tools.reading.pictures import picture_of

    try:
        return picture_of(data, path).block
    except ToolFailure as problem:
        raise SettingsError(problem.message) from None


def _bytes_of(path: str, folder: str) -> bytes:
    try:
        with open(os.path.join(folder, path), "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as problem:
        raise SettingsError(f"{path} cannot be read: {problem.strerror}.") from problem
    if len(data) > MOST_BYTES:
        raise SettingsError(f"{path} is too large to attach: more than {MOST_BYTES:,} bytes.")
    return data


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as problem:
        raise SettingsError(f"standard input is no UTF-8 text: {problem.reason}.") from None
