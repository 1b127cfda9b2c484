"""Commands of a conversation, typed at a terminal."""

from pathlib import Path

import anyio
import pytest
from tests.journeys.engines import Desk
from tests.rooms.surfaces.chat.sitting import CTRL_C, CTRL_O, DOWN, ENTER, ESCAPE, TAB, Sitting, sitting

from toolwright import ScriptedModel, call

pytestmark = pytest.mark.anyio


async def test_help_shows_commands_and_keys(tmp_path: Path) -> None:
    async with sitting(tmp_path, [], rows=60) as one:
        one.press("/help", ENTER)
        await one.until_printed("/resume [ID]", "go on with another session", "Ctrl-D", "leave")


async def test_help_stands_in_one_column_where_two_have_no_room(tmp_path: Path) -> None:
    async with sitting(tmp_path, [], columns=40, rows=60) as one:
        one.press("/help", ENTER)
        await one.until_printed("  /usage\n    show tokens, cost and how full the\n    window is\n")


async def test_an_unknown_command_stays_to_be_mended(tmp_path: Path) -> None:
    async with sitting(tmp_path, []) as one:
        one.press("/modle x", ENTER)
        await one.until("> /modle x", "there is no /modle: did you mean /mode or /model?")
        one.press("y")
        await one.until("> /modle xy", gone=["there is no"])


async def test_a_command_is_completed_and_carried_out(tmp_path: Path) -> None:
    async with sitting(tmp_path, []) as one:
        one.press("/us")
        await one.until("/usage", "show tokens, cost and how full the window is")
        one.press(TAB, ENTER)
        await one.until_printed("window: 0 of 200.0k tokens (0%)", "cost: no price is known")


async def test_a_completion_can_be_put_aside(tmp_path: Path) -> None:
    async with sitting(tmp_path, []) as one:
        one.press("/us")
        await one.until("show tokens")
        one.press(ESCAPE)
        await one.until("> /us", gone=["show tokens"])


async def test_usage_counts_what_was_asked(tmp_path: Path) -> None:
    async with sitting(tmp_path, [[call("look", at="it")], "Done."]) as one:
        one.press("Go.", ENTER)
        await one.until_printed("Done.")
        one.press("/usage", ENTER)
        await one.until_printed("asked: 2 times, 1 calls", "tokens out: ")


async def test_tools_and_agents_are_listed(tmp_path: Path) -> None:
    async with sitting(tmp_path, []) as one:
        one.press("/tools", ENTER)
        await one.until_printed("look", "Look at something", "write_down", "Write something down")
        one.press("/agents", ENTER)
        await one.until_printed("explore", "Finds things in files", "works here")


async def test_a_rule_can_be_added_and_is_shown(tmp_path: Path) -> None:
    desk = Desk()
    async with sitting(tmp_path, [[call("write_down", text="x")], "Done."], tools=[desk.tool]) as one:
        one.press("/permissions", ENTER)
        await one.until_printed("mode: default: ask about what no rule allows", "allow: no rule")
        one.press("/permissions allow write_down", ENTER)
        await one.until_printed("[note] permissions: allow write_down")
        one.press("/permissions", ENTER)
        await one.until_printed("allow: \n  write_down  (session)")
        one.press("Write.", ENTER)
        await one.until_printed("Done.")
    assert desk.written == ["x"]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("/permissions allow", "write /permissions allow RULE, ask RULE or deny RULE"),
        ("/permissions allow Bash(", "Bash("),
        ("/mode fast", "there is no mode 'fast': default, acceptEdits, plan"),
        ("/mode bypassPermissions", "mode bypassPermissions cannot be entered here; the mode is default."),
        ("/details much", "/details is compact, normal, full; it is normal."),
        ("/title", "write a title behind /title."),
        ("/fork x", "/fork goes on from an entry of the log, which is a number, not 'x'."),
        ("/resume 123", "There is no session '123'"),
        ("/resume", "there is no other session in this folder."),
        ("/unqueue", "nothing waits to be read."),
        ("/new nobody", "nobody"),
        ("/compact", "the conversation is short"),
        ("/sessions", "there is no other session in this folder."),
    ],
)
async def test_what_cannot_be_done_is_said(tmp_path: Path, typed: str, said: str) -> None:
    async with sitting(tmp_path, []) as one:
        one.press(typed, ENTER)
        await one.until_printed(said)
        await one.until("Say what to do")


async def test_a_model_is_chosen_from_a_list_or_by_name(tmp_path: Path) -> None:
    async with sitting(tmp_path, [], model="ollama/small") as one:
        one.press("/model", ENTER)
        await one.until("❯ 1  ollama/small", "asked now", "anthropic/", "needs ANTHROPIC_API_KEY")
        one.press("smollm")
        await one.until("find: smollm", "local/smollm2", gone=["anthropic/"])
        one.press(ESCAPE)
        await one.until("Say what to do", "ollama/small")
        one.press("/model", ENTER)
        await one.until("anthropic/", gone=["smollm\n"])
        one.press(ESCAPE)
        await one.until("Say what to do")
        one.press("/model ollama/large", ENTER)
        await one.until_printed("[note] model: ollama/large")
        await one.until("ollama/large")
        one.press("/model olama/large", ENTER)
        await one.until_printed("there is no provider 'olama'")


async def test_a_mode_is_chosen_by_its_number(tmp_path: Path) -> None:
    async with sitting(tmp_path, []) as one:
        one.press("/mode", ENTER)
        await one.until("Which mode? It is default.", "3  plan", "look and plan, change nothing")
        one.press("3")
        await one.until("❯ 3  plan")
        one.press(ENTER)
        await one.until("mode plan")


async def test_a_session_is_resumed_from_a_list(tmp_path: Path) -> None:
    async with sitting(tmp_path, ["Blue."]) as one:
        one.press("What colour is the sea?", ENTER)
        await one.until_printed("Blue.")
        await one.until_true(lambda: not one.talk.state.is_working)
        first = one.talk.session.id
    async with sitting(tmp_path, ["Salt."]) as one:
        one.press("What is in it?", ENTER)
        await one.until_printed("Salt.")
        await one.until_true(lambda: not one.talk.state.is_working)
        one.press("/sessions", ENTER)
        await one.until_printed("What colour is the sea?", "/resume goes on with one of them.")
        one.press("/resume", ENTER)
        await one.until("Go on with which session?", "❯ 1  What colour is the sea?", "9 entries · ")
        one.press(DOWN, ENTER)
        await one.until_printed(f"session {first[8:16]}", "> What colour is the sea?", "Blue.")
        assert one.talk.session.id == first


async def test_a_list_is_left_with_ctrl_c(tmp_path: Path) -> None:
    async with sitting(tmp_path, []) as one:
        one.press("/mode", ENTER)
        await one.until("Which mode?")
        one.press(CTRL_C)
        await one.until("Say what to do", gone=["Which mode?", "leaves"])


async def talked(one: Sitting, *words: str) -> None:
    for word in words:
        one.press(word, ENTER)
        await one.until_printed(f"> {word}", f"{word}!")
        await one.until_true(lambda: not one.talk.state.is_working)


async def test_a_fork_goes_on_with_all_that_was_said(tmp_path: Path) -> None:
    model = ScriptedModel(["one!", "two!", "three!"])
    async with sitting(tmp_path, model) as one:
        await talked(one, "one", "two")
        first = one.talk.session.id
        one.press("/fork", ENTER)
        await one.until_true(lambda: one.talk.session.id != first)
        await talked(one, "three")
    assert len(model.asked[-1].messages) == 5


async def test_a_new_session_begins_with_nothing(tmp_path: Path) -> None:
    model = ScriptedModel(["one!", "two!"])
    async with sitting(tmp_path, model) as one:
        await talked(one, "one")
        one.press("/new", ENTER)
        await one.until_true(lambda: one.printed.count("session ") == 1)
        await talked(one, "two")
    assert len(model.asked[-1].messages) == 1


async def test_a_session_at_work_is_not_left_alone(tmp_path: Path) -> None:
    async with sitting(tmp_path, [[anyio.Event()]]) as one:
        one.press("Go.", ENTER)
        await one.until("Ctrl-C interrupts")
        one.press("/new", ENTER)
        await one.until_printed("the session is at work: wait for its end, or interrupt it with Ctrl-C.")


async def test_a_summary_takes_the_place_of_what_was_said(tmp_path: Path) -> None:
    gate = anyio.Event()
    script = ["one!", "two!", [gate, "They counted."], "three!"]
    async with sitting(tmp_path, script, settings={"compaction": {"keep_messages": 1}}) as one:
        await talked(one, "one", "two")
        one.press("/compact", ENTER)
        await one.until("Making a summary…")
        one.press("three", ENTER)
        await one.until("[queued] three")
        gate.set()
        await one.until_printed("[note] 3 messages were summarised", "> three", "three!")


async def test_making_a_summary_can_be_interrupted(tmp_path: Path) -> None:
    script = ["one!", "two!", [anyio.Event()]]
    async with sitting(tmp_path, script, settings={"compaction": {"keep_messages": 1}}) as one:
        await talked(one, "one", "two")
        one.press("/compact", ENTER)
        await one.until("Making a summary…")
        one.press(CTRL_C)
        await one.until("Say what to do", gone=["Making"])
        assert "summarised" not in one.printed


async def test_the_conversation_is_written_to_a_new_file(tmp_path: Path) -> None:
    async with sitting(tmp_path, ["one!"], environ={}) as one:
        await talked(one, "one")
        one.press("/title Counting", ENTER)
        await one.until_true(lambda: one.talk.state.transcript.title == "Counting")
        one.press("/export talk.md", ENTER)
        await one.until_printed("written to")
        one.press("/export talk.md", ENTER)
        await one.until_printed("exists already; nothing was written over it.")
    text = (tmp_path / "project" / "talk.md").read_text()
    assert "# Counting" in text
    assert "one!" in text


async def test_how_much_is_shown_can_be_changed(tmp_path: Path) -> None:
    async with sitting(tmp_path, [[call("look", at="it")], [call("look", at="him")], "Done."]) as one:
        one.press("/details compact", ENTER, "Go.", ENTER)
        await one.until_printed("Done.")
        assert "saw it" not in one.printed.split("[done] Look it")[1].splitlines()[1]
        one.press("\x0f")
        await one.until_printed("[done] Look him\n  saw him")


async def test_quit_leaves(tmp_path: Path) -> None:
    async with sitting(tmp_path, []) as one:
        one.press("/q", ENTER)
        await one.until_left()


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("/mode pl", ["plan", "look and plan, change nothing"]),
        ("/details f", ["full"]),
        ("/permissions d", ["deny"]),
        ("/model anth", ["anthropic/claude", "needs ANTHROPIC_API_KEY"]),
        ("/new exp", ["explore", "Finds things in files"]),
    ],
)
async def test_the_words_of_a_command_are_offered(tmp_path: Path, typed: str, offered: list[str]) -> None:
    async with sitting(tmp_path, []) as one:
        one.press(typed)
        await one.until(*offered)


async def test_there_is_nothing_to_show_in_full_before_the_first_call(tmp_path: Path) -> None:
    async with sitting(tmp_path, []) as one:
        one.press(CTRL_O)
        await one.until("no call has ended yet.")


async def test_another_agent_begins_a_new_session(tmp_path: Path) -> None:
    async with sitting(tmp_path, []) as one:
        one.press("/new explore", ENTER)
        await one.until_printed("session ")
        one.press("/agents", ENTER)
        await one.until_printed("explore", "works here")
        state = await one.talk.session.state()
    assert state.created.agent.name == "explore"


async def test_a_person_takes_up_a_skill(tmp_path: Path) -> None:
    folder = tmp_path / "home/.config/toolwright/skills/letters"
    folder.mkdir(parents=True)
    text = "---\nname: letters\ndescription: Writes letters.\n---\nWrite to $ARGUMENTS.\n"
    (folder / "SKILL.md").write_text(text)
    model = ScriptedModel(["Dear Ann."])
    async with sitting(tmp_path, model) as one:
        one.press("/skill letters Ann", ENTER)
        await one.until_printed("Dear Ann.")
    assert "Write to Ann." in model.asked[0].messages[0].text
