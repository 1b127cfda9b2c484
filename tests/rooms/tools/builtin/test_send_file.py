"""Handing files to the person."""

import os
from typing import Any

import pytest

from toolwright.contracts.tool import Attachment, Done
from toolwright.tools.builtin.send_file import LARGEST_FILE

pytestmark = pytest.mark.anyio


async def test_files_become_attachments(desk: Any) -> None:
    report, blob = desk.put("report.pdf", "12345"), desk.put("blob", "1")
    assert await desk.call("send_file", paths=["report.pdf", blob], caption="Here", display="render") == Done(
        f"Sent 2 files:\n{report} (5 bytes)\n{blob} (1 bytes)",
        data={"files": [{"path": report, "size": 5}, {"path": blob, "size": 1}], "caption": "Here"},
        attachments=(
            Attachment(report, 5, "application/pdf", "render"),
            Attachment(blob, 1, "application/octet-stream", "render"),
        ),
    )


@pytest.mark.parametrize("more", [0, 1])
async def test_a_hundred_mebibytes_are_the_most(desk: Any, more: int) -> None:
    os.truncate(desk.put("big", ""), LARGEST_FILE + more)
    if more:
        assert (await desk.failure("send_file", paths=["big"])).code == "file_too_large"
    else:
        assert (await desk.call("send_file", paths=["big"])).data["files"][0]["size"] == 100 * 1024 * 1024


async def test_only_files_that_may_be_read_are_sent(desk: Any) -> None:
    desk.put("report.pdf", "x")
    (desk.root / "src").mkdir()
    codes = {"src": "is_directory", "reprot.pdf": "file_not_found", "/etc/passwd": "path_outside_workspace"}
    for path, code in codes.items():
        assert (await desk.failure("send_file", paths=["report.pdf", path])).code == code


def test_one_to_ten_files_are_sent_at_once(desk: Any) -> None:
    paths = desk.tool("send_file").spec.input_schema["properties"]["paths"]
    assert (paths["minItems"], paths["maxItems"]) == (1, 10)


async def test_the_view_counts_files(desk: Any) -> None:
    input = {"paths": [desk.put("a", ""), desk.put("b", "")]}
    view = desk.view("send_file", input, await desk.call("send_file", **input))
    assert (view.activity, view.summary) == ("Sending 2 files", "sent 2")
