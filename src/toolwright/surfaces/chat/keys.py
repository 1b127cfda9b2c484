"""What keys do in a conversation. Those of a line editor do what they always do."""

import re
from collections.abc import Callable
from functools import partial
from typing import Protocol

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition, FilterOrBool, has_completions, has_selection, is_searching
from prompt_toolkit.key_binding import KeyBindings, KeyBindingsBase, KeyPressEvent, merge_key_bindings
from prompt_toolkit.key_binding.bindings.open_in_editor import load_open_in_editor_bindings
from prompt_toolkit.keys import Keys

from toolwright.surfaces.chat.state import At

_NOT_FOR_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")
_PAGE = 8
_ANSWERS = ("up", "down", "enter", "tab", "y", "n", "a", "m", "s", *"123456789")


class Lists(Protocol):
    """What the keys of a list do."""

    def move(self, step: int) -> None:
        """Move the mark."""

    def choose(self) -> None:
        """Take the marked row."""


class Hands(Lists, Protocol):
    """What the keys of a conversation do."""

    @property
    def at(self) -> At:
        """Where keys go."""
        ...

    def touched(self) -> None:
        """Any key was pressed."""

    def submit(self) -> None:
        """Take what is typed."""

    def press(self, key: str) -> None:
        """A key of the question."""

    def reply(self) -> None:
        """Take the reason that is typed."""

    def escape(self) -> None:
        """Go back, or interrupt."""

    def turn_to_question(self) -> bool:
        """Let the keys go to the question that waits; False when none does."""
        ...

    def ctrl_c(self) -> None: ...

    def ctrl_d(self) -> bool:
        """Leave; False when it deletes a character instead."""
        ...

    def take_back(self) -> bool:
        """Take the last words out of the queue; False when none are there."""
        ...

    def next_mode(self) -> None:
        """Go to the next permission mode."""

    def show_last_call(self) -> None:
        """Show the last call in full."""

    def redraw(self) -> None:
        """Draw everything anew."""


def chat_keys(hands: Hands) -> KeyBindingsBase:
    """Return the bindings of a conversation."""
    return merge_key_bindings([_everywhere(hands), _draft(hands), _question(hands), _reply(hands)])


def _at(hands: Hands, *places: At) -> Condition:
    return Condition(lambda: hands.at in places)


def _does(keys: KeyBindings, filter: FilterOrBool, do: Callable[[], object], *names: str) -> None:
    """Let each of some keys do something that does not depend on what is typed."""

    def pressed(_event: KeyPressEvent) -> None:
        do()

    for name in names:
        keys.add(name, filter=filter)(pressed)


def _nothing() -> None:
    """What is no answer is no text either."""


def _everywhere(hands: Hands) -> KeyBindings:
    keys = KeyBindings()
    talks = ~is_searching
    _does(keys, talks, hands.ctrl_c, "c-c")
    _does(keys, True, hands.ctrl_c, "<sigint>")
    _does(keys, talks, hands.redraw, "c-l")
    _does(keys, talks, hands.show_last_call, "c-o")
    _does(keys, talks & ~has_completions, hands.escape, "escape")

    @keys.add("c-z")
    def _(event: KeyPressEvent) -> None:
        event.app.suspend_to_background()

    return keys


def _draft(hands: Hands) -> KeyBindingsBase:
    keys = KeyBindings()
    drafts = _at(hands, "draft") & ~is_searching
    _does(keys, drafts & ~has_completions, hands.next_mode, "s-tab")

    @keys.add("enter", filter=drafts)
    def _(event: KeyPressEvent) -> None:
        _enter(event.current_buffer, hands)

    @keys.add("escape", "enter", filter=drafts)
    @keys.add("c-j", filter=drafts)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("c-d", filter=drafts & ~has_selection)
    def _(event: KeyPressEvent) -> None:
        if not hands.ctrl_d():
            event.current_buffer.delete()

    @keys.add("escape", filter=drafts & has_completions)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.cancel_completion()

    @keys.add("tab", filter=drafts)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state:
            buffer.complete_next()
        elif not hands.turn_to_question():
            buffer.start_completion(insert_common_part=True)

    @keys.add("up", filter=drafts & ~has_completions)
    def _(event: KeyPressEvent) -> None:
        if event.current_buffer.text or not hands.take_back():
            event.current_buffer.auto_up(count=event.arg)

    @keys.add(Keys.BracketedPaste, filter=_at(hands, "draft", "reason", "picker"))
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text(pasted(event.data))

    return merge_key_bindings([load_open_in_editor_bindings(), keys])


def _enter(buffer: Buffer, hands: Hands) -> None:
    """Send; or take a completion that is not all of it; or, behind a backslash, begin a line."""
    document = buffer.document
    chosen = buffer.complete_state is not None and buffer.complete_state.current_completion is not None
    if chosen and (not document.text.startswith("/") or document.text.endswith(" ")):
        buffer.complete_state = None  # it stands in the text already
    elif document.is_cursor_at_the_end and document.text.endswith("\\"):
        buffer.delete_before_cursor(1)
        buffer.insert_text("\n")
    else:
        hands.submit()


def _question(hands: Hands) -> KeyBindings:
    keys = KeyBindings()
    asked = _at(hands, "question")
    _does(keys, asked, _nothing, Keys.Any, Keys.BracketedPaste)
    _does(keys, asked, hands.ctrl_d, "c-d")
    for key in _ANSWERS:
        _does(keys, asked, partial(hands.press, key), key)
    _does(keys, asked, partial(hands.press, "up"), "left", "c-p", "s-tab")
    _does(keys, asked, partial(hands.press, "down"), "right", "c-n")
    return keys


def _reply(hands: Hands) -> KeyBindings:
    keys = KeyBindings()
    explains, picks = _at(hands, "reason"), _at(hands, "picker")
    _does(keys, explains, hands.reply, "enter")
    list_keys(keys, hands, filter=picks)

    @keys.add("c-d", filter=explains | picks)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.delete()

    return keys


def list_keys(keys: KeyBindings, lists: Lists, *, filter: FilterOrBool = True) -> None:
    """Add the keys with which a row is chosen."""
    _does(keys, filter, lists.choose, "enter")
    _does(keys, filter, partial(lists.move, -1), "up", "c-p", "s-tab")
    _does(keys, filter, partial(lists.move, 1), "down", "c-n", "tab")
    _does(keys, filter, partial(lists.move, -_PAGE), "pageup")
    _does(keys, filter, partial(lists.move, _PAGE), "pagedown")


def pasted(text: str) -> str:
    """Return text from a clipboard as it may stand in a message: our line ends, and nothing that steers."""
    return _NOT_FOR_TEXT.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
