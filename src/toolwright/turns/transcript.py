"""A conversation as text: to be read back, to stand for itself, and to be measured (pure)."""

from collections.abc import Iterable, Sequence

from toolwright.contracts.content import TextBlock, text_of
from toolwright.contracts.messages import CallBlock, Message, MessageBlock, ResultBlock, ThinkingBlock

_CHARS_OF_TOKEN = 4
_TOKENS_OF_PICTURE = 1_600
"""What providers count for an image of the size they scale it to, and for a page of a document."""


def transcript(messages: Iterable[Message]) -> str:
    """Return a conversation as text for reading; thoughts and pictures are only mentioned."""
    lines: list[str] = []
    for message in messages:
        lines.append(f"## {message.role}")
        for block in message.blocks:
            match block:
                case TextBlock():
                    lines.append(block.text)
                case CallBlock():
                    lines.append(f"[call {block.name} {block.input}]")
                case ResultBlock():
                    lines.append(f"[result{' (error)' if block.is_error else ''}]\n{text_of(block.content)}")
                case _:
                    lines.append(f"[{block.type}]")
    return "\n".join(lines) + "\n"


def excerpt(messages: Iterable[Message], *, most_chars: int) -> str:
    """Return the transcript, or the beginning and the end of one that is longer than that."""
    text = transcript(messages)
    if len(text) <= most_chars:
        return text
    half = most_chars // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters left out …]\n{text[len(text) - half :]}"


def tokens_of(blocks: Iterable[MessageBlock]) -> int:
    """Return about how many tokens blocks take: four characters are one."""
    return sum(map(_size, blocks)) // _CHARS_OF_TOKEN


def tokens_in(messages: Sequence[Message]) -> int:
    """Return about how many tokens messages take."""
    return sum(tokens_of(message.blocks) for message in messages)


def _size(block: object) -> int:
    """In characters, or what stands for as many."""
    match block:
        case TextBlock():
            return len(block.text)
        case ThinkingBlock():
            return len(block.text) + len(block.signature)
        case CallBlock():
            return len(block.name) + len(block.input)
        case ResultBlock(content=str()):
            return len(block.content)
        case ResultBlock():
            return sum(map(_size, block.content))
        case _:
            return _TOKENS_OF_PICTURE * _CHARS_OF_TOKEN
