"""bash: what it runs, what it answers, every limit at its edge and one past it."""

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright.backends.background.memory import MemoryBackground
from toolwright.backends.blobs.memory import MemoryBlobs
from toolwright.backends.clock.fake import FakeClock
from toolwright.backends.sandboxes.bubblewrap import BubblewrapSandbox
from toolwright.backends.sandboxes.memory import MemorySandbox, Scripted
from toolwright.contracts.content import text_of
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import Egress, NetworkAccess, WebRequest, WebResponse
from toolwright.contracts.ports import Command, Sandbox
from toolwright.contracts.tool import CallContext, CallState, Done, Failed, Objection, Outcome, Progress, Tool
from toolwright.contracts.view import Command as CommandNode
from toolwright.contracts.view import Output
from toolwright.tool_calls.results import ResultLimits, Results
from toolwright.tools.builtin import bash
from toolwright.tools.commands.printed import NOT_TEXT
from toolwright.tools.commands.setup import OUTPUT_KEPT, setup_of
from toolwright.tools.commands.state import ENV_FILE
from toolwright.tools.services import Services
from toolwright.workspaces.workspace import open_workspace

pytestmark = pytest.mark.anyio
WITHIN = 30


class NoEgress:
    async def send(self, request: WebRequest) -> WebResponse:
        raise ToolFailure("unsupported", "no network in this test")

    async def close(self) -> None:
        return None


class World:
    """A session around one bash tool."""

    def __init__(self, tmp_path: Path, sandbox: Sandbox) -> None:
        self.folder = tmp_path / "workspace"
        self.folder.mkdir()
        self.sandbox = sandbox
        self.background = MemoryBackground(clock=FakeClock())
        self.services = Services(
            sandbox=sandbox,
            background=self.background,
            egress=NoEgress(),
            blobs=MemoryBlobs(FakeClock()),
            clock=FakeClock(),
            session_dir=str(tmp_path / "session"),
        )
        self.within = WITHIN
        self.reports: list[Progress] = []
        self.ctx = CallContext(
            workspace=open_workspace([str(self.folder)], str(self.folder)), report=self.reports.append
        )

    def tool(
        self,
        *,
        settings: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] | None = None,
        options: Mapping[str, Any] | None = None,
        unprotected: Sandbox | None = None,
    ) -> Tool:
        services = replace(
            self.services, settings=settings or {}, environ=environ or {}, unprotected=unprotected
        )
        return bash.build(services, options or {})

    async def run(self, tool: Tool | None = None, /, **input: Any) -> Outcome:
        with anyio.fail_after(self.within):
            outcome = await (tool or self.tool()).call(input, self.ctx)
        if isinstance(outcome, Done) and outcome.new_cwd is not None:
            self.ctx = replace(self.ctx, workspace=self.ctx.workspace.with_cwd(outcome.new_cwd))
        return outcome

    async def text(self, command: str, **input: Any) -> str:
        return said(await self.run(command=command, **input))


def said(outcome: Outcome) -> str:
    assert isinstance(outcome, (Done, Failed))
    return text_of(outcome.content or "")


def done(outcome: Outcome) -> Done:
    assert isinstance(outcome, Done), outcome
    return outcome


def failed(outcome: Outcome) -> Failed:
    assert isinstance(outcome, Failed), outcome
    return outcome


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path, BubblewrapSandbox())
    yield made
    await made.background.close()
    await made.sandbox.close()


@pytest.fixture
async def scripted(tmp_path: Path) -> AsyncIterator[Callable[[Scripted], World]]:
    worlds: list[World] = []

    def make(answer: Scripted) -> World:
        worlds.append(World(tmp_path, MemorySandbox(lambda _: answer)))
        return worlds[-1]

    yield make
    for made in worlds:
        await made.background.close()
        await made.sandbox.close()


def only(world: World) -> Command:
    assert isinstance(world.sandbox, MemorySandbox)
    (command,) = world.sandbox.commands
    return command


# --- running --------------------------------------------------------------------------------


async def test_returns_both_streams_in_order(world: World) -> None:
    outcome = done(await world.run(command="echo one; echo two >&2; echo three"))
    assert outcome.content == "one\ntwo\nthree\n"
    assert outcome.data == {
        "stdout": "one\ntwo\nthree\n",
        "exit_code": 0,
        "interrupted": False,
        "timed_out": False,
        "background_task_id": None,
        "stored_path": None,
        "cwd": str(world.folder),
        "interpretation": None,
        "dropped_bytes": 0,
    }


async def test_a_failure_says_its_code_first(world: World) -> None:
    outcome = failed(await world.run(command="echo text; exit 3"))
    assert (outcome.code, outcome.message, outcome.content) == (
        "command_failed",
        "Exit code 3",
        "Exit code 3\ntext",
    )
    assert outcome.data["exit_code"] == 3


async def test_names_signals(world: World) -> None:
    assert failed(await world.run(command="kill -SEGV $$")).message == "Exit code 139 (SIGSEGV)"


@pytest.mark.parametrize(
    ("command", "meaning"),
    [
        ("grep nothing /etc/hosts", "no line matched"),
        ("cat /etc/hosts | grep nothing", "no line matched"),
        ("echo a >a; echo b >b; diff -q a b >/dev/null", "the files differ"),
        ("cmp -s /etc/hosts /dev/null", "the files differ"),
        ("test -e nothing", "the condition is false"),
        ("[ -e nothing ]", "the condition is false"),
        ("[[ -e nothing ]]", "the condition is false"),
    ],
)
async def test_some_codes_are_answers(world: World, command: str, meaning: str) -> None:
    outcome = done(await world.run(command=command))
    assert said(outcome).splitlines()[-1] == f"(exit code 1: {meaning})"
    assert outcome.data["interpretation"] == meaning


@pytest.mark.parametrize("command", ["grep nothing /missing", "false", "grep nothing /etc/hosts; false"])
async def test_other_codes_are_failures(world: World, command: str) -> None:
    failed(await world.run(command=command))


async def test_the_operator_may_name_more_codes(world: World) -> None:
    tool = world.tool(settings={"bash": {"benign_exit_codes": {"sh": [4]}}})
    done(await world.run(tool, command="sh -c 'exit 4'"))
    failed(await world.run(tool, command="sh -c 'exit 5'"))


async def test_keeps_the_directory_but_no_variable(world: World) -> None:
    (world.folder / "sub").mkdir()
    outcome = done(await world.run(command="cd sub; NAME=value"))
    assert outcome.new_cwd == str(world.folder / "sub")
    assert await world.text('pwd; echo "[$NAME]"') == f"{world.folder}/sub\n[]\n"


@pytest.mark.parametrize("target", ["/tmp", "/", "/usr/bin"])
async def test_a_directory_outside_is_not_kept(world: World, target: str) -> None:
    outcome = done(await world.run(command=f"cd {target}"))
    note = f"The working directory is {world.folder} again: {target} is outside the workspace."
    assert (outcome.new_cwd, outcome.content) == (None, note)


@pytest.mark.parametrize(
    "forged",
    [
        'rm -f "$TOOLWRIGHT_CWD_FILE"; ln -s /etc/shadow "$TOOLWRIGHT_CWD_FILE"; trap - EXIT',
        'rm -f "$TOOLWRIGHT_CWD_FILE"; mkfifo "$TOOLWRIGHT_CWD_FILE"; trap - EXIT',
        'echo "$PWD/../../etc" >"$TOOLWRIGHT_CWD_FILE"; trap - EXIT',
        'head -c 100000 /dev/zero >"$TOOLWRIGHT_CWD_FILE"; trap - EXIT',
        'mkdir "$TOOLWRIGHT_CWD_FILE"; trap - EXIT',
    ],
)
async def test_a_forged_directory_is_not_believed(world: World, forged: str) -> None:
    outcome = done(await world.run(command=forged))
    assert outcome.new_cwd is None


async def test_a_child_session_never_moves(world: World) -> None:
    (world.folder / "sub").mkdir()
    world.ctx = replace(world.ctx, agent_id="a1")
    assert done(await world.run(command="cd sub")).new_cwd is None


async def test_variables_written_to_the_file_are_kept(world: World) -> None:
    await world.run(command=f'echo "export NAME=value" >>"${ENV_FILE}"')
    assert await world.text("echo $NAME >file; cat file") == "value\n"


async def test_commands_that_only_read_load_nothing(world: World) -> None:
    await world.run(command=f'echo "ls() {{ echo hijacked; }}; touch ran" >>"${ENV_FILE}"')
    (world.folder / "file").write_text("")
    assert await world.text("ls") == "file\n"
    assert await world.text("true >other; ls") == "hijacked\n"


async def test_standard_input_is_closed(world: World) -> None:
    assert await world.text("cat; read x; echo $?") == "1\n"


async def test_startup_files_and_aliases_do_not_count(world: World) -> None:
    (world.folder / ".bashrc").write_text("echo startup\n")
    command = f"export HOME={world.folder}; alias ls='echo aliased'\nls nothing-here"
    assert "aliased" not in await world.text(command)


async def test_the_environment_is_made_not_inherited(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED_SECRET", "canary")
    shown = await world.text("env")
    names = {line.partition("=")[0] for line in shown.splitlines()}
    assert "canary" not in shown
    assert names <= {
        "PATH", "HOME", "LANG", "TERM", "PAGER", "GIT_EDITOR", "GIT_PAGER", "GIT_TERMINAL_PROMPT",
        "TOOLWRIGHT", "TOOLWRIGHT_ENV_FILE", "TOOLWRIGHT_CWD_FILE", "PWD", "OLDPWD", "SHLVL", "_",
    }  # fmt: skip


async def test_protects_what_others_run(world: World) -> None:
    (world.folder / ".git" / "hooks").mkdir(parents=True)
    await world.run(
        command="echo x >.git/hooks/pre-commit; mkdir .toolwright; echo x >.toolwright/settings.json"
    )
    assert list((world.folder / ".git" / "hooks").iterdir()) == []
    assert not (world.folder / ".toolwright" / "settings.json").exists()


async def test_a_command_of_the_greatest_length_runs(world: World) -> None:
    command = "echo start #" + "é" * (bash.LONGEST_COMMAND - 12)
    assert len(command) == bash.LONGEST_COMMAND
    assert await world.text(command) == "start\n"
    schema = world.tool().spec.input_schema["properties"]["command"]
    assert (schema["minLength"], schema["maxLength"]) == (1, 100_000)


async def test_a_message_about_syntax_shows_the_command_only(world: World) -> None:
    assert said(await world.run(command="echo a\nif then")) == (
        "Exit code 2\na\n"
        "bash: eval: line 2: syntax error near unexpected token `then'\nbash: eval: line 2: `if then'"
    )


async def test_nothing_of_the_engine_is_in_the_way_of_a_command(world: World) -> None:
    (world.folder / "input").write_text("text\n")
    assert (
        await world.text('echo "$# [$1] $0"; exec <input; cat; ls /proc/self/fd | wc -l')
        == "0 [] bash\ntext\n4\n"
    )


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (r"printf 'a\xff\xfeb'", f"a\ufffd\ufffdb\n{NOT_TEXT}"),
        (r"printf 'gr\xc3\xbc\xc3'", f"gr\u00fc\ufffd\n{NOT_TEXT}"),
        (r"printf 'gr\xc3\xbc'", "gr\u00fc"),
    ],
)
async def test_output_that_is_no_text_is_said_once(world: World, command: str, shown: str) -> None:
    assert await world.text(command) == shown


@pytest.mark.parametrize("past", [0, 1])
async def test_sixteen_mebibytes_are_kept_and_what_is_missing_is_counted(
    scripted: Callable[[Scripted], World], past: int
) -> None:
    world = scripted(Scripted(output=b"x" * (OUTPUT_KEPT + past)))
    outcome = done(await world.run(command="make"))
    half = "x" * (OUTPUT_KEPT // 2)
    marker = "\n[... 1 bytes of output not kept ...]\n" if past else ""
    note = "\n[1 bytes in the middle of the output were too many to be kept.]" if past else ""
    assert OUTPUT_KEPT == 16 * 2**20
    assert said(outcome) == half + marker + half + note
    assert outcome.data["dropped_bytes"] == past
    stored = await Results(MemoryBlobs(FakeClock()), ResultLimits(), lambda text: text).bounded(
        outcome, world.tool().spec, call_id="c"
    )
    assert ("[1 bytes in the middle" in text_of(stored.content)) == bool(past)


async def test_output_that_was_not_kept_is_counted_when_a_command_goes_on(
    scripted: Callable[[Scripted], World],
) -> None:
    world = scripted(Scripted(output=b"x" * (OUTPUT_KEPT + 5), runs=True))
    outcome = done(await world.run(command="make", timeout=10))
    assert outcome.data["dropped_bytes"] == 5


@pytest.mark.slow
@pytest.mark.parametrize("persistent", [False, True])
async def test_a_gibibyte_of_output_stays_bounded(world: World, persistent: bool) -> None:
    world.within = 4 * WITHIN  # a busy machine needs long for so much
    tool = world.tool(options={"persistent": persistent})
    outcome = done(await world.run(tool, command="head -c 1073741824 /dev/zero | tr '\\0' x"))
    assert outcome.data["dropped_bytes"] == 2**30 - OUTPUT_KEPT
    assert len(said(outcome)) < OUTPUT_KEPT + 1000


async def test_multiple_lines_and_here_documents_keep_their_line_numbers(world: World) -> None:
    assert await world.text("cat <<'X'\ntext\nX\necho $LINENO") == "text\n4\n"


async def test_reports_output_while_it_runs(world: World) -> None:
    await world.run(command="echo first; sleep 0.3; echo second")
    assert "".join(progress.output for progress in world.reports) == "first\nsecond\n"
    assert len(world.reports) == 2


async def test_the_model_reads_plain_text_and_the_person_sees_colours(world: World) -> None:
    outcome = done(
        await world.run(command=r"printf '10%%\r50%%\rdone\n\033[31mred\033[0m\033[2J\033]0;title\a.\n'")
    )
    assert outcome.content == "done\nred.\n"
    assert outcome.view == Output("done\n\x1b[31mred\x1b[0m.\n", ansi=True)


async def test_printing_one_file_counts_as_reading_it(world: World) -> None:
    (world.folder / "whole").write_text("a\nb\n")
    (world.folder / "part").write_text("a\nb\n")
    await world.run(command="cat whole")
    await world.run(command="head -1 part")
    state = world.ctx.workspace.read_state
    whole, part = state.get(str(world.folder / "whole")), state.get(str(world.folder / "part"))
    assert whole is not None
    assert part is not None
    assert (whole.whole, whole.version.size, part.whole) == (True, 4, False)


async def test_printing_a_part_takes_nothing_back_of_what_was_seen(world: World) -> None:
    path = str(world.folder / "f")
    (world.folder / "f").write_text("a\nb\n")
    state = world.ctx.workspace.read_state
    await world.run(command="cat f")
    await world.run(command="head -1 f")
    mark = state.get(path)
    assert mark is not None
    assert mark.whole is True
    (world.folder / "f").write_text("c\nd\n")
    await world.run(command="head -1 f")
    mark = state.get(path)
    assert mark is not None
    assert mark.whole is False


@pytest.mark.parametrize(("length", "whole"), [(30_000, True), (30_001, False)])
async def test_a_file_of_which_only_a_preview_is_shown_was_not_read_whole(
    world: World, length: int, whole: bool
) -> None:
    (world.folder / "f").write_text("x" * length)
    await world.run(command="cat f")
    mark = world.ctx.workspace.read_state.get(str(world.folder / "f"))
    assert mark is not None
    assert mark.whole is whole


# --- limits ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "environ", "seconds"),
    [
        (None, {}, 120),
        (600_000, {}, 600),
        (600_001, {}, 600),
        (1, {}, 0.001),
        (None, {"BASH_DEFAULT_TIMEOUT_MS": "5000"}, 5),
        (7000, {"BASH_MAX_TIMEOUT_MS": "6000"}, 6),
        (None, {"BASH_MAX_TIMEOUT_MS": "6000"}, 6),
        (None, {"BASH_DEFAULT_TIMEOUT_MS": "-1", "BASH_MAX_TIMEOUT_MS": "soon"}, 120),
    ],
)
def test_timeouts_are_moved_into_range(
    tmp_path: Path, wanted: int | None, environ: Mapping[str, str], seconds: float
) -> None:
    services = replace(World(tmp_path, MemorySandbox()).services, environ=environ)
    assert setup_of(services, {}).seconds(wanted) == seconds


@pytest.mark.parametrize(
    ("written", "limit"), [(None, 30_000), ("150000", 150_000), ("150001", 150_000), ("none", 30_000)]
)
def test_the_length_of_output_may_be_set(tmp_path: Path, written: str | None, limit: int) -> None:
    environ = {} if written is None else {"BASH_MAX_OUTPUT_LENGTH": written}
    spec = World(tmp_path, MemorySandbox()).tool(environ=environ).spec
    assert (spec.result_limit, spec.preview, spec.timeout) == (limit, "head_tail", None)


@pytest.mark.parametrize(
    ("length", "gaps"),
    [(9_988, []), (9_989, ["[… 1 characters omitted …]"]), (50_000, ["[… 40012 characters omitted …]"])],
)
async def test_a_failure_shows_ten_thousand_characters_and_counts_the_rest(
    scripted: Callable[[Scripted], World], length: int, gaps: list[str]
) -> None:
    world = scripted(Scripted(output=b"x" * length, code=1))
    outcome = await world.run(command="make")
    assert isinstance(outcome, Failed)
    results = Results(MemoryBlobs(FakeClock()), ResultLimits(), lambda text: text)
    shown = text_of((await results.bounded(outcome, world.tool().spec, call_id="c")).content)
    assert shown.startswith("Exit code 1\nxxx")
    assert [line for line in shown.splitlines() if "[" in line] == gaps


async def test_too_much_output_ends_the_command(scripted: Callable[[Scripted], World]) -> None:
    world = scripted(Scripted(output=b"x" * 100))
    setup = setup_of(world.services, {})
    limits = replace(setup.limits, output_total=99)
    outcome = failed(await world.run(bash.Bash(replace(setup, limits=limits)), command="yes"))
    assert (outcome.code, outcome.message) == ("output_limit", "Ended: it printed 100 bytes.")


async def test_out_of_time_moves_to_the_background(world: World) -> None:
    outcome = done(await world.run(command="echo first; while :; do sleep 0.01; done", timeout=200))
    task_id = outcome.data["background_task_id"]
    assert outcome.content == (
        f"first\nStill running after 0.2 s: it goes on in the background as {task_id}. Output goes to "
        f"{world.services.session_dir}/tasks/{task_id}.out. A directory it changes to does not become the "
        "working directory."
    )
    assert (outcome.data["timed_out"], outcome.data["exit_code"]) == (True, None)
    assert outcome.data["stored_path"] == f"{world.services.session_dir}/tasks/{task_id}.out"
    assert [task.status for task in world.background.list()] == ["running"]


@pytest.mark.parametrize(
    "command",
    ["sleep 600", "/bin/sleep 600", "git() { :; }; while :; do sleep 1; git status; done", "sleep 600; ${x"],
)
async def test_some_commands_are_ended_when_out_of_time(
    scripted: Callable[[Scripted], World], command: str
) -> None:
    world = scripted(Scripted(output=b"so far", runs=True))
    outcome = failed(await world.run(command=command, timeout=10))
    assert (outcome.code, outcome.content) == ("timeout", "Timed out after 0.01 s and was ended.\nso far")
    assert world.background.list() == ()


async def test_runs_in_the_background(world: World) -> None:
    outcome = done(await world.run(command="echo text", run_in_background=True, description="say it"))
    (task,) = world.background.list()
    assert (task.kind, task.description) == ("shell", "say it")
    path = f"{world.services.session_dir}/tasks/{task.task_id}.out"
    assert outcome.content == f"Running in the background as {task.task_id}. Output goes to {path}."
    assert (await world.background.wait(task.task_id, WITHIN)).status == "completed"
    assert world.background.output_since(task.task_id, 0)[0] == b"text\n"


async def test_commands_may_read_what_background_tasks_print(world: World) -> None:
    folder = Path(world.services.session_dir) / "tasks"
    folder.mkdir(parents=True)
    (folder / "b1.out").write_text("so far\n")
    (folder.parent / "secret").write_text("canary")
    assert await world.text(
        f"cat {folder}/b1.out; cat {folder.parent}/secret; echo x >{folder}/b1.out; true"
    ) == (
        f"so far\ncat: {folder.parent}/secret: No such file or directory\n"
        f"bash: line 1: {folder}/b1.out: Read-only file system\n"
    )


async def test_ends_what_it_started_when_the_background_is_full(world: World) -> None:
    full = MemoryBackground(clock=FakeClock(), most_running=0)
    tool = bash.build(replace(world.services, background=full), {})
    with pytest.raises(ToolFailure, match="limit_reached"):
        await world.run(tool, command="sleep 600", run_in_background=True)


async def test_a_cancelled_command_is_ended(world: World) -> None:
    path = world.folder / "pid"
    with anyio.move_on_after(WITHIN) as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(world.tool().call, {"command": "echo here >pid; sleep 600"}, world.ctx)
            while not path.exists():
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()
    assert not scope.cancelled_caught
    assert not [pid for pid in os.listdir("/proc") if pid.isdigit() and _has(pid, b"echo here >pid")]


def _has(pid: str, text: bytes) -> bool:
    with suppress(OSError):
        return text in Path("/proc", pid, "cmdline").read_bytes()
    return False


# --- promises and permission ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("input", "read_only", "destructive", "beside"),
    [
        ({"command": "ls -la"}, True, False, True),
        ({"command": "cat a | grep b"}, True, False, True),
        ({"command": "ls", "run_in_background": True}, True, False, False),
        ({"command": "echo x >file"}, False, False, False),
        ({"command": "rm -rf build"}, False, True, False),
        ({"command": "git push --force"}, False, True, False),
        ({"command": "echo ${"}, False, False, False),
    ],
)
def test_promises(
    tmp_path: Path, input: dict[str, Any], read_only: bool, destructive: bool, beside: bool
) -> None:
    traits = World(tmp_path, MemorySandbox()).tool().traits(input)
    assert (traits.read_only, traits.destructive, traits.concurrency_safe) == (read_only, destructive, beside)
    assert (traits.command, traits.open_world) == (input["command"], False)
    assert traits.touches == (() if beside else None)


def test_the_operator_may_name_commands_to_be_warned_of(tmp_path: Path) -> None:
    tool = World(tmp_path, MemorySandbox()).tool(settings={"bash": {"destructive": ["make release"]}})
    warned = [tool.traits({"command": command}).destructive for command in ("make release", "make", "rm a")]
    assert warned == [True, False, True]


@pytest.mark.parametrize(
    ("hosts", "access"),
    [
        ((), NetworkAccess()),
        (("packages.example",), NetworkAccess("hosts", ("packages.example",))),
        (("*",), NetworkAccess("public")),
    ],
)
async def test_the_network_is_what_the_operator_allows(
    scripted: Callable[[Scripted], World], hosts: tuple[str, ...], access: NetworkAccess
) -> None:
    world = scripted(Scripted())
    tool = world.tool(settings={"sandbox": {"allowed_hosts": hosts}})
    await world.run(tool, command="true")
    assert only(world).network == access
    assert tool.traits({"command": "true"}).open_world == bool(hosts)


async def test_the_sandbox_is_left_only_where_the_operator_allows_it(
    scripted: Callable[[Scripted], World],
) -> None:
    world = scripted(Scripted(output=b"inside"))
    outside = MemorySandbox(lambda _: Scripted(output=b"outside"))
    input = {"command": "true", "dangerously_disable_sandbox": True}
    for tool in (
        world.tool(unprotected=outside),
        world.tool(settings={"bash": {"allow_unsandboxed": True}}),
    ):
        objection = await tool.check(input, world.ctx)
        assert objection is not None
        assert (objection.verdict, objection.code) == ("invalid", "permission_denied")
        with pytest.raises(ToolFailure, match="permission_denied"):
            await tool.call(input, world.ctx)
    allowed = world.tool(settings={"bash": {"allow_unsandboxed": True}}, unprotected=outside)
    assert await allowed.check(input, world.ctx) == Objection(
        "ask", "The command would run outside the sandbox.", firm=True
    )
    assert said(await world.run(allowed, **input)) == "outside"
    assert allowed.traits(input).open_world
    assert said(await world.run(allowed, command="true")) == "inside"


async def test_without_a_sandbox_it_says_how_to_get_one(tmp_path: Path) -> None:
    world = World(tmp_path, MemorySandbox(problem="no sandbox"))
    assert world.tool().spec.unavailable == ""
    with pytest.raises(ToolFailure) as caught:
        await world.run(command="true")
    assert (caught.value.code, caught.value.hint) == ("unsupported", "Give the test a sandbox.")


async def test_background_tasks_can_be_switched_off(scripted: Callable[[Scripted], World]) -> None:
    world = scripted(Scripted(runs=True))
    tool = world.tool(environ={"TOOLWRIGHT_DISABLE_BACKGROUND_TASKS": "1"})
    with pytest.raises(ToolFailure, match="switched off"):
        await tool.check({"command": "true", "run_in_background": True}, world.ctx)
    assert failed(await world.run(tool, command="make", timeout=10)).code == "timeout"


async def test_a_nul_is_refused(scripted: Callable[[Scripted], World]) -> None:
    world = scripted(Scripted())
    objection = await world.tool().check({"command": "rm\0 -rf"}, world.ctx)
    assert objection is not None
    assert objection.verdict == "invalid"


def test_view_in_every_phase(tmp_path: Path) -> None:
    tool = World(tmp_path, MemorySandbox()).tool()
    state = CallState(
        call_id="c", tool="bash", offered_name="Bash", phase="running", cwd="/w",
        input={"command": "make all\necho", "description": ""},
    )  # fmt: skip
    view = tool.view(state)
    assert (view.activity, view.use) == ("make all", CommandNode("make all\necho", "/w"))
    assert tool.view(replace(state, input={}, partial=True)).activity == ""
    data = {"stdout": "a\nb\n\n", "exit_code": 0, "background_task_id": None}
    ended = replace(state, phase="done", outcome=Done("a\nb\n", data=data, view=Output("a\nb\n", ansi=True)))
    assert tool.view(ended).summary == "b"
    moved = replace(ended, outcome=Done("", data={**data, "background_task_id": "b1"}))
    assert tool.view(moved).summary == "in background as b1"
    for message, summary in (
        ("Exit code 2", "exit 2"),
        ("Exit code 137 (SIGKILL)", "exit 137 (SIGKILL)"),
        ("Ended: it printed 9 bytes.", "Ended: it printed 9 bytes."),
    ):
        broken = replace(state, phase="error", outcome=Failed("command_failed", message, data=data))
        assert tool.view(broken).summary == summary


# --- one shell for the session --------------------------------------------------------------


@pytest.fixture
async def session(world: World) -> Callable[..., Any]:
    tool = world.tool(options={"persistent": True})

    async def run(**input: Any) -> Outcome:
        return await world.run(tool, **input)

    return run


async def test_a_persistent_shell_keeps_everything(world: World, session: Callable[..., Any]) -> None:
    (world.folder / "sub").mkdir()
    assert said(await session(command="cd sub; NAME=value; greet() { echo hello $1; }")) == ""
    assert (
        said(await session(command="pwd; echo $NAME; greet you")) == f"{world.folder}/sub\nvalue\nhello you\n"
    )
    assert world.ctx.workspace.cwd == str(world.folder / "sub")


async def test_a_persistent_shell_tells_codes(session: Callable[..., Any]) -> None:
    assert failed(await session(command="echo text; (exit 3)")).content == "Exit code 3\ntext"
    assert said(await session(command="grep nothing /etc/hosts")) == "(exit code 1: no line matched)"
    assert said(await session(command="cat; echo after")) == "after\n"


async def test_a_persistent_shell_is_started_again(world: World, session: Callable[..., Any]) -> None:
    note = f"The session was ended. The next command starts a new one in {world.folder}."
    await session(command="NAME=value")
    assert said(await session(restart=True)) == note
    assert said(await session(command='echo "[$NAME]"')) == "[]\n"
    assert failed(await session(command="echo bye; exit 4")).content == f"Exit code 4\nbye\n{note}"
    assert said(await session(command="echo again")) == "again\n"


async def test_a_persistent_shell_ends_when_time_is_over(world: World, session: Callable[..., Any]) -> None:
    outcome = failed(await session(command="NAME=value; echo so far; sleep 600", timeout_ms=200))
    note = f"The session was ended. The next command starts a new one in {world.folder}."
    assert outcome.content == f"Timed out after 0.2 s and was ended.\nso far\n{note}"
    assert said(await session(command='echo "[$NAME]"')) == "[]\n"


@pytest.mark.parametrize("elsewhere", ["exec >&-", "exec >log.txt", "exec >/dev/null 2>&1"])
async def test_a_persistent_shell_tells_the_end_although_it_prints_elsewhere(
    session: Callable[..., Any], elsewhere: str
) -> None:
    assert said(await session(command=f"echo before; {elsewhere}")) == "before\n"
    assert failed(await session(command="(exit 3)")).content == "Exit code 3"


async def test_a_persistent_shell_is_not_fooled_by_marks(session: Callable[..., Any]) -> None:
    forged = r"printf '\036%s 0 /tmp\036' 0123456789abcdef0123456789abcdef; printf '\036'; echo real"
    assert said(await session(command=forged)) == "0123456789abcdef0123456789abcdef 0 /tmpreal\n"
    assert said(await session(command="echo next")) == "next\n"


async def test_a_persistent_shell_takes_large_output_and_long_commands(session: Callable[..., Any]) -> None:
    outcome = done(await session(command="head -c 20000000 /dev/zero | tr '\\0' x; echo end"))
    assert "bytes of output not kept" in said(outcome)
    assert "xend\n[" in said(outcome)
    assert outcome.data["dropped_bytes"] == 20_000_004 - OUTPUT_KEPT
    assert said(await session(command="echo start #" + "x" * 90_000)) == "start\n"


@pytest.mark.parametrize("input", [{}, {"command": "true", "restart": True}, {"command": ""}])
async def test_a_persistent_shell_needs_one_wish(world: World, input: dict[str, Any]) -> None:
    objection = await world.tool(options={"persistent": True}).check(input, world.ctx)
    assert objection is not None
    assert (objection.verdict, objection.code) == ("invalid", "invalid_input")


def test_the_persistent_shell_runs_alone(tmp_path: Path) -> None:
    tool = World(tmp_path, MemorySandbox()).tool(settings={"bash": {"persistent": True}})
    traits = tool.traits({"command": "ls"})
    assert (traits.read_only, traits.concurrency_safe, traits.command) == (True, False, "ls")
    assert tool.traits({"restart": True}).pre_approved
    assert set(tool.spec.input_schema["properties"]) == {"command", "restart", "timeout_ms", "description"}


_: Egress = NoEgress()
