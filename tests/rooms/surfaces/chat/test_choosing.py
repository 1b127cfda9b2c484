"""Choosing a row before there is a conversation."""

import io

import anyio
import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from tests.rooms.surfaces.chat.sitting import CTRL_C, CTRL_D, DOWN, ENTER, ESCAPE

from toolwright.surfaces.chat.choosing import chosen_row
from toolwright.surfaces.chat.painter import Painter
from toolwright.surfaces.chat.picking import Picker, Row
from toolwright.surfaces.chat.terminal_output import TerminalOutput

pytestmark = pytest.mark.anyio
ROWS = (
    Row("3f2a", "Mend the build", ("3 min",)),
    Row("77c1", "Write the docs"),
    Row("90aa", "Mend the docs"),
)
SIZE = Size(rows=12, columns=60)


async def chosen(*keys: str) -> tuple[Row | None, str]:
    """What comes of some keys, and what was drawn."""
    paper, environ = io.StringIO(), {"TERM": "xterm", "NO_COLOR": "1"}
    with create_pipe_input() as typed, create_app_session():
        typed.send_text("".join(keys))
        output = TerminalOutput(paper, environ, lambda: SIZE)
        with anyio.fail_after(20):
            row = await chosen_row(Picker("Which?", ROWS), Painter(environ), input=typed, output=output)
    return row, paper.getvalue()


@pytest.mark.parametrize(
    ("keys", "row"),
    [
        ([ENTER], ROWS[0]),
        ([DOWN, DOWN, ENTER], ROWS[2]),
        (["docs", DOWN, ENTER], ROWS[2]),
        (["2", ENTER], ROWS[1]),
        (["zzz", ENTER, CTRL_C], None),
        ([CTRL_D], None),
        ([ESCAPE], None),
    ],
)
async def test_a_row_is_chosen_or_none(keys: list[str], row: Row | None) -> None:
    assert (await chosen(*keys))[0] == row


async def test_all_rows_are_shown_and_taken_away_in_the_end() -> None:
    _, drawn = await chosen(DOWN, ENTER)
    assert "Mend the build" in drawn
    assert "Write the docs" in drawn
    assert drawn.rstrip().rfind("\x1b[J") > drawn.rfind("Write the docs")
