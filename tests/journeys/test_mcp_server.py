"""Our tools, agents, files and prompts as the official client of the protocol sees them, in one process."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types import (
    CallToolResult,
    ElicitRequestParams,
    ElicitResult,
    InputRequiredResult,
    ResourceLink,
    ResourceTemplateReference,
    TextContent,
    TextResourceContents,
)

from toolwright import tool
from toolwright.contracts.messages import CallBlock
from toolwright.contracts.tool import CallContext, Progress
from toolwright.settings import load
from toolwright.surfaces.mcp.offering import Offering
from toolwright.surfaces.mcp.stdio import local_server
from toolwright.testing import ScriptedModel

pytestmark = pytest.mark.anyio
WITHIN = 30
TOOLS_ALONE = Offering(agents=False)
MODES = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
Form = Callable[[ElicitRequestParams], ElicitResult]


YES = ElicitResult(action="accept", content={"decision": "allow"})


def yes(form: ElicitRequestParams) -> ElicitResult:
    del form
    return YES


@asynccontextmanager
async def client(
    folder: Path,
    *,
    mode: str = "legacy",
    answer: Form | None = None,
    offering: Offering = TOOLS_ALONE,
    script: Any = (),
    settings: dict[str, Any] | None = None,
    **more: Any,
) -> AsyncIterator[Client]:
    """Meet a server that works in a folder."""

    async def asked(context: Any, params: ElicitRequestParams) -> ElicitResult:
        del context
        assert answer is not None
        return answer(params)

    environ = {"HOME": str(folder.parent / "home"), "PATH": "/usr/bin:/bin"}
    loaded = await asyncio.to_thread(load, str(folder), environ=environ, cli=settings or {})
    async with asyncio.timeout(WITHIN), local_server(loaded, offering, model=ScriptedModel(script)) as server:
        callback = asked if answer is not None else None
        async with Client(server, mode=mode, elicitation_callback=callback, cache=None, **more) as it:
            yield it


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("hello\n")
    return folder


def text(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


# --- skills -------------------------------------------------------------------------------------


def put_skills(project: Path) -> None:
    """Of the user: one to read, and one that runs as a call."""
    folder = project.parent / "home/.config/toolwright/skills"
    (folder / "letters").mkdir(parents=True)
    front = "---\nname: letters\ndescription: Writes letters.\n---\n"
    (folder / "letters" / "SKILL.md").write_text(front + "Write kindly.")
    (folder / "shout").mkdir()
    about = {"description": "Says it loudly.", "expose_as_tool": True, "read_only": True}
    (folder / "shout" / "skill.json").write_text(json.dumps(about))
    script = "import json, sys\nprint(json.load(sys.stdin)['words'].upper())\n"
    (folder / "shout" / "script.py").write_text(script)


@pytest.mark.sandbox
@MODES
async def test_skills_are_found_read_and_run_as_tools(project: Path, mode: str) -> None:
    put_skills(project)
    async with client(project, mode=mode) as it:
        assert {"skill", "skill_search", "shout"} <= {one.name for one in (await it.list_tools()).tools}
        assert "letters" in text(await it.call_tool("skill_search", {"query": "letters"}))
        assert "Write kindly." in text(await it.call_tool("skill", {"skill": "letters"}))
        loud = await it.call_tool("shout", {"words": "hello"})
        assert (text(loud).strip(), loud.is_error) == ("HELLO", False)


async def test_skills_can_be_left_out(project: Path) -> None:
    put_skills(project)
    async with client(project, offering=Offering(agents=False, skills=False)) as it:
        assert not {"skill", "skill_search", "shout"} & {one.name for one in (await it.list_tools()).tools}


# --- tools --------------------------------------------------------------------------------------


@MODES
async def test_built_in_tools_are_listed_with_their_schemas_and_can_be_called(
    project: Path, mode: str
) -> None:
    async with client(project, mode=mode) as it:
        listed = {one.name: one for one in (await it.list_tools()).tools}
        assert listed["read"].input_schema["required"] == ["file_path"]
        assert not listed.keys() & {"mcp_read_file", "mcp_list_files"}
        result = await it.call_tool("read", {"file_path": "a.txt"})
        assert not result.is_error
        assert "hello" in text(result)


async def test_only_tools_that_were_chosen_are_there_under_the_names_of_a_toolset(project: Path) -> None:
    offering = Offering(agents=False, builtins=("read", "grep"))
    async with client(project, offering=offering, settings={"tools": {"toolset": "harness"}}) as it:
        names = {one.name for one in (await it.list_tools()).tools}
        assert {"Read", "Grep"} <= names
        assert "Bash" not in names
        assert "hello" in text(await it.call_tool("Read", {"file_path": "a.txt"}))


async def test_a_tool_that_is_not_there_is_an_error_of_the_protocol_that_names_a_near_one(
    project: Path,
) -> None:
    async with client(project) as it:
        with pytest.raises(MCPError, match="read") as caught:
            await it.call_tool("raed", {"file_path": "a.txt"})
        assert caught.value.code == -32602


async def test_tools_of_the_server_itself_cannot_be_called(project: Path) -> None:
    async with client(project) as it:
        with pytest.raises(MCPError):
            await it.call_tool("mcp_read_file", {"file_path": "a.txt"})


async def test_input_that_does_not_fit_is_told_in_words_for_the_model(project: Path) -> None:
    async with client(project) as it:
        result = await it.call_tool("read", {"file": 7})
        assert result.is_error
        assert "file_path" in text(result)


async def test_what_a_tool_returns_by_its_schema_comes_as_structured_content(project: Path) -> None:
    @tool(read_only=True)
    def weather(city: str) -> dict[str, float]:
        """Tell the weather."""
        return {"degrees": 21.5 + len(city)}

    async with client(project, offering=Offering(tools=(weather,), builtins=(), agents=False)) as it:
        listed = (await it.list_tools()).tools
        assert listed[0].output_schema is not None
        result = await it.call_tool("weather", {"city": ""})
        assert result.structured_content == {"degrees": 21.5}


async def test_only_what_no_input_can_change_is_called_read_only(project: Path) -> None:
    gates = {"features": {"http_tool": True}}
    async with client(project, settings=gates) as it:
        hints = {one.name: one.annotations for one in (await it.list_tools()).tools}
    said = {name: hint.read_only_hint for name, hint in hints.items() if hint is not None}
    assert said["grep"] is True
    assert said["bash"] is False
    assert said["http_request"] is False
    assert not said.get("write")


# --- permission ---------------------------------------------------------------------------------


@MODES
async def test_what_must_be_asked_is_put_to_the_client_and_then_done(project: Path, mode: str) -> None:
    seen: list[str] = []

    def answer(form: ElicitRequestParams) -> ElicitResult:
        seen.append(form.message)
        return yes(form)

    async with client(project, mode=mode, answer=answer) as it:
        result = await it.call_tool("write", {"file_path": "new.txt", "content": "x"})
    assert not result.is_error, text(result)
    assert (project / "new.txt").read_text() == "x"
    assert len(seen) == 1
    assert "new.txt" in seen[0]


@MODES
@pytest.mark.parametrize(
    "said",
    [
        ElicitResult(action="decline"),
        ElicitResult(action="cancel"),
        ElicitResult(action="accept", content={}),
        ElicitResult(action="accept", content={"decision": "deny", "reason": "use another folder"}),
        ElicitResult(action="accept", content={"decision": "perhaps"}),
    ],
)
async def test_whatever_is_no_clear_yes_is_a_no(project: Path, mode: str, said: ElicitResult) -> None:
    async with client(project, mode=mode, answer=lambda form: said) as it:
        result = await it.call_tool("write", {"file_path": "new.txt", "content": "x"})
    assert result.is_error
    assert "rejected" in text(result)
    assert not said.content or "reason" not in said.content or "use another folder" in text(result)
    assert not (project / "new.txt").exists()


@MODES
async def test_a_client_that_cannot_ask_reads_why_the_call_was_refused(project: Path, mode: str) -> None:
    async with client(project, mode=mode) as it:
        result = await it.call_tool("write", {"file_path": "new.txt", "content": "x"})
    assert result.is_error
    assert "approval" in text(result)
    assert not (project / "new.txt").exists()


@MODES
async def test_a_rule_for_the_session_is_asked_for_once(project: Path, mode: str) -> None:
    asked: list[ElicitRequestParams] = []

    def answer(form: ElicitRequestParams) -> ElicitResult:
        asked.append(form)
        return ElicitResult(action="accept", content={"decision": "allow_for_session"})

    async with client(project, mode=mode, answer=answer) as it:
        for name in ("one.txt", "two.txt"):
            result = await it.call_tool("write", {"file_path": name, "content": "x"})
            assert not result.is_error, text(result)
    assert len(asked) == 1


async def test_a_rule_that_denies_is_not_asked_about(project: Path) -> None:
    settings = {"permissions": {"deny": ["Write"]}}
    async with client(project, answer=yes, settings=settings) as it:
        with pytest.raises(MCPError):
            await it.call_tool("write", {"file_path": "new.txt", "content": "x"})


async def test_the_state_of_a_question_belongs_to_the_call_it_was_asked_for(project: Path) -> None:
    async with client(project, mode="2026-07-28", answer=yes) as it:
        asked = await it.session.call_tool(
            "write", {"file_path": "one.txt", "content": "x"}, allow_input_required=True
        )
        assert isinstance(asked, InputRequiredResult)
        state = asked.request_state
        assert state
        for arguments, sent in (
            ({"file_path": "two.txt", "content": "x"}, state),
            ({"file_path": "one.txt", "content": "x"}, f"{state[:-4]}AAAA"),
        ):
            with pytest.raises(MCPError, match="requestState"):
                await it.session.call_tool(
                    "write",
                    arguments,
                    input_responses={"approval": YES},
                    request_state=sent,
                    allow_input_required=True,
                )
    assert not (project / "two.txt").exists()


# --- while a call runs --------------------------------------------------------------------------


@MODES
async def test_progress_of_a_tool_reaches_whoever_called_it(project: Path, mode: str) -> None:
    @tool(read_only=True)
    async def count(ctx: CallContext) -> str:
        """Count."""
        ctx.report(Progress(text="one", fraction=0.25))
        await asyncio.sleep(0.15)
        ctx.report(Progress(text="two", fraction=0.5))
        return "counted"

    seen: list[tuple[float, float | None, str | None]] = []

    async def told(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    async with client(project, mode=mode, offering=Offering(tools=(count,), builtins=(), agents=False)) as it:
        assert text(await it.call_tool("count", {}, progress_callback=told)) == "counted"
    assert seen == [(25.0, 100.0, "one"), (50.0, 100.0, "two")]


async def test_a_call_that_the_client_gives_up_is_ended(project: Path) -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    @tool(read_only=True)
    async def wait() -> str:
        """Wait for ever."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    async with client(project, offering=Offering(tools=(wait,), builtins=(), agents=False)) as it:
        call = asyncio.ensure_future(it.call_tool("wait", {}))
        await started.wait()
        call.cancel()
        await asyncio.wait([call])
        await ended.wait()
        assert [one.name for one in (await it.list_tools()).tools] == ["wait"]


# --- resources ----------------------------------------------------------------------------------


async def test_files_of_the_workspace_are_listed_read_and_completed(project: Path) -> None:
    (project / "sub").mkdir()
    (project / "sub" / "b c.bin").write_bytes(b"\xff\x00")
    async with client(project) as it:
        uris = {one.uri for one in (await it.list_resources()).resources}
        assert uris == {"workspace:///a.txt", "workspace:///sub/b%20c.bin"}
        [whole] = (await it.read_resource("workspace:///a.txt")).contents
        assert isinstance(whole, TextResourceContents)
        assert whole.text == "hello\n"
        [blob] = (await it.read_resource("workspace:///sub/b%20c.bin")).contents
        assert getattr(blob, "blob", "") == "/wA="
        template = (await it.list_resource_templates()).resource_templates[0].uri_template
        found = await it.complete(ResourceTemplateReference(uri=template), {"name": "path", "value": "sub/"})
        assert found.completion.values == ["sub/b c.bin"]


@pytest.mark.parametrize(
    "uri",
    [
        "workspace:///none.txt",
        "workspace:///../out.txt",
        "workspace:////etc/hostname",
        "other:///a",
        "result:///x",
    ],
)
async def test_what_is_not_there_or_lies_outside_is_told_alike(project: Path, uri: str) -> None:
    (project.parent / "out.txt").write_text("secret")
    async with client(project, answer=yes) as it:
        with pytest.raises(MCPError) as caught:
            await it.read_resource(uri)
    assert caught.value.code == -32602
    assert caught.value.data == {"uri": uri}


async def test_rules_about_files_hold_for_resources(project: Path) -> None:
    (project / ".env").write_text("KEY=value")
    settings = {"permissions": {"deny": ["Read(.env)"]}}
    async with client(project, settings=settings) as it:
        assert {one.uri for one in (await it.list_resources()).resources} == {"workspace:///a.txt"}
        with pytest.raises(MCPError):
            await it.read_resource("workspace:///.env")


async def test_a_result_that_is_too_long_can_be_read_as_a_resource(project: Path) -> None:
    @tool(read_only=True, result_limit=1_000)
    def much() -> str:
        """Say much."""
        return "word " * 2_000

    async with client(project, offering=Offering(tools=(much,), builtins=(), agents=False)) as it:
        result = await it.call_tool("much", {})
        [link] = [block for block in result.content if isinstance(block, ResourceLink)]
        assert link.uri.startswith("result:///")
        [whole] = (await it.read_resource(link.uri)).contents
        assert isinstance(whole, TextResourceContents)
        assert whole.text.count("word") == 2_000
    assert not list((project / ".toolwright" / "sessions").glob("mcp_*"))


async def test_a_client_hears_of_a_file_that_it_watches(project: Path) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/resources/updated":
            heard.put_nowait(message.params.uri)

    settings = {"permissions": {"allow": ["Write"]}}
    async with client(project, settings=settings, message_handler=hear) as it:
        with pytest.warns(MCPDeprecationWarning):
            await it.subscribe_resource("workspace:///new.txt")
        await it.call_tool("write", {"file_path": "new.txt", "content": "x"})
        assert await heard.get() == "workspace:///new.txt"


# --- agents -------------------------------------------------------------------------------------


async def test_an_agent_does_a_task_and_says_what_came_of_it(project: Path) -> None:
    script = [(CallBlock("c1", "read", '{"file_path": "a.txt"}'),), "It says hello."]
    async with client(project, offering=Offering(builtins=("read",)), script=script) as it:
        names = {one.name for one in (await it.list_tools()).tools}
        assert "agent_explore" in names
        result = await it.call_tool("agent_explore", {"prompt": "What does a.txt say?"})
    assert text(result) == "It says hello."
    assert result.structured_content is not None
    assert result.structured_content["end"] == "done"
    assert result.structured_content["calls"] == 1


@pytest.mark.parametrize("allowed", [True, False])
async def test_what_an_agent_must_ask_is_put_to_the_client_that_waits(project: Path, allowed: bool) -> None:
    wanted = json.dumps({"file_path": "new.txt", "content": "x"})
    script = [(CallBlock("c1", "write", wanted),), "I am done."]
    asked: list[str] = []

    def answer(form: ElicitRequestParams) -> ElicitResult:
        asked.append(form.message)
        return ElicitResult(action="accept", content={"decision": "allow" if allowed else "deny"})

    async with client(project, offering=Offering(), script=script, answer=answer) as it:
        assert text(await it.call_tool("agent_general", {"prompt": "Write it."})) == "I am done."
    assert len(asked) == 1
    assert (project / "new.txt").exists() is allowed


async def test_where_nobody_can_be_asked_an_agent_is_refused_and_goes_on(project: Path) -> None:
    wanted = json.dumps({"file_path": "new.txt", "content": "x"})
    script = [(CallBlock("c1", "write", wanted),), "It was refused."]
    async with client(project, mode="2026-07-28", offering=Offering(), script=script) as it:
        assert text(await it.call_tool("agent_general", {"prompt": "Write it."})) == "It was refused."
    assert not (project / "new.txt").exists()


async def test_the_instructions_of_agents_are_prompts(project: Path) -> None:
    async with client(project, offering=Offering(builtins=("read",))) as it:
        assert "explore" in {one.name for one in (await it.list_prompts()).prompts}
        got = await it.get_prompt("explore", {"task": "Find the entry point."})
        assert isinstance(got.messages[0].content, TextContent)
        assert got.messages[0].content.text.endswith("Find the entry point.")
        with pytest.raises(MCPError):
            await it.get_prompt("nobody")


async def test_an_agent_that_a_call_writes_down_is_offered_at_once_and_the_client_hears_of_it(
    project: Path,
) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: Any) -> None:
        if "list_changed" in getattr(message, "method", ""):
            heard.put_nowait(message.method)

    @tool
    def hire() -> str:
        """Write an agent down."""
        folder = project / ".toolwright" / "agents"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "helper.md").write_text("---\nname: helper\ndescription: Helps.\n---\nHelp.\n")
        return "hired"

    offering = Offering(tools=(hire,), builtins=("read",))
    settings = {"permissions": {"allow": ["hire"]}}
    async with client(project, offering=offering, settings=settings, message_handler=hear) as it:
        before = {one.name for one in (await it.list_tools()).tools}
        assert text(await it.call_tool("hire", {})) == "hired"
        assert await heard.get() == "notifications/tools/list_changed"
        after = {one.name for one in (await it.list_tools()).tools}
    assert after - before == {"agent_helper"}


async def test_changes_are_told_over_a_stream_that_a_client_opened_for_them(project: Path) -> None:
    settings = {"permissions": {"allow": ["Write"]}}
    async with client(project, mode="2026-07-28", settings=settings) as it:
        async with it.listen(resource_subscriptions=["workspace:///new.txt"]) as stream:
            await it.call_tool("write", {"file_path": "other.txt", "content": "x"})
            await it.call_tool("write", {"file_path": "new.txt", "content": "x"})
            event = await anext(aiter(stream))
    assert getattr(event, "uri", "") == "workspace:///new.txt"
