"""Agents that need a person: their questions are put in the session that started them, or denied at once."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.journeys.casts import AGENT_TOOLS, MAIN, Cast, child_of, ended, family, results, start, texts
from tests.journeys.engines import Desk, check_log, check_requests, events_of, log_of

from toolwright import Engine, RuleChange, Session, call
from toolwright.contracts.events import CallWaiting, PermissionsChanged
from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest

pytestmark = pytest.mark.anyio

WRITES = [call("write_down", text="gold")]


def asking(folder: Path, model: Cast, desk: Desk, **more: Any) -> Engine:
    given: dict[str, Any] = {"tools": [*AGENT_TOOLS, desk.tool], "answers_later": True, **more}
    return family(folder, model, **given)


async def asked(session: Session) -> ApprovalRequest:
    """Return the one question of a session that waits."""
    result = await session.quiet()
    assert result.end == "waiting"
    (question,) = result.approvals
    return question


def answer(question: ApprovalRequest, *changes: RuleChange) -> ApprovalAnswer:
    return ApprovalAnswer(
        request_id=question.request_id, fingerprint=question.fingerprint, behavior="allow", changes=changes
    )


async def test_the_question_of_an_agent_is_put_in_its_parents_session_and_its_answer_goes_down(
    tmp_path: Path,
) -> None:
    desk = Desk()
    model = Cast({MAIN: [[start("dig here", name="scout")], "Found."], "dig": [WRITES, "Written."]})
    async with asking(tmp_path, model, desk) as works:
        session = await works.session()
        await session.send(MAIN)
        question = await asked(session)
        assert question.asked_by == "general 'scout' (Do dig)"
        assert (question.tool, question.input) == ("write_down", {"text": "gold"})
        child = await child_of(works, session)
        assert question.session_id == child.id
        assert desk.written == []
        assert await session.answer(question, allow=True)
        result = await session.quiet()
        assert not await session.answer(question, allow=False)  # too late
        check_log(await log_of(session))
        check_log(await log_of(child))
    assert (result.text, result.questions, desk.written) == ("Found.", (), ["gold"])
    check_requests(model.asked("dig"))


async def test_a_refused_agent_is_told_and_goes_on(tmp_path: Path) -> None:
    desk = Desk()
    model = Cast({MAIN: [[start("dig here")], "A pity."], "dig": [WRITES, "Not written."]})
    async with asking(tmp_path, model, desk) as works:
        session = await works.session()
        await session.send(MAIN)
        await session.answer(await asked(session), allow=False, message="Not in ink.")
        result = await session.quiet()
    assert (result.text, desk.written) == ("A pity.", [])
    assert "Not in ink." in texts(model.asked("dig")[1])[0]
    assert "Not written." in texts(model.asked(MAIN)[1])[0]


async def test_a_person_who_is_asked_while_it_runs_answers_for_agents_too(tmp_path: Path) -> None:
    desk, seen = Desk(), []

    def approve(request: ApprovalRequest) -> bool:
        seen.append(request.asked_by)
        return True

    model = Cast({
        MAIN: [[start("one deep"), start("other deep")], "Both."],
        "one": [[start("two deep")], "one done"],
        "two": [WRITES, "two done"],
        "other": [WRITES, "other done"],
    })  # fmt: skip
    async with asking(tmp_path, model, desk, approve=approve) as works:
        with anyio.fail_after(20):
            result = await works.run(MAIN)
    assert (result.text, desk.written) == ("Both.", ["gold", "gold"])
    assert sorted(seen) == ["general (Do one) › general (Do two)", "general (Do other)"]


async def test_what_a_person_grants_an_agent_is_granted_where_they_were_asked(tmp_path: Path) -> None:
    desk = Desk()
    model = Cast({
        MAIN: [[start("dig here"), start("fish there")], WRITES, "All written."],
        "dig": [WRITES, "d"],
        "fish": [WRITES, "f"],
    })  # fmt: skip
    always = RuleChange("addRules", "allow", rules=("write_down",))
    async with asking(tmp_path, model, desk) as works:
        session = await works.session()
        await session.send(MAIN)
        first, _ = (await session.quiet()).approvals
        await session.answer(answer(first, always))
        result = await session.quiet()
        changed = [
            event for event in events_of(await log_of(session)) if isinstance(event, PermissionsChanged)
        ]
        child = await child_of(works, session)
        below = [event for event in events_of(await log_of(child)) if isinstance(event, PermissionsChanged)]
    assert (result.text, desk.written) == ("All written.", ["gold"] * 3)
    assert [event.changes for event in changed] == [(always,)]
    assert [event.changes for event in below] in ([], [()])  # nothing of its own


async def test_a_rule_in_the_session_above_settles_what_an_agent_asks(tmp_path: Path) -> None:
    desk = Desk()
    model = Cast({
        MAIN: [[start("one deep")], "Done."], "one": [[start("two deep")], "1"], "two": [WRITES, "2"],
    })  # fmt: skip
    async with asking(tmp_path, model, desk) as works:
        session = await works.session()
        await session.send(MAIN)
        question = await asked(session)
        await session.change_permissions(RuleChange("addRules", "deny", rules=("write_down",)))
        result = await session.quiet()
        assert not await session.answer(question, allow=True)
    assert (result.text, result.questions, desk.written) == ("Done.", (), [])
    assert "denied by rule write_down" in texts(model.asked("two")[1])[0]


async def test_an_agent_in_the_background_asks_too(tmp_path: Path) -> None:
    desk = Desk()
    model = Cast({
        MAIN: [[start("dig here", run_in_background=True)], "I wait.", "Found."],
        "dig": [[call("write", file_path="gold.txt", content="gold")], "Written."],
    })  # fmt: skip
    async with asking(tmp_path, model, desk, tools=[*AGENT_TOOLS, "write"]) as works:
        session = await works.session()
        await session.send(MAIN)
        result = await session.quiet()
        assert (result.end, result.text) == ("done", "I wait.")
        (question,) = result.approvals
        assert question.asked_by == "general (Do dig)"
        await session.answer(question, allow=True)
        result = await session.quiet()
        check_log(await log_of(session))
    assert (result.text, result.questions) == ("Found.", ())
    assert (tmp_path / "project" / "gold.txt").read_text() == "gold"


async def test_where_nobody_can_answer_an_agent_is_denied_at_once(tmp_path: Path) -> None:
    desk = Desk()
    model = Cast({
        MAIN: [[start("one deep")], "A pity."], "one": [[start("two deep")], "1"], "two": [WRITES, "2"],
    })  # fmt: skip
    async with asking(tmp_path, model, desk, answers_later=False) as works:
        with anyio.fail_after(20):
            result = await works.run(MAIN)
    assert (result.end, result.text, desk.written) == ("done", "A pity.", [])
    (block,) = results(model.asked("two")[1])
    assert "approval_unavailable" in str(block.content)


async def test_a_question_goes_away_with_the_run_that_is_interrupted(tmp_path: Path) -> None:
    desk = Desk()
    model = Cast({
        MAIN: [[start("one deep")], "Later."], "one": [[start("two deep")], "1"], "two": [WRITES, "2"],
    })  # fmt: skip
    async with asking(tmp_path, model, desk) as works:
        session = await works.session()
        await session.send(MAIN)
        question = await asked(session)
        assert await session.interrupt()
        result = await session.quiet()
        assert (result.end, result.questions) == ("interrupted", ())
        assert not await session.answer(question, allow=True)
        log = await log_of(session)
        check_log(log)
        below = await child_of(works, session)
        check_log(await log_of(below))
        check_log(await log_of(await child_of(works, below)))
        assert (await session.run("Again.")).text == "Later."
    assert [over.end for over in ended(events_of(log))] == ["interrupted"]
    assert desk.written == []
    check_requests(model.asked(MAIN))


async def test_a_question_can_be_answered_after_the_engine_was_opened_anew(tmp_path: Path) -> None:
    desk = Desk()
    model = Cast({
        MAIN: [[start("one deep")], "Found."], "one": [[start("two deep")], "1"], "two": [WRITES, "2"],
    })  # fmt: skip
    async with asking(tmp_path, model, desk) as works:
        session = await works.session()
        await session.send(MAIN)
        question = await asked(session)
    async with asking(tmp_path, model, desk) as works:
        again = await works.open(session.id)
        assert [one.request_id for one in (await again.result()).approvals] == [question.request_id]
        assert await again.answer(question, allow=True)
        result = await again.quiet()
        log = await log_of(again)
        check_log(log)
        put = [event for event in events_of(log) if isinstance(event, CallWaiting) and event.request]
    assert (result.text, desk.written, len(put)) == ("Found.", ["gold"], 1)


async def test_a_question_can_be_answered_in_the_agents_own_session(tmp_path: Path) -> None:
    desk = Desk()
    model = Cast({MAIN: [[start("dig here")], "Found."], "dig": [WRITES, "Written."]})
    async with asking(tmp_path, model, desk) as works:
        session = await works.session()
        await session.send(MAIN)
        question = await asked(session)
        child = await child_of(works, session)
        await child.answer(question, allow=True)
        result = await session.quiet()
        check_log(await log_of(session))
    assert (result.text, result.questions, desk.written) == ("Found.", (), ["gold"])


async def test_a_rejection_that_interrupts_ends_the_agent_and_says_so(tmp_path: Path) -> None:
    desk = Desk()
    model = Cast({MAIN: [[start("dig here")], "A pity."], "dig": [WRITES, "never"]})
    async with asking(tmp_path, model, desk) as works:
        session = await works.session()
        await session.send(MAIN)
        question = await asked(session)
        no = ApprovalAnswer(
            request_id=question.request_id, fingerprint=question.fingerprint, behavior="deny", interrupt=True
        )
        await session.answer(no)
        result = await session.quiet()
    assert (result.text, desk.written) == ("A pity.", [])
    (block,) = results(model.asked(MAIN)[1])
    assert block.is_error
    assert str(block.content).startswith("The agent was stopped: The user rejected a call.")
