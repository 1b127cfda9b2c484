"""How a conversation looks: at every width, with and without colours, whatever the texts hold."""

import logging
import re
import sys
from pathlib import Path

import anyio
import pytest
from prompt_toolkit.data_structures import Size
from rich.cells import cell_len
from tests.journeys.engines import Desk
from tests.rooms.surfaces.chat.sitting import CTRL_L, ENTER, sitting

from toolwright import call, tool
from toolwright.surfaces.chat.talking import nothing_else_prints
from toolwright.surfaces.rendering.session_items import FRAMES

pytestmark = pytest.mark.anyio
LONG = (
    "A sentence that is a good deal longer than a narrow terminal is wide, 日本語のとても長い文章, and ends."
)


async def test_nothing_is_wider_than_a_narrow_terminal(tmp_path: Path) -> None:
    gate = anyio.Event()
    script = [[LONG, call("write_down", text=LONG)], [f"{LONG}\n\n{LONG}", gate, "."]]
    async with sitting(tmp_path, script, columns=40, tools=[Desk().tool]) as one:
        one.press(LONG, ENTER)
        await one.until("❯ 1")
        assert all(cell_len(line) <= 40 for line in one.end.splitlines())
        one.press("y")
        await one.until("Answering…", "ends.")
        assert all(cell_len(line) <= 40 for line in one.end.splitlines())
        gate.set()
        await one.until("Say what to do", gone=["Answering"])
    assert one.printed.count("日本語") >= 3


async def test_words_that_do_not_fit_show_their_end(tmp_path: Path) -> None:
    gate = anyio.Event()
    text = " ".join(f"word{number}" for number in range(400))
    async with sitting(tmp_path, [[text, gate]], columns=40, rows=12) as one:
        one.press("Go.", ENTER)
        await one.until("word399", "Answering…", "Say what to do")
        assert len(one.end.splitlines()) <= 12


async def test_what_stands_above_is_drawn_anew_at_another_width(tmp_path: Path) -> None:
    async with sitting(tmp_path, [LONG], columns=100) as one:
        one.press("Go.", ENTER)
        await one.until_printed("日本語のとても長い文章")
        await one.until_true(lambda: not one.talk.state.is_working)
        one.paper.truncate(0)
        one.size = Size(rows=20, columns=30)
        one.screen.app.invalidate()
        await one.until_printed("> Go.", "日本語のとても長い文章")
        assert all(cell_len(line) <= 30 for line in one.printed.splitlines())
        one.paper.truncate(0)
        one.press(CTRL_L)
        await one.until_printed("> Go.", "日本語のとても長い文章")


async def test_without_colours_there_are_none(tmp_path: Path) -> None:
    async with sitting(
        tmp_path, [["**Bold.**", call("write_down", text="x")]], environ={"NO_COLOR": "1"}
    ) as one:
        one.press("Go.", ENTER)
        await one.until("❯ 1")
        codes = {
            code
            for found in re.findall(r"\x1b\[([0-9;]*)m", one.paper.getvalue())
            for code in found.split(";")
        }
    assert codes <= {"", "0", "1", "2", "7", "22"}
    assert "1" in codes


async def test_with_colours_there_are_some(tmp_path: Path) -> None:
    async with sitting(tmp_path, [[call("look", at="it")], "Done."]) as one:
        one.press("Go.", ENTER)
        await one.until_printed("Done.")
        assert "\x1b[1;32m[done]" in one.paper.getvalue()


async def test_for_a_screen_reader_nothing_turns(tmp_path: Path) -> None:
    gate = anyio.Event()
    async with sitting(tmp_path, [[gate, "Done."]], screen_reader=True) as one:
        one.press("Go.", ENTER)
        await one.until("Working…")
        gate.set()
        await one.until_printed("Done.")
    assert not any(frame in one.printed for frame in FRAMES)


async def test_nothing_a_model_says_can_steer_the_terminal(tmp_path: Path) -> None:
    gate = anyio.Event()
    text = "\x1b[2J\x1b]0;title\x07 \u202eover\u202c \r hidden"
    async with sitting(tmp_path, [[text, gate, f"\n\n{text}\n\n", call("look", at=text)], "Done."]) as one:
        one.press("Go.", ENTER)
        await one.until("‹U+001B›[2J", "‹U+202E›over")
        gate.set()
        await one.until_printed("Done.")
        assert "\x1b[2J" not in one.paper.getvalue()
        assert "\x1b]0" not in one.paper.getvalue()


@tool(read_only=True)
def chatter(words: str) -> str:
    """Print something, as careless code does.

    Args:
        words: What to print.
    """
    print(words)
    print(words, file=sys.stderr)
    logging.getLogger("toolwright.chatter").warning("warned of %s", words)
    return "printed"


async def test_what_others_print_becomes_a_note(tmp_path: Path) -> None:
    async with sitting(tmp_path, [[call("chatter", words="stray\x1b[2J")], "Done."], tools=[chatter]) as one:
        with nothing_else_prints(one.talk.page.note):
            one.press("Go.", ENTER)
            await one.until_printed("[note] stray‹U+001B›[2J", "[note] warned of stray‹U+001B›[2J", "Done.")
        assert one.printed.count("[note] stray") == 2


async def test_news_of_the_background_are_shown(tmp_path: Path) -> None:
    async with sitting(tmp_path, ["Yes.", "I heard."]) as one:
        one.press("Go.", ENTER)
        await one.until_printed("Yes.")
        await one.until_true(lambda: not one.talk.state.is_working)
        sessions = one.talk.engine.works.sessions
        await sessions.send(one.talk.session.id, "the build is done", source="notification")
        await one.until_printed("[notification] the build is done", "I heard.")


async def test_on_a_very_low_terminal_the_marked_answer_is_in_sight(tmp_path: Path) -> None:
    async with sitting(tmp_path, [[call("write_down", text="x")]], rows=6, tools=[Desk().tool]) as one:
        one.press("Go.", ENTER)
        await one.until("❯ 1  Yes, this once")
        for mark in ("❯ 2", "❯ 3", "❯ 4"):
            one.press("\x1b[B")
            await one.until(mark)
            assert len(one.end.splitlines()) <= 6
