"""What may be meant while something is typed: commands, their words, files."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from toolwright.surfaces.chat import mentions, slash

_MOST_FILES = 50
Words = Callable[[str], Sequence[tuple[str, str]]]
"""The words that a command takes, by its name, each with what it means."""


class ChatCompleter(Completer):
    """Completes commands at the beginning of a draft, and files behind ``@`` anywhere in it."""

    def __init__(self, *, words: Words, files: Callable[[], Awaitable[Sequence[str]]]) -> None:
        self._words = words
        self._files = files

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Complete what needs no looking up."""
        del complete_event
        text = document.text_before_cursor
        if document.text_after_cursor.strip() or "\n" in text:
            return
        for one in slash.begun(text):
            yield Completion(
                f"/{one.name}{' ' if one.takes else ''}",
                start_position=-len(text),
                display=f"/{one.name}",
                display_meta=f"{one.about} {one.takes}".rstrip(),
            )
        asked = slash.read(text) if text.startswith("/") and " " in text else None
        if isinstance(asked, slash.Asked):
            typed = text.partition(" ")[2].lstrip()
            for word, meaning in self._words(asked.name):
                if word.casefold().startswith(typed.casefold()) and word != typed:
                    yield Completion(word, start_position=-len(typed), display_meta=meaning)

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion]:
        """Complete files, too."""
        for completion in self.get_completions(document, complete_event):
            yield completion
        typed = mentions.begun(document.text_before_cursor)
        if typed is None:
            return
        start = -len(document.text_before_cursor) + document.text_before_cursor.rindex("@")
        for path in mentions.ranked(await self._files(), typed, _MOST_FILES):
            yield Completion(mentions.written(path) + " ", start_position=start, display=path)
