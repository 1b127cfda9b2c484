"""``toolwright db check`` names the first entry of a log that is not as it was written."""

import json
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from .projects import READ, Project

GUARDS = ("entries_are_never_changed", "entries_go_with_their_session")


@pytest.fixture
def database(project: Project) -> Path:
    """The database of a project with two sessions."""
    for question in ("What does it do?", "And why?"):
        project.run("run", question, "-m", project.script([[READ], "It subtracts."]))
    return project.folder / ".toolwright/toolwright.db"


def change(database: Path, statements: Sequence[str]) -> None:
    """Do what nobody may do, and put the guards back so that it does not show."""
    with closing(sqlite3.connect(database)) as connection:
        guards = [
            connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (name,)).fetchone()[0]
            for name in GUARDS
        ]
        for name in GUARDS:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
        for guard in guards:
            connection.execute(guard)
        connection.commit()


OF_FIRST = "session = (SELECT number FROM sessions ORDER BY number LIMIT 1)"
LAST = f"(SELECT max(seq) FROM entries WHERE {OF_FIRST})"
EDITED = "UPDATE entries SET data = CAST(replace(data, 'What', 'That') AS BLOB)"
ADDED = "INSERT INTO entries (session, seq, data, hash) SELECT session, seq + 1, data, hash FROM entries"
ANOTHERS = (
    "UPDATE entries SET data = (SELECT data FROM entries AS other "
    "WHERE other.seq = entries.seq AND other.session <> entries.session)"
)


@pytest.mark.parametrize(
    ("statements", "entry", "said"),
    [
        pytest.param([f"{EDITED} WHERE {OF_FIRST} AND seq = 3"], 3, "the hash does not fit", id="changed"),
        pytest.param(
            [f"UPDATE entries SET hash = zeroblob(32) WHERE {OF_FIRST} AND seq = 2"],
            2,
            "the hash does not fit",
            id="another hash",
        ),
        pytest.param(
            [f"DELETE FROM entries WHERE {OF_FIRST} AND seq = 4"], 4, "the entry is missing", id="taken out"
        ),
        pytest.param(
            [
                f"UPDATE entries SET seq = -4 WHERE {OF_FIRST} AND seq = 4",
                f"UPDATE entries SET seq = 4 WHERE {OF_FIRST} AND seq = 5",
                f"UPDATE entries SET seq = 5 WHERE {OF_FIRST} AND seq = -4",
            ],
            4,
            "entries are out of order",
            id="swapped",
        ),
        pytest.param(
            [f"DELETE FROM entries WHERE {OF_FIRST} AND seq > 5"], 6, "the log is cut off", id="tail cut"
        ),
        pytest.param(
            [
                f"DELETE FROM entries WHERE {OF_FIRST} AND seq > 5",
                f"UPDATE heads SET seq = 5 WHERE {OF_FIRST}",
            ],
            5,
            "the last entry is not the one that was written last",
            id="tail cut and the noted end moved",
        ),
        pytest.param(
            [f"{ADDED} WHERE {OF_FIRST} AND seq = {LAST}"], None, "entries are out of order", id="added"
        ),
        pytest.param(
            [f"{ANOTHERS} WHERE {OF_FIRST} AND seq = 1"],
            1,
            "the hash does not fit",
            id="taken from another session",
        ),
    ],
)
def test_whatever_is_changed_the_first_entry_concerned_is_named(
    project: Project, database: Path, statements: Sequence[str], entry: int | None, said: str
) -> None:
    assert project.call("db", "check").exit_code == 0
    with closing(sqlite3.connect(database)) as connection:
        first = connection.execute("SELECT id FROM sessions ORDER BY number LIMIT 1").fetchone()[0]
    change(database, statements)

    check = project.call("db", "check")
    (damage,) = json.loads(project.call("db", "check", "--json").stdout)["report"]["damage"]

    assert check.exit_code == 1
    assert damage["session_id"] == first
    assert entry in {None, damage["seq"]}
    assert re.search(said, damage["problem"])
    assert f"session {first}, entry {damage['seq']}: " in check.stdout
