"""Agents that work in a work tree of git of their own: changes stay there, and what holds none goes."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.journeys.casts import AGENT_TOOLS, MAIN, Cast, child_of, ended, family, start, texts
from tests.journeys.engines import check_log, events_of, log_of

from toolwright import Engine, call

pytestmark = pytest.mark.anyio

PLAIN = {"sandbox": {"kind": "unsafe_plain_process"}}


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "secret").mkdir(parents=True)
    (folder / "a.txt").write_text("one\n")
    (folder / "secret" / "key").write_text("shh\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Ann")
    git(folder, "config", "user.email", "ann@site.example")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "First")
    return folder


def isolated(tmp_path: Path, model: Cast, **more: Any) -> Engine:
    given: dict[str, Any] = {
        "tools": [*AGENT_TOOLS, "write", "read", "bash"],
        "settings": PLAIN,
        "allow": ["Write", "Bash(git *)"],
        **more,
    }
    return family(tmp_path, model, **given)


WRITE = [call("write", file_path="b.txt", content="two\n")]
TASK = start("dig here", isolation="worktree")


async def test_changes_stay_in_the_work_tree_and_the_result_says_where(tmp_path: Path, project: Path) -> None:
    model = Cast({MAIN: [[TASK], "Done."], "dig": [WRITE, "Written."]})
    async with isolated(tmp_path, model) as works:
        session = await works.session()
        await session.run(MAIN)
        (over,) = ended(events_of(await log_of(session)))
        child = await child_of(works, session)
        check_log(await log_of(child))
        tree = (await child.state()).created.worktree
    assert tree is not None
    assert Path(over.worktree).parent == project / ".toolwright" / "worktrees"
    assert (over.worktree, over.branch) == (tree.path, tree.branch)
    assert (Path(over.worktree) / "b.txt").read_text() == "two\n"
    assert not (project / "b.txt").exists()
    assert f"Its changes are in {tree.path}, on branch {tree.branch}." in texts(model.asked(MAIN)[1])[0]
    assert "worktrees" not in git(project, "status", "--porcelain", "--untracked-files=all")
    assert tree.branch.startswith("toolwright/general-")
    assert f"- Working directory: {tree.path}" in "\n".join(model.asked("dig")[0].preamble.system)


async def test_a_commit_is_a_change(tmp_path: Path, project: Path) -> None:
    commit = "git add b.txt && git commit -q -m Second"
    model = Cast({MAIN: [[TASK], "Done."], "dig": [WRITE, [call("bash", command=commit)], "Committed."]})
    async with isolated(tmp_path, model) as works:
        session = await works.session()
        await session.run(MAIN)
        (over,) = ended(events_of(await log_of(session)))
    assert git(Path(over.worktree), "status", "--porcelain") == ""
    assert git(project, "log", "--format=%s", over.branch) == "Second\nFirst"
    assert git(project, "log", "--format=%s") == "First"


async def test_a_work_tree_without_changes_goes_and_comes_back_when_it_is_needed(
    tmp_path: Path, project: Path
) -> None:
    named = start("dig here", isolation="worktree", name="scout")
    message = call("send_message", to="scout", message="Write it.")
    model = Cast({MAIN: [[named], [message], "I wait.", "Done."], "dig": ["Nothing.", WRITE, "Written."]})
    async with isolated(tmp_path, model) as works:
        session = await works.session()
        await session.run(MAIN)
        first, second = ended(events_of(await log_of(session)))
        state = await (await child_of(works, session)).state()
    assert first.worktree == ""
    assert state.created.worktree is not None
    assert second.worktree == state.created.worktree.path
    assert (Path(second.worktree) / "b.txt").exists()


async def test_nothing_is_left_of_a_work_tree_without_changes(tmp_path: Path, project: Path) -> None:
    model = Cast({MAIN: [[TASK], "Done."], "dig": ["Nothing."]})
    async with isolated(tmp_path, model) as works:
        await works.run(MAIN)
    assert git(project, "worktree", "list").count("\n") == 0
    assert git(project, "branch", "--format=%(refname:short)") == "main"
    assert sorted(path.name for path in (project / ".toolwright" / "worktrees").iterdir()) == [".gitignore"]


async def test_what_is_denied_in_the_project_is_denied_in_its_copy(tmp_path: Path, project: Path) -> None:
    deny = [f"Read(/{project}/secret/**)"]
    reads = [call("read", file_path="secret/key"), call("read", file_path="a.txt")]
    model = Cast({MAIN: [[TASK], "Done."], "dig": [reads, "d"]})
    async with isolated(tmp_path, model, deny=deny) as works:
        await works.run(MAIN)
    secret, other = texts(model.asked("dig")[1])
    assert "denied by rule" in secret
    assert "one" in other


async def test_an_agent_of_an_isolated_one_works_in_the_same_tree(tmp_path: Path, project: Path) -> None:
    model = Cast({MAIN: [[TASK], "Done."], "dig": [[start("fish there")], "d"], "fish": [WRITE, "f"]})
    async with isolated(tmp_path, model) as works:
        session = await works.session()
        await session.run(MAIN)
        (over,) = ended(events_of(await log_of(session)))
        child = await child_of(works, session)
        (below,) = ended(events_of(await log_of(child)))
    assert (Path(over.worktree) / "b.txt").exists()
    assert below.worktree == ""  # it is not its own


async def test_where_there_is_no_repository_the_call_says_so(tmp_path: Path) -> None:
    model = Cast({MAIN: [[TASK], "Alone then."]})
    async with isolated(tmp_path, model) as works:
        session = await works.session()
        result = await session.run(MAIN)
        check_log(await log_of(session))
        assert not (await session.state()).running_children
    assert result.text == "Alone then."
    assert "is not the top of a git repository" in texts(model.asked(MAIN)[1])[0]


@pytest.mark.sandbox
async def test_an_isolated_agent_works_and_commits_in_the_real_sandbox(tmp_path: Path, project: Path) -> None:
    commands = [
        "echo two > b.txt && git add b.txt && git commit -q -m Second && git log --oneline | wc -l",
        f"echo bad > {project}/a.txt",
        "echo evil > $(git rev-parse --git-common-dir)/hooks/post-checkout",
        "git config core.fsmonitor evil",
    ]
    works = [[call("bash", command=command)] for command in commands]
    model = Cast({MAIN: [[TASK], "Done."], "dig": [*works, "d"]})
    bypass: dict[str, Any] = {
        "settings": {"permissions": {"bypass_as_root": True}}, "allow": [], "mode": "bypassPermissions",
    }  # fmt: skip
    async with isolated(tmp_path, model, **bypass) as engine:
        session = await engine.session()
        await session.run(MAIN)
        (over,) = ended(events_of(await log_of(session)))
    said = [texts(request)[0] for request in model.asked("dig")[1:]]
    assert said[0].strip().startswith("2"), said
    assert git(project, "log", "--format=%s", over.branch) == "Second\nFirst"
    assert (project / "a.txt").read_text() == "one\n"
    assert not (project / ".git" / "hooks" / "post-checkout").exists()
    assert "fsmonitor" not in (project / ".git" / "config").read_text()
