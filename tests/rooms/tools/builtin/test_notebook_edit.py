"""Changing cells of notebooks."""

import json
from typing import Any

import nbformat
import pytest

from toolwright.contracts.tool import Done, FileChange

pytestmark = pytest.mark.anyio

CELLS: list[dict[str, Any]] = [
    {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Title"]},
    {
        "cell_type": "code",
        "execution_count": 3,
        "id": "work",
        "metadata": {"tags": ["x"]},
        "outputs": [{"name": "stdout", "output_type": "stream", "text": ["1\n"]}],
        "source": ["print(1)"],
    },
]


def notebook(*, minor: int = 5, indent: Any = 1, ending: str = "\n", **more: Any) -> str:
    cells = [{key: value for key, value in cell.items() if key != "id" or minor >= 5} for cell in CELLS]
    root = {"cells": cells, "metadata": {"größe": 1}, "nbformat": 4, "nbformat_minor": minor}
    return json.dumps(root, indent=indent, ensure_ascii=False, **more) + ending


async def edited(desk: Any, text: str, **input: Any) -> tuple[Done, list[dict[str, Any]]]:
    desk.put("n.ipynb", text)
    await desk.call("read", file_path="n.ipynb")
    done = await desk.call("notebook_edit", notebook_path="n.ipynb", **input)
    return done, json.loads(desk.bytes_of("n.ipynb"))["cells"]


async def test_replacing_code_clears_outputs_and_count(desk: Any) -> None:
    done, cells = await edited(desk, notebook(), cell_id="work", new_source="a = 1\nb = 2")
    assert cells[0] == CELLS[0]
    assert cells[1] == {**CELLS[1], "source": ["a = 1\n", "b = 2"], "outputs": [], "execution_count": None}
    path = str(desk.root / "n.ipynb")
    assert done.content == f"Cell work (code) of {path} was replaced."
    assert done.data == {"path": path, "cell_id": "work", "mode": "replace", "cell_type": "code"}
    assert done.changed == (FileChange(path, "write"),)


async def test_a_cell_may_change_its_type(desk: Any) -> None:
    _, cells = await edited(desk, notebook(), cell_id="work", new_source="text", cell_type="markdown")
    assert cells[1] == {
        "cell_type": "markdown",
        "id": "work",
        "metadata": {"tags": ["x"]},
        "source": ["text"],
    }


@pytest.mark.parametrize(("cell_id", "place"), [(None, 0), ("intro", 1), ("work", 2)])
async def test_a_new_cell_comes_after_the_one_named_or_first(
    desk: Any, cell_id: str | None, place: int
) -> None:
    more = {"cell_id": cell_id} if cell_id else {}
    done, cells = await edited(desk, notebook(), new_source="x", cell_type="code", edit_mode="insert", **more)
    assert len(cells) == 3
    assert cells[place]["source"] == ["x"]
    assert cells[place]["id"] == done.data["cell_id"]
    assert len({cell["id"] for cell in cells}) == 3
    nbformat.validate(json.loads(desk.bytes_of("n.ipynb")))


async def test_a_cell_is_deleted(desk: Any) -> None:
    _, cells = await edited(desk, notebook(), cell_id="intro", edit_mode="delete")
    assert cells == CELLS[1:]


async def test_older_formats_name_cells_by_place_and_get_no_ids(desk: Any) -> None:
    text = notebook(minor=4)
    done, cells = await edited(
        desk, text, cell_id="cell-0", new_source="x", cell_type="raw", edit_mode="insert"
    )
    assert done.data["cell_id"] == "cell-1"
    assert cells[1] == {"cell_type": "raw", "metadata": {}, "source": ["x"]}
    nbformat.validate(json.loads(desk.bytes_of("n.ipynb")))


@pytest.mark.parametrize(
    "style",
    [
        {"indent": 1},
        {"indent": 4},
        {"indent": "\t"},
        {"indent": 2, "ending": ""},
        {"indent": None},
        {"indent": None, "separators": (",", ":")},
    ],
)
async def test_the_style_of_the_json_stays(desk: Any, style: dict[str, Any]) -> None:
    text = notebook(**style)
    await edited(desk, text, cell_id="intro", new_source="# Title")
    assert desk.bytes_of("n.ipynb").decode() == text


async def test_escaped_letters_and_windows_line_ends_stay(desk: Any) -> None:
    text = json.dumps(json.loads(notebook()), indent=1).replace("\n", "\r\n")
    await edited(desk, text, cell_id="intro", new_source="# Title")
    assert desk.bytes_of("n.ipynb").decode() == text


@pytest.mark.parametrize(
    ("input", "code"),
    [
        ({"cell_id": "nope", "new_source": "x"}, "no_match"),
        ({"cell_id": "cell-0", "new_source": "x"}, "no_match"),
        ({"new_source": "x"}, "validation_failed"),
        ({"edit_mode": "delete"}, "validation_failed"),
        ({"edit_mode": "insert", "new_source": "x"}, "validation_failed"),
    ],
)
async def test_what_makes_no_sense_is_refused(desk: Any, input: dict[str, Any], code: str) -> None:
    desk.put("n.ipynb", notebook())
    await desk.call("read", file_path="n.ipynb")
    assert (await desk.failure("notebook_edit", notebook_path="n.ipynb", **input)).code == code


async def test_a_notebook_must_be_read_first_and_be_unchanged(desk: Any) -> None:
    desk.put("n.ipynb", notebook())
    desk.put("other.ipynb", "[]")
    change = {"notebook_path": "n.ipynb", "cell_id": "work", "new_source": "x"}
    assert (await desk.failure("notebook_edit", **change)).code == "not_read_yet"
    await desk.call("read", file_path="n.ipynb")
    desk.put("n.ipynb", notebook(indent=2))
    assert (await desk.failure("notebook_edit", **change)).code == "file_changed"
    assert (await desk.failure("notebook_edit", notebook_path="no.ipynb")).code == "file_not_found"
    await desk.call("read", file_path="other.ipynb", limit=5)
    assert (await desk.failure("notebook_edit", notebook_path="other.ipynb")).code == "unsupported"


async def test_the_view_names_the_cell(desk: Any) -> None:
    input = {"notebook_path": "n.ipynb", "cell_id": "work", "new_source": "x"}
    assert desk.view("notebook_edit", input).activity == "Editing cell work"
    done, _ = await edited(desk, notebook(), cell_id="work", new_source="x")
    assert desk.view("notebook_edit", input, done).summary == "cell replaced"
