"""The script that comes with the skills of the package: what it says of tables."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from toolwright.catalog.skill_folders import PACKAGE_FOLDER

SCRIPT = f"{PACKAGE_FOLDER}/table-profile/scripts/profile_table.py"


def profiled(folder: Path, text: str, name: str = "t.csv", **more: Any) -> dict[str, Any]:
    (folder / name).write_text(text, encoding="utf-8", newline="")
    return said(folder, {"path": name, **more})


def said(folder: Path, input: Any) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, SCRIPT],
        input=input if isinstance(input, str) else json.dumps(input),
        capture_output=True,
        text=True,
        cwd="/",
        env={**os.environ, "WORKSPACE": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        timeout=120,
        check=True,
    )
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def column(found: dict[str, Any], name: str) -> dict[str, Any]:
    (one,) = [one for one in found["columns"] if one["name"] == name]
    assert isinstance(one, dict)
    return one


def test_columns_are_told_with_types_and_ranges(tmp_path: Path) -> None:
    rows = [
        "id,amount,when,ok,name,zip",
        "1,2.5,2024-01-02,true,ann,01234",
        '2,,2024-03-01,false,"b, c",99999',
        "3,-1e2,2023-12-31,TRUE,ann,00001",
    ]
    found = profiled(tmp_path, "\r\n".join(rows) + "\r\n")
    assert (found["rows"], found["format"], found["delimiter"], found["problems"]) == (3, "csv", ",", [])
    assert column(found, "id") == {
        "name": "id", "type": "integer", "missing": 0, "distinct": 3, "min": 1, "max": 3, "mean": 2.0,
        "longest": 1,
        "top": [{"value": "1", "count": 1}, {"value": "2", "count": 1}, {"value": "3", "count": 1}],
    }  # fmt: skip
    amount = column(found, "amount")
    assert (amount["type"], amount["missing"], amount["min"], amount["max"]) == ("number", 1, -100.0, 2.5)
    when = column(found, "when")
    assert (when["type"], when["min"], when["max"]) == ("date", "2023-12-31", "2024-03-01")
    assert column(found, "ok")["type"] == "boolean"
    assert column(found, "name")["top"][0] == {"value": "ann", "count": 2}
    assert column(found, "zip")["types"] == {"text": 2, "integer": 1}


def test_rows_that_do_not_fit_are_told_with_their_lines(tmp_path: Path) -> None:
    found = profiled(tmp_path, "a;b\n1;2\n3\n4;5;6\n\n7;8\n")
    assert found["delimiter"] == ";"
    assert found["rows"] == 4
    assert found["broken_rows"] == 2
    assert found["problems"] == [
        {"line": 3, "problem": "1 fields, not 2"},
        {"line": 4, "problem": "3 fields, not 2"},
    ]
    assert column(found, "b")["missing"] == 1


def test_json_lines_are_read_with_columns_that_come_later(tmp_path: Path) -> None:
    lines = '{"a": 1}\nnonsense\n[1]\n{"a": null, "b": {"c": 1}}\n\n{"b": "x"}\n'
    found = profiled(tmp_path, lines, "t.jsonl")
    assert (found["format"], found["rows"], found["broken_rows"]) == ("jsonl", 3, 2)
    assert (column(found, "a")["missing"], column(found, "b")["missing"]) == (2, 1)
    assert column(found, "b")["types"] == {"nested": 1, "text": 1}


@pytest.mark.parametrize(
    ("text", "name", "form"),
    [("a\tb\n1\t2\n", "t.tsv", "tsv"), ("a\tb\n1\t2\n", "t.txt", "tsv"), ('{"a": 1}\n', "t.txt", "jsonl")],
)
def test_the_format_is_found_out(tmp_path: Path, text: str, name: str, form: str) -> None:
    found = profiled(tmp_path, text, name)
    assert found["format"] == form
    assert found["columns"][0]["name"] == "a"


def test_the_first_row_may_be_data_and_rows_may_be_limited(tmp_path: Path) -> None:
    found = profiled(tmp_path, "1,2\n3,4\n5,6\n", header=False, max_rows=2, top=0)
    assert (found["rows"], found["truncated"]) == (2, True)
    assert [one["name"] for one in found["columns"]] == ["column_1", "column_2"]
    assert "top" not in found["columns"][0]


def test_names_that_stand_twice_are_told_apart(tmp_path: Path) -> None:
    found = profiled(tmp_path, "\ufeffa,a,,a\n1,2,3,4\n")
    assert [one["name"] for one in found["columns"]] == ["a", "a_2", "column_3", "a_3"]


def test_many_different_values_are_not_all_kept(tmp_path: Path) -> None:
    found = profiled(tmp_path, "a\n" + "\n".join(f"v{number}" for number in range(10_050)))
    assert column(found, "a")["distinct"] == "10000+"
    assert found["rows"] == 10_050


def test_an_empty_file_has_no_columns(tmp_path: Path) -> None:
    found = profiled(tmp_path, "")
    assert (found["rows"], found["columns"]) == (0, [])


@pytest.mark.parametrize(
    ("input", "code"),
    [
        ({"path": "gone.csv"}, "file_not_found"),
        ({"path": "."}, "cannot_read"),
        ({}, "invalid_input"),
        ("nonsense", "invalid_input"),
        ('["list"]', "invalid_input"),
    ],
)
def test_what_cannot_be_done_is_an_error_with_a_reason(tmp_path: Path, input: Any, code: str) -> None:
    found = said(tmp_path, input)
    assert found["error"] == code
    assert found["message"]
