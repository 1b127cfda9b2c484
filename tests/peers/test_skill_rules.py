"""Our reading of the rules of Agent Skills beside validators of others: the reference and a port of it.

Run by scripts/peers, which installs them.
"""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from toolwright.catalog.skill_folders import PACKAGE_FOLDER, read_skill_folder
from toolwright.catalog.written import WrittenWrongly

pytestmark = pytest.mark.peers
PEERS = os.environ.get("TOOLWRIGHT_PEERS", "")
NODE = os.environ.get("NODE", "node")

GOOD = {
    "plain": "name: plain\ndescription: Does one thing.",
    "with-all-keys": (
        "name: with-all-keys\ndescription: Does one thing.\nlicense: Apache-2.0\ncompatibility: Needs git\n"
        'metadata:\n  author: someone\n  version: "1.0"\nallowed-tools: Bash(git:*) Read'
    ),
    "tools-as-list": "name: tools-as-list\ndescription: Does.\nallowed-tools:\n  - Bash(git:*)\n  - Read",
    "folded-text": "name: folded-text\ndescription: >\n  Over two\n  lines.",
    "literal-text": "name: literal-text\ndescription: |\n  Over two\n  lines.",
    "quoted": "name: \"quoted\"\ndescription: 'It says: do.'",
    "a": "name: a\ndescription: b",
    "1-2-3": "name: 1-2-3\ndescription: Digits.",
    "x" * 64: f"name: {'x' * 64}\ndescription: As long as it may be.",
    "longest-text": f"name: longest-text\ndescription: {'y' * 1024}",
    "longest-needs": f"name: longest-needs\ndescription: d\ncompatibility: {'z' * 500}",
    "with-blanks": "name:   with-blanks  \ndescription:  d  ",
    "with-comment": "name: with-comment # the name\ndescription: d",
    "grüße": "name: grüße\ndescription: Letters of other languages.",
}
BAD = {
    "no-name": "description: d",
    "no-description": "name: no-description",
    "empty-name": "name:\ndescription: d",
    "empty-description": "name: empty-description\ndescription:",
    "blank-description": "name: blank-description\ndescription: '  '",
    "Capitals": "name: Capitals\ndescription: d",
    "-begins": "name: -begins\ndescription: d",
    "ends-": "name: ends-\ndescription: d",
    "two--hyphens": "name: two--hyphens\ndescription: d",
    "under_score": "name: under_score\ndescription: d",
    "with space": "name: with space\ndescription: d",
    "with.dot": "name: with.dot\ndescription: d",
    "other-folder": "name: another-name\ndescription: d",
    "y" * 65: f"name: {'y' * 65}\ndescription: d",
    "text-too-long": f"name: text-too-long\ndescription: {'y' * 1025}",
    "needs-too-long": f"name: needs-too-long\ndescription: d\ncompatibility: {'z' * 501}",
    "unknown-key": "name: unknown-key\ndescription: d\ncolor: red",
    "key-of-ours": "name: key-of-ours\ndescription: d\nwhen_to_use: Often.",
    "key-twice": "name: key-twice\ndescription: d\ndescription: e",
    "colon-in-text": "name: colon-in-text\ndescription: a: b",
    "no-mapping": "- name\n- description",
    "broken-yaml": 'name: broken-yaml\ndescription: "d',
}
WHOLE = {
    "no-front-matter": ("Only text.", False),
    "not-closed": ("---\nname: not-closed\ndescription: d\n", False),
    "no-body": ("---\nname: no-body\ndescription: d\n---\n", True),
    "windows-lines": ("---\r\nname: windows-lines\r\ndescription: d\r\n---\r\nText.\r\n", True),
}

STRICTER_HERE = {
    "empty-needs": "name: empty-needs\ndescription: d\ncompatibility: ''",  # "1-500 characters if provided"
    "metadata-is-text": "name: metadata-is-text\ndescription: d\nmetadata: some",
    "tools-are-mapping": "name: tools-are-mapping\ndescription: d\nallowed-tools:\n  a: b",
    "license-is-list": "name: license-is-list\ndescription: d\nlicense:\n  - a",
}
"""What the published text forbids and the reference library does not look at."""
FREER_HERE = {
    "tools-in-brackets": "name: tools-in-brackets\ndescription: d\nallowed-tools: [Read, Grep]",
    "dashes-in-text": 'name: dashes-in-text\ndescription: "a --- b"',
}
"""What the published text allows and the reference library stumbles over: lists on one line, dashes."""


@pytest.fixture(autouse=True)
def _installed() -> None:
    if not PEERS:
        pytest.skip("run by scripts/peers")


def reference(folder: Path) -> bool:
    """The reference library for Python."""
    return _ended_well(f"{PEERS}/skills/bin/agentskills", "validate", str(folder))


def port(folder: Path) -> bool:
    """Its port to JavaScript."""
    program = f"{PEERS}/skills-node/node_modules/skills-ref/dist/cli.js"
    return _ended_well(NODE, program, "validate", str(folder))


def _ended_well(*argv: str) -> bool:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in {0, 1}, done.stderr
    assert done.stdout or done.stderr
    return done.returncode == 0


def ours(folder: Path) -> bool:
    try:
        return read_skill_folder(str(folder)).conforms
    except WrittenWrongly:
        return False


def put(tmp_path: Path, name: str, front: str) -> Path:
    return put_whole(tmp_path, name, f"---\n{front}\n---\nDo it.\n")


def put_whole(tmp_path: Path, name: str, text: str) -> Path:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "SKILL.md").write_text(text, encoding="utf-8", newline="")
    return folder


@pytest.mark.parametrize("name", GOOD)
def test_what_the_reference_accepts_is_accepted(tmp_path: Path, name: str) -> None:
    folder = put(tmp_path, name, GOOD[name])
    assert (ours(folder), reference(folder)) == (True, True)


@pytest.mark.parametrize("name", BAD)
def test_what_the_reference_refuses_is_refused(tmp_path: Path, name: str) -> None:
    folder = put(tmp_path, name, BAD[name])
    assert (ours(folder), reference(folder)) == (False, False)


@pytest.mark.parametrize("name", WHOLE)
def test_the_frame_of_the_file_is_judged_alike(tmp_path: Path, name: str) -> None:
    text, good = WHOLE[name]
    folder = put_whole(tmp_path, name, text)
    assert (ours(folder), reference(folder)) == (good, good)


def test_a_folder_without_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert (ours(tmp_path / "empty"), reference(tmp_path / "empty")) == (False, False)


@pytest.mark.parametrize("name", STRICTER_HERE)
def test_the_published_text_goes_before_the_reference_where_it_forbids(tmp_path: Path, name: str) -> None:
    folder = put(tmp_path, name, STRICTER_HERE[name])
    assert (ours(folder), reference(folder)) == (False, True)


@pytest.mark.parametrize("name", FREER_HERE)
def test_the_published_text_goes_before_the_reference_where_it_allows(tmp_path: Path, name: str) -> None:
    folder = put(tmp_path, name, FREER_HERE[name])
    assert (ours(folder), reference(folder)) == (True, False)


@pytest.mark.parametrize("name", [*GOOD, *(name for name in BAD if name != "empty-description")])
def test_the_port_agrees_too(tmp_path: Path, name: str) -> None:
    """It takes a description without a value for one; the reference library does not."""
    front = {**GOOD, **BAD}[name]
    folder = put(tmp_path, name, front)
    assert ours(folder) == port(folder)


@pytest.mark.parametrize("judge", [reference, port])
def test_what_comes_with_the_engine_is_accepted_by_others(judge: Callable[[Path], bool]) -> None:
    folders = [path for path in Path(PACKAGE_FOLDER).iterdir() if (path / "SKILL.md").exists()]
    assert len(folders) >= 2
    assert all(judge(folder) for folder in folders)
