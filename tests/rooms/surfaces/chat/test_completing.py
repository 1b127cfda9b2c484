"""What is offered while something is typed."""

from collections.abc import Sequence

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from toolwright.surfaces.chat.completing import ChatCompleter

pytestmark = pytest.mark.anyio
WORDS = {"mode": [("default", "ask"), ("plan", "look")], "model": [("ollama/small", "")]}


async def files() -> Sequence[str]:
    return ["README.md", "src/app.py", "my notes.txt"]


async def offered(before: str, after: str = "") -> list[tuple[str, str]]:
    """What is offered, as the text that would stand there and what is shown of it."""
    completer = ChatCompleter(words=lambda name: WORDS.get(name, []), files=files)
    document = Document(before + after, len(before))
    return [
        (before[: len(before) + one.start_position] + one.text, one.display_text)
        async for one in completer.get_completions_async(document, CompleteEvent())
    ]


async def test_a_slash_offers_commands() -> None:
    assert await offered("/mod") == [("/model ", "/model"), ("/mode ", "/mode")]
    assert await offered("/us") == [("/usage", "/usage")]


@pytest.mark.parametrize(
    ("before", "there"),
    [
        ("/mode ", ["/mode default", "/mode plan"]),
        ("/mode P", ["/mode plan"]),
        ("/mode plan", []),
        ("/usage x", []),
        ("/nothing ", []),
    ],
)
async def test_a_command_offers_its_words(before: str, there: list[str]) -> None:
    assert [text for text, _ in await offered(before)] == there


@pytest.mark.parametrize(
    ("before", "there"),
    [
        ("see @app", ["see @src/app.py "]),
        ("see @no", ['see @"my notes.txt" ']),
        ('see @"my n', ['see @"my notes.txt" ']),
        ("@", ["@README.md ", "@my notes.txt ", "@src/app.py "]),
        ("two\nlines @READ", ["two\nlines @README.md "]),
        ("me@app", []),
    ],
)
async def test_an_at_sign_offers_files(before: str, there: list[str]) -> None:
    found = [text for text, _ in await offered(before)]
    assert sorted(text.replace('"', "") for text in found) == sorted(text.replace('"', "") for text in there)
    assert all('"' in text for text in found if "notes" in text)


@pytest.mark.parametrize(("before", "after"), [("/mo", "re text"), ("line\n/mo", ""), ("words", "")])
async def test_words_for_the_model_are_left_alone(before: str, after: str) -> None:
    assert await offered(before, after) == []
