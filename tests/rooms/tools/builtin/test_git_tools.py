"""git_log and git_status: answers, refusals, and what a hostile repository cannot do."""

import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from toolwright.backends.background.memory import MemoryBackground
from toolwright.backends.blobs.memory import MemoryBlobs
from toolwright.backends.clock.fake import FakeClock
from toolwright.backends.sandboxes.bubblewrap import BubblewrapSandbox
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import WebRequest, WebResponse
from toolwright.contracts.tool import CallContext, Done, Tool, Touch, Traits
from toolwright.tools.builtin import git_log, git_status
from toolwright.tools.builtin.git_status import parsed
from toolwright.tools.commands.git import checked_ref
from toolwright.tools.services import Services
from toolwright.workspaces.workspace import open_workspace

pytestmark = pytest.mark.anyio


class NoEgress:
    async def send(self, request: WebRequest) -> WebResponse:
        raise ToolFailure("unsupported", "no network in this test")

    async def close(self) -> None:
        return None


class World:
    def __init__(self, folder: Path, sandbox: BubblewrapSandbox) -> None:
        self.folder = folder
        clock = FakeClock()
        services = Services(
            sandbox=sandbox,
            background=MemoryBackground(clock=clock),
            egress=NoEgress(),
            blobs=MemoryBlobs(clock),
            clock=clock,
            session_dir=str(folder.parent / "session"),
        )
        self.log = git_log.build(services, {})
        self.status = git_status.build(services, {})
        self.ctx = CallContext(workspace=open_workspace([str(folder)], str(folder)))

    def git(self, *arguments: str) -> None:
        identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com")
        subprocess.run(["git", *identity, *arguments], cwd=self.folder, check=True, capture_output=True)

    def commit(self, name: str, subject: str) -> None:
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_text(subject)
        self.git("add", name)
        self.git("commit", "-q", "-m", subject, "--date=2024-05-06T07:08:09+00:00")

    async def ask(self, tool: Tool, **input: Any) -> Any:
        outcome = await tool.call(input, self.ctx)
        assert isinstance(outcome, Done), outcome
        return outcome.data

    async def subjects(self, **input: Any) -> list[str]:
        return [commit["subject"] for commit in await self.ask(self.log, **input)]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    folder = tmp_path / "repository"
    folder.mkdir()
    sandbox = BubblewrapSandbox()
    yield World(folder, sandbox)
    await sandbox.close()


@pytest.fixture
def repository(world: World) -> World:
    world.git("init", "-q", "-b", "main")
    world.commit("a", "first")
    world.commit("sub/b", 'second | "quoted" \u00e4')
    return world


async def test_log_lists_commits_newest_first(repository: World) -> None:
    newest, oldest = await repository.ask(repository.log)
    assert [newest["subject"], oldest["subject"]] == ['second | "quoted" \u00e4', "first"]
    assert set(newest) == {"hash", "author", "date", "subject"}
    assert (len(newest["hash"]), newest["author"], newest["date"]) == (40, "Ann", "2024-05-06T07:08:09+00:00")


async def test_log_by_limit_path_and_ref(repository: World) -> None:
    assert await repository.subjects(limit=1) == ['second | "quoted" \u00e4']
    assert await repository.subjects(path="a") == ["first"]
    assert await repository.subjects(path=str(repository.folder / "a")) == ["first"]
    assert await repository.subjects(ref="HEAD~1") == ["first"]
    assert await repository.subjects(ref="main~1..main", path="sub") == ['second | "quoted" \u00e4']
    assert await repository.subjects(path="missing") == []


async def test_log_of_a_repository_without_commits(world: World) -> None:
    world.git("init", "-q")
    assert await world.ask(world.log) == []


@pytest.mark.parametrize(
    "ref", ["--output=/tmp/x", "-p", "a b", "a;b", "$(id)", "a\nb", "", ":/x", "x" * 251, "a\0b", "!x", "a*"]
)
async def test_log_refuses_what_is_no_name(repository: World, ref: str) -> None:
    with pytest.raises(ToolFailure) as caught:
        checked_ref(ref)
    assert caught.value.code == "validation_failed"


@pytest.mark.parametrize("ref", ["main", "v1.2", "HEAD~3", "HEAD^", "a/b", "main..other", "@{u}", "a1b2c3"])
def test_names_of_commits_are_taken(ref: str) -> None:
    assert checked_ref(ref) == ref


async def test_an_unknown_name_is_said_by_git(repository: World) -> None:
    with pytest.raises(ToolFailure, match="no-such-branch"):
        await repository.log.call({"ref": "no-such-branch"}, repository.ctx)


@pytest.mark.parametrize(("limit", "keyword"), [(1, "minimum"), (100, "maximum"), (10, "default")])
async def test_limits_of_log(world: World, limit: int, keyword: str) -> None:
    assert world.log.spec.input_schema["properties"]["limit"][keyword] == limit


async def test_status_sorts_what_is_changed(repository: World) -> None:
    folder = repository.folder
    assert await repository.ask(repository.status) == {
        "branch": "main", "staged": [], "unstaged": [], "untracked": [],
    }  # fmt: skip
    (folder / "a").write_text("changed")
    (folder / "new file").write_text("new")
    repository.git("mv", "sub/b", "sub/renamed")
    (folder / "added").write_text("x")
    repository.git("add", "added")
    (folder / "added").write_text("y")
    assert await repository.ask(repository.status) == {
        "branch": "main",
        "staged": ["added", "sub/renamed"],
        "unstaged": ["a", "added"],
        "untracked": ["new file"],
    }
    assert (await repository.ask(repository.status, path="sub"))["staged"] == ["sub/renamed"]


async def test_status_without_a_branch(repository: World) -> None:
    repository.git("checkout", "-q", "--detach")
    assert (await repository.ask(repository.status))["branch"] is None


async def test_from_a_folder_inside(repository: World) -> None:
    inside = CallContext(workspace=repository.ctx.workspace.with_cwd(str(repository.folder / "sub")))
    outcome = await repository.log.call({"path": "b"}, inside)
    assert isinstance(outcome, Done)
    assert len(outcome.data) == 1


async def test_without_a_repository(world: World) -> None:
    for tool in (world.log, world.status):
        with pytest.raises(ToolFailure) as caught:
            await tool.call({}, world.ctx)
        assert caught.value.code == "file_not_found"


async def test_a_hostile_repository_changes_nothing(repository: World, tmp_path: Path) -> None:
    folder = repository.folder
    program = folder / "evil.sh"
    program.write_text(f"#!/bin/sh\ntouch {folder}/ran {tmp_path}/ran /tmp/ran\n")
    program.chmod(0o755)
    for name in (
        "core.fsmonitor", "core.sshCommand", "core.pager", "gpg.program", "diff.external",
        "filter.evil.clean", "filter.evil.smudge", "diff.evil.textconv", "core.editor",
    ):  # fmt: skip
        repository.git("config", name, str(program))
    repository.git("config", "log.showSignature", "true")
    (folder / ".gitattributes").write_text("* filter=evil diff=evil\n")
    for hook in ("post-index-change", "pre-commit"):
        (folder / ".git" / "hooks" / hook).write_bytes(program.read_bytes())
        (folder / ".git" / "hooks" / hook).chmod(0o755)
    (folder / "a").write_text("touched")
    index = (folder / ".git" / "index").read_bytes()
    await repository.ask(repository.status)
    await repository.ask(repository.log)
    assert not (folder / "ran").exists()
    assert not (tmp_path / "ran").exists()
    assert (folder / ".git" / "index").read_bytes() == index


async def test_flags(world: World) -> None:
    for tool in (world.log, world.status):
        assert tool.traits({}) == Traits(read_only=True, concurrency_safe=True, touches=(Touch("path", "."),))
        assert tool.traits({"path": "sub"}).touches == (Touch("path", "sub"),)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (b"", {"branch": None, "staged": [], "unstaged": [], "untracked": []}),
        (
            b"# branch.head main\0u UU N... 1 2 3 4 h1 h2 h3 both sides\0? a b\0",
            {"branch": "main", "staged": [], "unstaged": ["both sides"], "untracked": ["a b"]},
        ),
        (
            b"2 R. N... 1 2 3 h1 h2 R100 new name\0old name\x001 .D N... 1 2 3 h1 h2 gone\0! ignored\0",
            {"branch": None, "staged": ["new name"], "unstaged": ["gone"], "untracked": []},
        ),
    ],
)
def test_reading_porcelain(output: bytes, expected: dict[str, Any]) -> None:
    assert parsed(output) == expected
