"""``toolwright db``: a database is checked, copied, put back and exported."""

import json
import sqlite3
from pathlib import Path

import pytest

from .projects import READ, Project


@pytest.fixture
def database(project: Project) -> Path:
    """The database of a project with a session."""
    project.run("run", "What does it do?", "-m", project.script([[READ], "It subtracts."]))
    return project.folder / ".toolwright/toolwright.db"


def damage(database: Path) -> None:
    """Change an entry behind the back of everybody."""
    connection = sqlite3.connect(database)
    connection.execute("DROP TRIGGER entries_are_never_changed")
    connection.execute("UPDATE entries SET data = CAST(replace(data, 'What', 'That') AS BLOB) WHERE seq = 3")
    connection.commit()
    connection.close()


def test_where_there_is_no_database_none_is_made(project: Project) -> None:
    assert "ok: there is no database yet at" in project.run("db", "check").stdout
    assert "There are no sessions yet in" in project.refused("db", "export")
    assert not (project.folder / ".toolwright").exists()


def test_a_whole_database_is_said_to_be_whole(project: Project, database: Path) -> None:
    entries = len(project.events())

    assert project.run("db", "check").stdout.endswith(f"1 session with {entries} entries, every hash fits\n")
    report = project.json("db", "check")
    assert (report["ok"], report["report"]["path"], report["report"]["sessions"]) == (True, str(database), 1)


def test_the_first_entry_that_was_changed_is_named(project: Project, database: Path) -> None:
    session_id = project.last()
    damage(database)

    check = project.call("db", "check")

    assert (check.exit_code, f"broken: session {session_id}, entry 3: " in check.stdout) == (1, True)
    assert json.loads(project.call("db", "check", "--json").stdout)["ok"] is False
    assert "is damaged at entry 3" in str(project.call("sessions", "export").exception)


def test_a_backup_can_be_checked_and_put_back(project: Project, database: Path) -> None:
    backup = project.folder / "backup.db"
    assert project.run("db", "backup", str(backup)).stdout.startswith(f"{backup} holds 1 session with ")
    assert project.run("db", "check", str(backup)).stdout.startswith("ok: ")
    project.run("sessions", "rm", project.last(), "--yes")
    assert project.json("sessions", "list") == []

    said = project.run("db", "restore", str(backup)).stdout

    assert "what was there before is kept as " in said
    assert [card["title"] for card in project.json("sessions", "list")] == ["What does it do?"]
    assert database.exists()


def test_a_backup_is_never_written_over_a_file(project: Project, database: Path) -> None:
    del database
    (project.folder / "backup.db").write_text("mine")

    result = project.call("db", "backup", "backup.db")

    assert (result.exit_code == 0, (project.folder / "backup.db").read_text()) == (False, "mine")


def test_a_damaged_backup_is_not_put_in_place(project: Project, database: Path) -> None:
    project.run("db", "backup", "backup.db")
    damage(project.folder / "backup.db")
    before = database.read_bytes()

    result = project.call("db", "restore", "backup.db")

    assert (result.exit_code == 0, database.read_bytes() == before) == (False, True)


def test_all_sessions_or_some_are_exported_as_they_are(project: Project, database: Path) -> None:
    del database
    first = project.last()
    project.run("run", "Another", "-m", project.script(["Hello."]))

    every = [json.loads(line) for line in project.run("db", "export").stdout.splitlines()]
    one = [json.loads(line) for line in project.run("db", "export", first[:14]).stdout.splitlines()]

    assert {line["session_id"] for line in every} == {first, project.last()}
    assert {line["session_id"] for line in one} == {first}
    assert [line["entry"] for line in one] == project.events(first)
    project.run("db", "export", "-o", "everything.jsonl")
    assert project.run("sessions", "verify", "everything.jsonl").stdout.startswith("ok: 2 sessions with ")
