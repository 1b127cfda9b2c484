"""Notebooks as cells: sources whole, outputs trimmed."""

import base64
import binascii
from dataclasses import dataclass
from typing import Any

from toolwright.contracts.content import Block, ImageBlock, TextBlock
from toolwright.contracts.errors import ToolFailure
from toolwright.tools.reading.pictures import picture_of
from toolwright.workspaces.notebook import cell_id_of, parse_notebook, source_of

LARGEST_FILE = 100 * 1024 * 1024
MOST_OUTPUT = 10_000
MOST_IMAGES = 20
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


@dataclass(frozen=True, slots=True)
class Cells:
    """All cells, for the model as blocks and as data."""

    blocks: tuple[Block, ...]
    data: list[dict[str, Any]]

    @property
    def chars(self) -> int:
        return sum(len(block.text) for block in self.blocks if isinstance(block, TextBlock))


def cells_of(text: str, path: str) -> Cells:
    """Read a notebook. Raises ToolFailure when it is none."""
    notebook = parse_notebook(text, path)
    blocks: list[Block] = []
    data: list[dict[str, Any]] = []
    left_out = 0
    for index, cell in enumerate(notebook.cells):
        name, kind, source = cell_id_of(cell, index), str(cell.get("cell_type", "")), source_of(cell)
        output, images = _outputs(cell, path)
        data.append({"id": name, "type": kind, "source": source, "output": output})
        shown = f'<cell id="{name}" type="{kind}">\n{source}\n</cell>'
        blocks.append(TextBlock(f"{shown}\n<output>\n{output}\n</output>" if output else shown))
        room = MOST_IMAGES - sum(isinstance(block, ImageBlock) for block in blocks)
        blocks.extend(images[:room])
        left_out += max(len(images) - room, 0)
    if left_out:
        noun = "image is" if left_out == 1 else "images are"
        blocks.append(TextBlock(f"({left_out} more {noun} not shown; {MOST_IMAGES} are the most.)"))
    return Cells(_joined(blocks), data)


def _joined(blocks: list[Block]) -> tuple[Block, ...]:
    """Neighbouring texts as one block."""
    joined: list[Block] = []
    for block in blocks:
        last = joined[-1] if joined else None
        if isinstance(block, TextBlock) and isinstance(last, TextBlock):
            joined[-1] = TextBlock(f"{last.text}\n{block.text}")
        else:
            joined.append(block)
    return tuple(joined)


def _outputs(cell: dict[str, Any], path: str) -> tuple[str, list[ImageBlock]]:
    texts: list[str] = []
    images: list[ImageBlock] = []
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else []:
        if not isinstance(output, dict):
            continue
        rich = output.get("data")
        bundle = rich if isinstance(rich, dict) else {}
        texts.append(_text(output, bundle))
        images += _images(bundle, path)
    text = "\n".join(text.rstrip("\n") for text in texts if text)
    if len(text) > MOST_OUTPUT:
        text = f"{text[:MOST_OUTPUT]}… (+{len(text) - MOST_OUTPUT} characters)"
    return text, images


def _text(output: dict[str, Any], bundle: dict[str, Any]) -> str:
    if output.get("output_type") == "error":
        return f"{output.get('ename', '')}: {output.get('evalue', '')}"
    return _written(output.get("text")) or _written(bundle.get("text/plain"))


def _written(value: object) -> str:
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _images(bundle: dict[str, Any], path: str) -> list[ImageBlock]:
    found: list[ImageBlock] = []
    for media_type in _IMAGES:
        written = _written(bundle.get(media_type))
        if not written:
            continue
        try:
            found.append(picture_of(base64.b64decode(written), path).block)
        except (binascii.Error, ToolFailure):
            continue  # an output that is no image is left out; its text stands beside it
    return found
