"""Talking at a terminal: real keys, real drawing, a real session, a scripted model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.journeys.engines import Desk, events_of, log_of, look
from tests.rooms.surfaces.chat.sitting import (
    ALT_ENTER,
    CTRL_C,
    CTRL_D,
    CTRL_J,
    ENTER,
    ESCAPE,
    SHIFT_TAB,
    TAB,
    UP,
    paste,
    sitting,
)

from toolwright import ScriptedModel, TextBlock, call
from toolwright.backends.storage.memory import MemoryEvents
from toolwright.contracts.messages import ResultBlock
from toolwright.contracts.storage import Entry
from toolwright.surfaces.chat.questions import explained
from toolwright.testing import thought

pytestmark = pytest.mark.anyio
WRITES = call("write_down", text="a poem")


def last_said(model: ScriptedModel) -> str:
    """What the person said last, as the model read it."""
    blocks = model.asked[-1].messages[-1].blocks
    return "\n".join(block.text for block in blocks if isinstance(block, TextBlock))


def last_result(model: ScriptedModel) -> Any:
    [block] = [one for one in model.asked[-1].messages[-1].blocks if isinstance(one, ResultBlock)]
    return block.content


async def test_a_message_is_sent_and_the_answer_printed(tmp_path: Path) -> None:
    async with sitting(tmp_path, [["I look.", call("look", at="the sea")], "It is **blue**."]) as one:
        one.press("What colour is it?", ENTER)
        await one.until_printed("> What colour is it?", "I look.", "[done] Look the sea", "It is blue.")
        await one.until("Say what to do", "tokens", gone=["Ctrl-C interrupts"])


async def test_words_are_shown_while_they_come_and_drawn_when_they_are_complete(tmp_path: Path) -> None:
    gate = anyio.Event()
    async with sitting(tmp_path, [["It is **blue", gate, "**."]]) as one:
        one.press("Colour?", ENTER)
        await one.until("It is **blue", "Answering…", "Ctrl-C interrupts")
        gate.set()
        await one.until_printed("It is blue.")
        await one.until("Say what to do", gone=["Answering"])


@pytest.mark.parametrize("newline", [ALT_ENTER, CTRL_J, "\\" + ENTER])
async def test_a_message_can_have_several_lines(tmp_path: Path, newline: str) -> None:
    model = ScriptedModel(["Yes."])
    async with sitting(tmp_path, model) as one:
        one.press("one", newline, "two", ENTER)
        await one.until_printed("> one\n  two", "Yes.")
    assert last_said(model) == "one\ntwo"


async def test_a_paste_is_text_whatever_it_holds(tmp_path: Path) -> None:
    model = ScriptedModel(["Yes."])
    async with sitting(tmp_path, model) as one:
        one.press(paste("/quit\r\none\rtwo\x1b[2J\x07\ttab"), ENTER)
        await one.until_printed("Yes.")
    assert last_said(model) == "/quit\none\ntwo[2J\ttab"


# --- questions --------------------------------------------------------------------------------


async def test_a_question_is_answered_with_a_key(tmp_path: Path) -> None:
    desk = Desk()
    async with sitting(tmp_path, [[WRITES], "Done."], tools=[desk.tool]) as one:
        one.press("Write.", ENTER)
        await one.until_printed("[approval] write_down: Write down", "text: a poem", "why asked:")
        await one.until("❯ 1  Yes, this once  (y)")
        one.press("y")
        await one.until_printed("Done.")
    assert desk.written == ["a poem"]


async def test_the_model_reads_why_it_was_refused(tmp_path: Path) -> None:
    desk, model = Desk(), ScriptedModel([[WRITES], "I see."])
    async with sitting(tmp_path, model, tools=[desk.tool]) as one:
        one.press("Write.", ENTER)
        await one.until("❯ 1")
        one.press("m")
        await one.until("What instead?", "instead:")
        one.press("prose, please", ENTER)
        await one.until_printed("[rejected] Write down", "I see.")
    assert "prose, please" in last_result(model)
    assert desk.written == []


async def test_what_is_always_allowed_is_not_asked_again(tmp_path: Path) -> None:
    desk = Desk()
    async with sitting(tmp_path, [[WRITES], [WRITES], "Done."], tools=[desk.tool]) as one:
        one.press("Write.", ENTER)
        await one.until("❯ 1", "2  Yes, and allow write_down, until this session ends  (a)")
        one.press("a")
        await one.until_printed("[note] permissions: allow write_down", "Done.")
    assert desk.written == ["a poem", "a poem"]


async def test_questions_are_answered_one_by_one(tmp_path: Path) -> None:
    desk = Desk()
    calls = [call("write_down", text=text) for text in ("one", "two", "three")]
    async with sitting(tmp_path, [calls, "Done."], tools=[desk.tool]) as one:
        one.press("Write.", ENTER)
        for text, key in (("one", "y"), ("two", "m"), ("three", "1")):
            await one.until_printed(f"text: {text}")
            await one.until("❯ 1")
            one.press(key)
            if key == "m":
                await one.until("instead:")
                one.press("leave it", ENTER)
        await one.until_printed("Done.")
    assert desk.written == ["one", "three"]


async def test_a_plain_no_stops(tmp_path: Path) -> None:
    desk = Desk()
    calls = [call("write_down", text=text) for text in ("one", "two")]
    async with sitting(tmp_path, [calls, "Never said."], tools=[desk.tool]) as one:
        one.press("Write.", ENTER)
        await one.until("❯ 1")
        one.press("n")
        await one.until_printed("[note] The user rejected a call.")
        await one.until("Say what to do", gone=["Yes, this once", "Ctrl-C interrupts"])
    assert desk.written == []


async def test_a_question_does_not_take_the_keys_of_somebody_who_writes(tmp_path: Path) -> None:
    desk, gate = Desk(), anyio.Event()
    async with sitting(tmp_path, [[gate, WRITES], "Done."], tools=[desk.tool]) as one:
        one.press("Write.", ENTER)
        await one.until("Ctrl-C interrupts")
        one.press("y y y")
        await one.until("> y y y")
        gate.set()
        await one.until("Tab to answer", "> y y y")
        one.press("y", TAB)
        await one.until("❯ 1", "> y y yy")
        one.press(ESCAPE)
        await one.until("Tab to answer")
        one.press(TAB)
        await one.until("❯ 1")
        one.press("n")
        await one.until_true(lambda: not one.talk.state.is_working)
    assert desk.written == []


async def test_a_key_pressed_before_the_question_could_be_read_does_not_count(tmp_path: Path) -> None:
    desk = Desk()
    async with sitting(tmp_path, [[WRITES], "Done."], tools=[desk.tool]) as one:
        one.press("Write.", ENTER)
        await one.until("  1  Yes")
        one.press("y")
        await one.until("❯ 1")
        assert desk.written == []
        one.press("n")
        await one.until_true(lambda: not one.talk.state.is_working)
    assert desk.written == []


async def test_a_long_question_is_allowed_only_when_all_of_it_was_shown(tmp_path: Path) -> None:
    desk = Desk()
    text = "\n".join(f"line {number}" for number in range(80)) + "\nand rm -rf /"
    async with sitting(tmp_path, [[call("write_down", text=text)], "Done."], tools=[desk.tool]) as one:
        one.press("Write.", ENTER)
        await one.until("❯ 1", "Show all of it")
        assert "rm -rf" not in one.printed
        one.press("y")
        await one.until_printed("and rm -rf /")
        await one.until("❯ 1", gone=["Show all of it"])
        assert desk.written == []
        one.press("y")
        await one.until_printed("Done.")
    assert desk.written == [text]


async def test_a_question_that_waited_is_put_when_the_session_is_resumed(tmp_path: Path) -> None:
    desk = Desk()
    async with sitting(tmp_path, [[WRITES]], tools=[desk.tool]) as one:
        one.press("Write.", ENTER)
        await one.until("❯ 1")
        session_id = one.talk.session.id
    async with sitting(tmp_path, ["Done."], tools=[desk.tool], resume=session_id) as one:
        await one.until_printed("> Write.", "[approval] write_down")
        await one.until("❯ 1")
        assert one.printed.index("> Write.") < one.printed.index("[approval]")
        one.press("y")
        await one.until_printed("Done.")
    assert desk.written == ["a poem"]


class CountingEvents(MemoryEvents):
    """Counts how often all of a log was asked for at once: each time, somebody folds it."""

    def __init__(self) -> None:
        super().__init__()
        self.whole = 0

    async def read(self, session_id: str, *, after: int = 0, limit: int | None = None) -> Sequence[Entry]:
        self.whole += after == 0 and limit is None
        return await super().read(session_id, after=after, limit=limit)


async def test_the_log_of_a_session_that_is_resumed_is_folded_once(tmp_path: Path) -> None:
    async with CountingEvents() as store:
        async with sitting(tmp_path, ["Once."], store=store) as one:
            one.press("Speak.", ENTER)
            await one.until_printed("Once.")
            session_id = one.talk.session.id
        store.whole = 0
        async with sitting(tmp_path, ["Twice."], store=store, resume=session_id) as one:
            await one.until_printed("> Speak.", "Once.")
            one.press("Again.", ENTER)
            await one.until_printed("Twice.")
        assert store.whole == 1


# --- while it works ---------------------------------------------------------------------------


async def test_ctrl_c_interrupts_what_works(tmp_path: Path) -> None:
    async with sitting(tmp_path, [["I begin.\n\n", anyio.Event()], "Again."]) as one:
        one.press("Go.", ENTER)
        await one.until_printed("I begin.")
        one.press(CTRL_C)
        await one.until_printed("[note] Interrupted by the user")
        await one.until("Say what to do", gone=["Ctrl-C interrupts", "leaves"])
        one.press("Go on.", ENTER)
        await one.until_printed("Again.")


async def test_escape_interrupts_too_and_the_draft_stays(tmp_path: Path) -> None:
    async with sitting(tmp_path, [["I begin.\n\n", anyio.Event()]]) as one:
        one.press("Go.", ENTER)
        await one.until_printed("I begin.")
        one.press("next", ESCAPE)
        await one.until_printed("[note] Interrupted by the user")
        await one.until("> next")


async def test_an_interrupt_takes_a_question_back(tmp_path: Path) -> None:
    async with sitting(tmp_path, [[WRITES]]) as one:
        one.press("Write.", ENTER)
        await one.until("❯ 1")
        one.press(CTRL_C)
        await one.until_printed("[cancelled] ")
        await one.until("Say what to do", gone=["Yes, this once"])


async def test_what_is_typed_meanwhile_waits_and_can_be_taken_back(tmp_path: Path) -> None:
    gate = anyio.Event()
    model = ScriptedModel([[gate, call("look", at="it")], "Done."])
    async with sitting(tmp_path, model) as one:
        one.press("Go.", ENTER)
        await one.until("Ctrl-C interrupts")
        one.press("first", ENTER, "second", ENTER)
        await one.until("[queued] first", "[queued] second", "↑ takes back")
        one.press(UP)
        await one.until("[queued] first", "> second", gone=["[queued] second"])
        one.press(" thought", ENTER)
        await one.until("[queued] first", "[queued] second thought")
        gate.set()
        await one.until_printed("> first", "> second thought", "Done.")
    assert last_said(model) == "first\nsecond thought"


async def test_everything_that_waits_can_be_taken_back_at_once(tmp_path: Path) -> None:
    gate = anyio.Event()
    async with sitting(tmp_path, [[gate, "Done."]]) as one:
        one.press("Go.", ENTER)
        await one.until("Ctrl-C interrupts")
        one.press("first", ENTER, "second", ENTER)
        await one.until("[queued] first", "[queued] second")
        one.press("/unqueue", ENTER)
        await one.until("> first\n  second", gone=["[queued]"])
        gate.set()
        await one.until_printed("Done.")


async def test_thoughts_are_shown_while_the_model_thinks(tmp_path: Path) -> None:
    gate = anyio.Event()
    async with sitting(tmp_path, [[thought("Let me see."), gate, "Blue."]]) as one:
        one.press("Colour?", ENTER)
        await one.until("Let me see.", "Thinking…")
        gate.set()
        await one.until_printed("Blue.")
        await one.until("Say what to do", gone=["Let me see."])


async def test_shift_tab_goes_to_the_next_mode(tmp_path: Path) -> None:
    async with sitting(tmp_path, []) as one:
        for mode in ("mode acceptEdits", "mode plan"):
            one.press(SHIFT_TAB)
            await one.until(mode)
        one.press(SHIFT_TAB)
        await one.until("Say what to do", gone=["mode plan"])


# --- leaving ----------------------------------------------------------------------------------


async def test_ctrl_c_twice_leaves_where_nothing_works(tmp_path: Path) -> None:
    async with sitting(tmp_path, []) as one:
        one.press("words", CTRL_C)
        await one.until("Say what to do")
        one.press(CTRL_C)
        await one.until("Ctrl-C again leaves")
        one.press(CTRL_C)
        await one.until_left()


async def test_ctrl_d_leaves_and_in_a_draft_deletes(tmp_path: Path) -> None:
    async with sitting(tmp_path, []) as one:
        one.press("ab", "\x1b[D", CTRL_D)
        await one.until("> a", gone=["> ab"])
        one.press("\x7f", CTRL_D)
        await one.until_left()


async def test_leaving_while_it_works_takes_a_second_ctrl_d(tmp_path: Path) -> None:
    async with sitting(tmp_path, [[anyio.Event()]]) as one:
        one.press("Go.", ENTER)
        await one.until("Ctrl-C interrupts")
        one.press(CTRL_D)
        await one.until("Ctrl-D again stops what is at work and leaves")
        one.press(CTRL_D)
        await one.until_left()


async def test_what_was_sent_right_before_leaving_is_not_lost(tmp_path: Path) -> None:
    async with sitting(tmp_path, ["Yes."]) as one:
        one.press("Keep this.", ENTER, CTRL_D, CTRL_D)
        await one.until_left()
        await one.talk.session.quiet()
        assert not await one.talk.remove_if_empty()
        assert [card.title for card in await one.talk.engine.sessions()] == ["Keep this."]


async def test_a_session_to_which_nothing_was_said_goes_when_it_is_left(tmp_path: Path) -> None:
    async with sitting(tmp_path, ["Yes."]) as one:
        assert await one.talk.remove_if_empty()
        assert await one.talk.engine.sessions() == []


# --- files ------------------------------------------------------------------------------------


async def test_files_that_a_message_names_come_along(tmp_path: Path) -> None:
    model = ScriptedModel(["I see."])
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "notes.txt").write_text("milk\n")
    async with sitting(tmp_path, model) as one:
        one.press("Read @notes.txt, @nothing.txt", ENTER)
        await one.until_printed("> Read @notes.txt, @nothing.txt [1 attached]", "I see.")
    assert last_said(model) == ('Read @notes.txt, @nothing.txt\n<file path="notes.txt">\nmilk\n\n</file>')


async def test_a_message_whose_file_cannot_be_read_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "data.bin").write_bytes(b"\xff\x00")
    async with sitting(tmp_path, []) as one:
        one.press("Read @data.bin", ENTER)
        await one.until_printed("data.bin is no image, no PDF and no UTF-8 text.")
        await one.until("> Read @data.bin")


async def test_a_file_is_completed_behind_an_at_sign(tmp_path: Path) -> None:
    (tmp_path / "project" / "src").mkdir(parents=True)
    (tmp_path / "project" / "src" / "app.py").write_text("")
    async with sitting(tmp_path, []) as one:
        one.press("See @ap")
        await one.until(" src/app.py")
        one.press(TAB, ENTER)
        await one.until("> See @src/app.py", gone=["\n src"])


async def test_what_was_typed_before_comes_back(tmp_path: Path) -> None:
    async with sitting(tmp_path, ["Yes."]) as one:
        one.press("Do it.", ENTER)
        await one.until_printed("Yes.")
    async with sitting(tmp_path, []) as one:
        await one.until("Say what to do")
        one.press(UP)
        await one.until("> Do it.")


async def test_nothing_is_lost_of_a_log_that_was_written_here(tmp_path: Path) -> None:
    async with sitting(tmp_path, [[call("look", at="it")], "Done."], tools=[look]) as one:
        one.press("Go.", ENTER)
        await one.until_printed("Done.")
        await one.until_true(lambda: not one.talk.state.is_working)
        kinds = [type(event).__name__ for event in events_of(await log_of(one.talk.session))]
    assert kinds[-1] == "RunEnded"
    assert kinds.count("ModelAnswered") == 2


async def test_enter_with_nothing_typed_turns_to_the_question(tmp_path: Path) -> None:
    desk = Desk()
    async with sitting(tmp_path, [[WRITES], "Done."], tools=[desk.tool]) as one:
        one.press("Write.", ENTER)
        await one.until("❯ 1")
        one.press(ESCAPE)
        await one.until("Tab to answer")
        one.press(ENTER)
        await one.until("❯ 1")
        assert desk.written == []
        one.press(ENTER)
        await one.until_printed("Done.")
    assert desk.written == ["a poem"]


async def test_an_answer_that_comes_too_late_is_said_to_be(tmp_path: Path) -> None:
    async with sitting(tmp_path, [[WRITES], "Done."]) as one:
        one.press("Write.", ENTER)
        await one.until("❯ 1")
        question = one.talk.state.question
        assert question is not None
        await one.talk.session.answer(question.request, allow=False, message="No.")
        await one.until_printed("Done.")
        await one.talk.answer(explained(question, "Mine."))
        await one.until_printed("somebody else has answered that.")
