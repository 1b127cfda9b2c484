"""What every request begins with: the same bytes, request after request, until the log says why not."""

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.journeys.engines import engine, events_of, log_of, look

from toolwright import AgentDefinition, Engine, RuleChange, ScriptedModel, call, tool
from toolwright.contracts.events import ModelAsked, PreambleChanged
from toolwright.contracts.models import ModelRequest, Preamble

pytestmark = pytest.mark.anyio


def project(folder: Path, **files: str) -> Path:
    place = folder / "project"
    (place / ".git").mkdir(parents=True)
    (place / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for name, text in files.items():
        (place / f"{name}.md").write_text(text)
    return place


def at(folder: Path, model: ScriptedModel, **more: Any) -> Engine:
    return engine(folder, model, **{"tools": ["read", look], **more})


def system(preamble: Preamble) -> str:
    return "\n\n".join(preamble.system)


def same_bytes(requests: Sequence[ModelRequest]) -> bool:
    first = requests[0].preamble
    return all(
        (request.preamble.system, request.preamble.tools, request.preamble.fingerprint)
        == (first.system, first.tools, first.fingerprint)
        for request in requests
    )


# --- the same bytes ---


async def test_every_request_begins_with_all_of_the_request_before(tmp_path: Path) -> None:
    model = ScriptedModel([*([[call("look", at="it"), call("look", at="that")]] * 4), "Done.", "Yes."])
    async with at(tmp_path, model) as works:
        session = await works.session()
        await session.run("Look.")
        await session.run("Sure?")
    for earlier, later in itertools.pairwise(model.asked):
        assert later.preamble is earlier.preamble
        shared = later.messages[: len(earlier.messages)]
        assert all(one is other for one, other in zip(earlier.messages, shared, strict=True))


async def test_a_session_that_is_opened_again_says_the_same(tmp_path: Path) -> None:
    place = project(tmp_path, AGENTS="Use tabs.")
    model = ScriptedModel([[call("look", at="it")], "One.", "Two.", "Three."])
    async with at(tmp_path, model) as works:
        session = await works.session()
        await session.run("Look.")
    (place / ".git" / "HEAD").write_text("ref: refs/heads/elsewhere\n")
    async with at(tmp_path, model) as works:
        session = await works.open(session.id)
        await session.change_permissions(RuleChange("addDirectories", directories=(str(tmp_path),)))
        await session.run("And?")
    async with at(tmp_path, model) as works:
        session = await works.open(session.id)
        await session.run("And?")
        log = await log_of(session)
    assert same_bytes(model.asked)
    assert "Git branch at that time: main" in system(model.asked[-1].preamble)
    assert len([event for event in events_of(log) if isinstance(event, PreambleChanged)]) == 1
    before, after = model.asked[1].messages, model.asked[2].messages
    assert [message.blocks for message in before] == [message.blocks for message in after[: len(before)]]


async def test_every_request_in_the_log_names_what_it_began_with(tmp_path: Path) -> None:
    model = ScriptedModel([[call("look", at="it")], "Done."])
    async with at(tmp_path, model) as works:
        session = await works.session()
        await session.run("Look.")
        log = await log_of(session)
    [epoch] = [event for event in events_of(log) if isinstance(event, PreambleChanged)]
    asked = [event for event in events_of(log) if isinstance(event, ModelAsked)]
    assert {event.fingerprint for event in asked} == {epoch.fingerprint, model.asked[0].preamble.fingerprint}
    assert epoch.tools == tuple(tool.name for tool in model.asked[0].preamble.tools)


@pytest.mark.parametrize(
    "change",
    [
        RuleChange("addRules", "deny", rules=("look",)),
        RuleChange("addRules", "allow", rules=("Read(**)",)),
        RuleChange("setMode", mode="plan"),
    ],
    ids=["denied", "allowed", "another mode"],
)
async def test_what_is_permitted_changes_no_byte_of_what_is_offered(
    tmp_path: Path, change: RuleChange
) -> None:
    model = ScriptedModel([[call("look", at="it")], "One.", [call("look", at="it")], "Two."])
    async with at(tmp_path, model) as works:
        session = await works.session()
        await session.run("Look.")
        await session.change_permissions(change)
        await session.run("Again.")
    async with at(tmp_path, ScriptedModel(["Three."])) as works:
        session = await works.open(session.id)
        await session.run("And?")
        log = await log_of(session)
    assert same_bytes(model.asked)
    assert len([event for event in events_of(log) if isinstance(event, PreambleChanged)]) == 1


# --- another epoch ---


async def test_other_tools_are_a_new_epoch_and_the_log_says_so(tmp_path: Path) -> None:
    @tool(read_only=True)
    def listen(to: str) -> str:
        """Listen to something.

        Args:
            to: What to listen to.
        """
        return f"heard {to}"

    model = ScriptedModel(["One.", [call("listen", to="it")], "Two."])
    async with at(tmp_path, model) as works:
        session = await works.session()
        await session.run("Look.")
    async with at(tmp_path, model, tools=["read", look, listen]) as works:
        session = await works.open(session.id)
        await session.run("Listen.")
        log = await log_of(session)
    first, second = [event for event in events_of(log) if isinstance(event, PreambleChanged)]
    assert (first.reason, second.reason) == ("", "the tools are others")
    assert set(second.tools) - set(first.tools) == {"listen"}
    assert first.tools_fingerprint != second.tools_fingerprint
    assert [event.fingerprint for event in events_of(log) if isinstance(event, ModelAsked)] == [
        first.fingerprint, second.fingerprint, second.fingerprint,
    ]  # fmt: skip


async def test_other_files_about_the_project_are_a_new_epoch_when_it_is_opened_again(tmp_path: Path) -> None:
    place = project(tmp_path, AGENTS="Use tabs.")
    model = ScriptedModel(["One.", "Two.", "Three."])
    async with at(tmp_path, model) as works:
        session = await works.session()
        await session.run("Look.")
        (place / "AGENTS.md").write_text("Use blanks.")
        await session.run("And?")
    async with at(tmp_path, model) as works:
        session = await works.open(session.id)
        await session.run("And now?")
        log = await log_of(session)
    tabs, still, blanks = (system(request.preamble) for request in model.asked)
    assert "Use tabs." in tabs
    assert still == tabs
    assert "Use blanks." in blanks
    epochs = [event for event in events_of(log) if isinstance(event, PreambleChanged)]
    assert [event.reason for event in epochs] == ["", "the system prompt is another"]
    assert epochs[0].tools_fingerprint == epochs[1].tools_fingerprint


# --- context files ---


async def test_context_files_stand_once_in_their_order_behind_everything_that_changes_less(
    tmp_path: Path,
) -> None:
    project(tmp_path, AGENTS="Use tabs.", CLAUDE="Be brief.", TOOLWRIGHT="Run the tests.")
    own = tmp_path / "home" / ".config" / "toolwright"
    own.mkdir(parents=True)
    (own / "AGENTS.md").write_text("Speak plainly.")
    model = ScriptedModel([[call("look", at="it")], "Done."])
    agent = AgentDefinition(name="helper", system="Help with everything.")
    async with at(tmp_path, model, agent=agent) as works:
        await works.run("Look.")
    text = system(model.asked[0].preamble)
    order = [
        "Tasks come from the person", "Help with everything.", "# Where you are",
        "Speak plainly.", "Use tabs.", "Be brief.", "Run the tests.",
    ]  # fmt: skip
    places = [text.index(words) for words in order]
    assert places == sorted(places)
    assert all(text.count(words) == 1 for words in order)
    assert 'from="user"' in text
    assert same_bytes(model.asked)


@pytest.mark.parametrize(("trusted", "origin"), [(False, "untrusted project"), (True, "project")])
async def test_files_of_a_project_say_whether_their_user_vouched_for_it(
    tmp_path: Path, trusted: bool, origin: str
) -> None:
    place = project(tmp_path, AGENTS="Use tabs.")
    own = tmp_path / "home" / ".config" / "toolwright"
    own.mkdir(parents=True)
    if trusted:
        (own / "settings.json").write_text(json.dumps({"trusted_projects": [str(place)]}))
    model = ScriptedModel(["Done."])
    async with at(tmp_path, model) as works:
        await works.run("Look.")
    assert f'path="{place}/AGENTS.md" from="{origin}"' in system(model.asked[0].preamble)


async def test_context_files_take_no_more_than_their_part(tmp_path: Path) -> None:
    project(tmp_path, AGENTS="tabs\n" * 500, CLAUDE="brief\n" * 500)
    model = ScriptedModel(["Done."])
    async with at(tmp_path, model, settings={"context_files": {"max_chars": 1_000}}) as works:
        await works.run("Look.")
    text = system(model.asked[0].preamble)
    assert text.count("tabs\n") + text.count("brief\n") < 200
    assert "characters; read the file for the rest" in text


async def test_whoever_opens_the_engine_is_told_what_is_odd_about_context_files(tmp_path: Path) -> None:
    place = project(tmp_path, AGENTS="@other.md\n", CLAUDE="brief\n" * 500)
    async with at(tmp_path, ScriptedModel([]), settings={"context_files": {"max_chars": 1_000}}) as works:
        told = "\n".join(works.notices)
    assert f"{place}/AGENTS.md" in told
    assert f"{place}/CLAUDE.md" in told
    async with at(tmp_path, ScriptedModel([]), settings={"context_files": {"enabled": False}}) as works:
        assert not any("CLAUDE.md" in notice for notice in works.notices)


async def test_context_files_can_be_left_out(tmp_path: Path) -> None:
    project(tmp_path, AGENTS="Use tabs.")
    model = ScriptedModel(["Done."])
    async with at(tmp_path, model, settings={"context_files": {"enabled": False}}) as works:
        await works.run("Look.")
    assert "Use tabs." not in system(model.asked[0].preamble)


async def test_tools_of_ones_own_alone_know_no_project(tmp_path: Path) -> None:
    model = ScriptedModel(["Done."])
    async with Engine(model=model, tools=[look], environ={"HOME": str(tmp_path)}, durable=False) as works:
        await works.run("Look.")
    assert "# Where you are" not in system(model.asked[0].preamble)
