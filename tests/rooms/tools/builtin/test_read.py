"""Reading files of every kind, and each limit at and past it."""

import base64
import io
import json
import os
from dataclasses import asdict
from typing import Any

import pytest
from PIL import Image

from toolwright.contracts.content import ImageBlock, TextBlock
from toolwright.contracts.tool import Done
from toolwright.tools.reading import documents, notebooks, pages, pictures

pytestmark = pytest.mark.anyio


def lines(first: int, last: int) -> str:
    return "".join(f"line {number}\n" for number in range(first, last + 1))


async def test_lines_come_with_right_aligned_numbers(desk: Any) -> None:
    path = desk.put("a.txt", "one\ntwo\r\n\tthree")
    done = await desk.call("read", file_path="a.txt")
    assert done == Done(
        "     1\tone\n     2\ttwo\n     3\t\tthree",
        data={
            "type": "text",
            "path": path,
            "content": "one\ntwo\n\tthree",
            "start_line": 1,
            "num_lines": 3,
            "total_lines": 3,
            "partial": False,
        },
    )


async def test_offset_and_limit_choose_lines(desk: Any) -> None:
    desk.put("a.txt", lines(1, 9))
    assert await desk.text("read", file_path="a.txt", offset=4, limit=2) == (
        "     4\tline 4\n     5\tline 5\nPARTIAL: lines 4-5 of 9 are shown. Continue with offset=6."
    )
    assert await desk.text("read", file_path="a.txt", offset=9) == "     9\tline 9"


@pytest.mark.parametrize(("total", "partial"), [(2000, False), (2001, True)])
async def test_two_thousand_lines_are_a_page(desk: Any, total: int, partial: bool) -> None:
    desk.put("a.txt", lines(1, total))
    done = await desk.call("read", file_path="a.txt")
    assert (done.data["num_lines"], done.data["total_lines"], done.data["partial"]) == (2000, total, partial)
    assert ("Continue with offset=2001." in done.content) is partial


@pytest.mark.parametrize(("length", "shown"), [(2000, "x" * 2000), (2001, "x" * 2000 + "… (+1)")])
async def test_long_lines_are_cut(desk: Any, length: int, shown: str) -> None:
    desk.put("a.txt", "x" * length + "\r\nend\n")
    assert await desk.text("read", file_path="a.txt") == f"     1\t{shown}\n     2\tend"


async def test_a_line_longer_than_any_chunk_is_cut_too(desk: Any) -> None:
    desk.put("a.txt", "x" * 1_000_000 + "\nend")
    assert await desk.text("read", file_path="a.txt") == (f"     1\t{'x' * 2000}… (+998000)\n     2\tend")


@pytest.mark.parametrize("name", ["FILE_READ_MAX_TOKENS", "FILE_READ_MAX_OUTPUT_TOKENS"])
async def test_a_whole_file_over_the_token_limit_gives_its_first_page(desk: Any, name: str) -> None:
    desk.environ[f"TOOLWRIGHT_{name}"] = "10"
    desk.put("a.txt", "12345678901\n12345678901\n")
    # 40 characters hold two lines of 19 with number and line end.
    assert (await desk.call("read", file_path="a.txt")).data["partial"] is False
    desk.put("b.txt", "12345678901\n12345678901234\n")
    assert (await desk.text("read", file_path="b.txt")).endswith(
        "PARTIAL: lines 1-1 of 2 are shown. Continue with offset=2."
    )


async def test_an_explicit_range_over_the_token_limit_is_refused_with_a_smaller_one(desk: Any) -> None:
    desk.put("a.txt", ("x" * 999 + "\n") * 500)
    failure = await desk.failure("read", file_path="a.txt", offset=3, limit=400)
    assert (failure.code, failure.details) == ("output_limit", {"limit": 99})
    assert failure.hint == "Use offset=3 and limit=99."
    assert (await desk.call("read", file_path="a.txt", offset=3, limit=99)).data["num_lines"] == 99
    assert (await desk.failure("read", file_path="a.txt", offset=3, limit=100)).details == {"limit": 99}


async def test_a_wrong_token_limit_falls_back(desk: Any) -> None:
    desk.environ["TOOLWRIGHT_FILE_READ_MAX_TOKENS"] = "many"
    desk.put("a.txt", "fine")
    assert await desk.text("read", file_path="a.txt") == "     1\tfine"


async def test_very_large_files_need_a_range_and_are_read_only_so_far(
    desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "LARGEST_WHOLE", 1_000_000)
    monkeypatch.setattr(pages, "_CHUNK", 1000)
    path = desk.put("huge.txt", b"first\nsecond\n" + b"x\n" * 499_993 + b"x")
    os.truncate(path, 1_000_000)
    assert (await desk.call("read", file_path="huge.txt", limit=1)).data["total_lines"] == 499_996
    os.truncate(path, 1_000_001)
    desk.workspace.read_state.forget(path)
    assert (await desk.failure("read", file_path="huge.txt", limit=1)).code == "file_too_large"
    done = await desk.call("read", file_path="huge.txt", offset=2, limit=1)
    assert done.content == "     2\tsecond\nPARTIAL: lines 2-2 are shown. Continue with offset=3."
    mark = desk.workspace.read_state.get(path)
    assert (mark.whole, mark.version.sha256) == (False, "")


async def test_empty_files_and_offsets_past_the_end_give_notices(desk: Any) -> None:
    desk.put("empty", "")
    desk.put("short", "a\nb\n")
    assert await desk.text("read", file_path="empty") == "The file is empty (0 lines)."
    assert await desk.text("read", file_path="short", offset=3) == (
        "The file has 2 lines; line 3 is past its end."
    )


@pytest.mark.parametrize(
    ("data", "text", "note"),
    [
        (b"\xef\xbb\xbfmark\n", "     1\tmark", ""),
        (
            b"caf\xe9\n",
            "     1\tcafé",
            "\nThe file is not UTF-8; it was read as Windows-1252, which is a guess.",
        ),
        ("\ufeffwide\r\n".encode("utf-16-le"), "     1\twide", "\nThe file is encoded as UTF-16."),
        (b"a" * 300_000 + b"\xe9", f"     1\t{'a' * 2000}… (+298001)", None),
    ],
)
async def test_encodings_are_found_and_noted(desk: Any, data: bytes, text: str, note: str | None) -> None:
    desk.put("f", data)
    content = await desk.text("read", file_path="f")
    assert content.startswith(text)
    assert note is None or content == text + note


async def test_binary_files_are_refused_with_size_and_type(desk: Any) -> None:
    desk.put("prog", b"\x7fELF\0\0\0")
    failure = await desk.failure("read", file_path="prog")
    assert (failure.code, failure.details) == ("binary_file", {"size": 7, "type": "ELF program"})


async def test_folders_and_special_files_are_refused(desk: Any) -> None:
    (desk.root / "src").mkdir()
    os.mkfifo(desk.root / "fifo")
    assert (await desk.failure("read", file_path="src")).code == "is_directory"
    assert (await desk.failure("read", file_path="fifo")).code == "unsupported"
    assert (await desk.failure("read", file_path="/dev/zero")).code == "permission_denied"
    assert (await desk.failure("read", file_path="/proc/self/environ")).code == "permission_denied"
    assert (await desk.failure("read", file_path="../x")).code == "path_outside_workspace"


async def test_a_missing_file_names_up_to_three_near_ones(desk: Any) -> None:
    for name in ("config.py", "Config.toml", "confit.py", "contig.py", "other"):
        desk.put(name, "")
    failure = await desk.failure("read", file_path="confg.py")
    assert failure.code == "file_not_found"
    assert len(failure.details["near"]) == 3
    assert str(desk.root / "config.py") in failure.details["near"]
    assert (await desk.failure("read", file_path="zzz/qqq")).details["near"] == []
    assert (await desk.failure("read", file_path="CONFIG.json")).details["near"]


async def test_reading_the_same_lines_again_says_unchanged_once(desk: Any) -> None:
    path = desk.put("a.txt", lines(1, 9))
    first = await desk.text("read", file_path="a.txt", limit=5)
    assert (await desk.call("read", file_path="a.txt", offset=2, limit=3)).data == {
        "type": "unchanged",
        "path": path,
    }
    assert await desk.text("read", file_path="a.txt", limit=5) == first
    assert (await desk.call("read", file_path="a.txt", limit=6)).data["type"] == "text"
    desk.put("a.txt", lines(2, 9))
    assert (await desk.call("read", file_path="a.txt", limit=3)).data["type"] == "text"


async def test_a_file_read_in_parts_counts_as_read_when_all_parts_were(desk: Any) -> None:
    path = desk.put("a.txt", lines(1, 9))
    await desk.call("read", file_path="a.txt", limit=5)
    assert desk.workspace.read_state.get(path).whole is False
    await desk.call("read", file_path="a.txt", offset=6)
    assert desk.workspace.read_state.get(path).whole is True


# --- pictures --------------------------------------------------------------------------------


def picture(width: int, height: int, form: str = "PNG", mode: str = "RGB") -> bytes:
    buffer = io.BytesIO()
    Image.new(mode, (width, height), 7).save(buffer, form)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("form", "size", "shown", "media_type"),
    [
        ("PNG", (80, 60), (80, 60), "image/png"),
        ("JPEG", (1568, 10), (1568, 10), "image/jpeg"),
        ("JPEG", (3136, 100), (1568, 50), "image/jpeg"),
        ("GIF", (10, 10), (10, 10), "image/gif"),
        ("WEBP", (10, 10), (10, 10), "image/webp"),
        ("BMP", (10, 10), (10, 10), "image/png"),
        ("TIFF", (10, 10), (10, 10), "image/png"),
        ("PNG", (1569, 3), (1568, 3), "image/png"),
    ],
)
async def test_images_are_shown_whatever_their_name(
    desk: Any, form: str, size: tuple[int, int], shown: tuple[int, int], media_type: str
) -> None:
    path = desk.put("picture.txt", picture(*size, form))
    done = await desk.call("read", file_path="picture.txt")
    *said, block = done.content
    assert isinstance(block, ImageBlock)
    assert done.data == {
        "type": "image",
        "path": path,
        "media_type": media_type,
        "data": block.data,
        "original": list(size),
        "shown": list(shown),
    }
    assert (block.media_type, block.width, block.height) == (media_type, *shown)
    scaled = f"The image has {size[0]}×{size[1]} pixels and is shown with {shown[0]}×{shown[1]}."
    assert said == ([TextBlock(scaled)] if shown != size else [])


@pytest.mark.parametrize(("mode", "corner"), [("RGB", None), ("RGBA", (255, 255, 255))])
async def test_a_large_drawing_becomes_a_photo(desk: Any, mode: str, corner: tuple[int, ...] | None) -> None:
    noise = Image.effect_noise((900, 900), 90).convert(mode)
    if corner:
        noise.putalpha(Image.new("L", noise.size, 0))
    buffer = io.BytesIO()
    noise.save(buffer, "PNG")
    desk.put("noise.png", buffer.getvalue())
    done = await desk.call("read", file_path="noise.png")
    (block,) = done.content
    assert (block.media_type, done.data["media_type"]) == ("image/jpeg", "image/jpeg")
    with Image.open(io.BytesIO(base64.b64decode(block.data))) as shown:
        assert (shown.format, shown.size) == ("JPEG", (900, 900))
        assert corner in {None, shown.getpixel((0, 0))}


async def test_images_with_too_many_pixels_are_refused_before_decoding(
    desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures, "MOST_PIXELS", 100)
    desk.put("fits.png", picture(10, 10))
    desk.put("large.png", picture(101, 1))
    await desk.call("read", file_path="fits.png")
    assert (await desk.failure("read", file_path="large.png")).code == "file_too_large"


async def test_a_picture_that_claims_to_be_enormous_or_is_broken_is_refused(desk: Any) -> None:
    data = bytearray(picture(10, 10))
    data[16:24] = (60_000).to_bytes(4, "big") * 2
    desk.put("bomb.png", bytes(data))
    desk.put("cut.png", picture(300, 300)[:60])
    assert (await desk.failure("read", file_path="bomb.png")).code in {"file_too_large", "unsupported"}
    assert (await desk.failure("read", file_path="cut.png")).code == "unsupported"


async def test_a_text_that_starts_like_a_bitmap_is_a_text(desk: Any) -> None:
    desk.put("car.txt", "BMW is a maker of cars\n")
    assert (await desk.call("read", file_path="car.txt")).data["type"] == "text"


# --- documents -------------------------------------------------------------------------------


def pdf(page_count: int) -> bytes:
    """A PDF whose pages say their number."""
    objects = ["<</Type/Catalog/Pages 2 0 R>>", ""]
    kids = []
    for number in range(1, page_count + 1):
        stream = f"BT /F1 24 Tf 20 100 Td (This is page {number}) Tj ET"
        kids.append(f"{len(objects) + 1} 0 R")
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents {len(objects) + 2} 0 R"
            "/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>"
        )
        objects.append(f"<</Length {len(stream)}>>stream\n{stream}\nendstream")
    objects[1] = f"<</Type/Pages/Count {page_count}/Kids[{' '.join(kids)}]>>"
    body, places = "%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj{text}endobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"trailer<</Size {len(objects) + 1}/Root 1 0 R>>\nstartxref\n{len(body)}\n%%EOF"
    return f"{body}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{end}".encode()


async def test_short_documents_come_whole_as_text_and_pages(desk: Any) -> None:
    path = desk.put("doc.bin", pdf(2))
    done = await desk.call("read", file_path="doc.bin")
    assert done.data == {
        "type": "pdf",
        "path": path,
        "pages": [1, 2],
        "total": 2,
        "blocks": [asdict(block) for block in done.content],
    }
    texts = [block.text for block in done.content if isinstance(block, TextBlock)]
    assert texts == ["Page 1 of 2\nThis is page 1", "Page 2 of 2\nThis is page 2"]
    images = [block for block in done.content if isinstance(block, ImageBlock)]
    assert [max(image.width, image.height) for image in images] == [1568, 1568]


async def test_ten_pages_are_read_whole_and_eleven_need_pages(desk: Any) -> None:
    desk.put("ten.pdf", pdf(documents.WHOLE_PAGES))
    desk.put("eleven.pdf", pdf(documents.WHOLE_PAGES + 1))
    assert len((await desk.call("read", file_path="ten.pdf")).data["pages"]) == 10
    assert (await desk.failure("read", file_path="eleven.pdf")).code == "file_too_large"
    assert (await desk.call("read", file_path="eleven.pdf", pages="11")).data["pages"] == [11]
    assert (await desk.call("read", file_path="eleven.pdf", pages="2-3")).data["pages"] == [2, 3]
    assert (await desk.failure("read", file_path="eleven.pdf", pages="11-12")).code == "validation_failed"


@pytest.mark.parametrize(("pages", "count"), [("1-20", 20), ("3", 1), (" 5-5 ", 1)])
async def test_up_to_twenty_pages_are_named(pages: str, count: int) -> None:
    assert len(documents.wanted_pages(pages)) == count


@pytest.mark.parametrize("pages", ["1-21", "0", "5-4", "a", "", "1-", "-3", "1,2", "9999999"])
async def test_other_pages_are_refused(desk: Any, pages: str) -> None:
    desk.put("doc.pdf", pdf(1))
    assert (await desk.failure("read", file_path="doc.pdf", pages=pages)).code == "validation_failed"


async def test_broken_documents_and_pages_of_other_files_are_refused(desk: Any) -> None:
    desk.put("broken.pdf", b"%PDF-1.7\nnothing")
    desk.put("a.txt", "a")
    assert (await desk.failure("read", file_path="broken.pdf")).code == "unsupported"
    assert (await desk.failure("read", file_path="a.txt", pages="1")).code == "validation_failed"


# --- notebooks -------------------------------------------------------------------------------


def notebook(*cells: dict[str, Any], minor: int = 5) -> str:
    return json.dumps(
        {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": minor}, indent=1
    )


def code(name: str | None, source: list[str] | str, *outputs: dict[str, Any]) -> dict[str, Any]:
    cell = {
        "cell_type": "code",
        "execution_count": 1,
        "metadata": {},
        "outputs": list(outputs),
        "source": source,
    }
    return {**cell, "id": name} if name else cell


async def test_notebooks_come_as_cells_with_ids_sources_and_outputs(desk: Any) -> None:
    stream = {"output_type": "stream", "name": "stdout", "text": ["hello\n", "there\n"]}
    error = {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["long"]}
    path = desk.put(
        "n.ipynb", notebook(code("abc", ["print()\n", "1/0"], stream, error), code(None, "x = 1"))
    )
    done = await desk.call("read", file_path="n.ipynb")
    assert done.data == {
        "type": "notebook",
        "path": path,
        "cells": [
            {"id": "abc", "type": "code", "source": "print()\n1/0", "output": "hello\nthere\nValueError: no"},
            {"id": "cell-1", "type": "code", "source": "x = 1", "output": ""},
        ],
    }
    assert done.content == (
        TextBlock(
            '<cell id="abc" type="code">\nprint()\n1/0\n</cell>\n'
            "<output>\nhello\nthere\nValueError: no\n</output>\n"
            '<cell id="cell-1" type="code">\nx = 1\n</cell>'
        ),
    )


@pytest.mark.parametrize(("length", "end"), [(10_000, "x"), (10_001, "x… (+1 characters)")])
async def test_outputs_are_trimmed(desk: Any, length: int, end: str) -> None:
    output = {"output_type": "stream", "text": "x" * length}
    desk.put("n.ipynb", notebook(code("a", "", output)))
    shown = (await desk.call("read", file_path="n.ipynb")).data["cells"][0]["output"]
    assert shown == "x" * 9_999 + end


async def test_images_of_a_notebook_are_shown_and_broken_ones_left_out(desk: Any) -> None:
    good = base64.b64encode(picture(8, 8)).decode()
    rich = {"output_type": "display_data", "data": {"image/png": good, "text/plain": "<Figure>"}}
    bad = {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": "<Bad>"}}
    desk.put("n.ipynb", notebook(code("a", "plot()", rich, bad)))
    content = (await desk.call("read", file_path="n.ipynb")).content
    assert [type(block) for block in content] == [TextBlock, ImageBlock]
    assert "<Figure>\n<Bad>" in content[0].text


@pytest.mark.parametrize(
    ("count", "note"), [(20, None), (21, "(1 more image is not shown; 20 are the most.)")]
)
async def test_twenty_images_of_a_notebook_are_shown_and_the_rest_is_counted(
    desk: Any, count: int, note: str | None
) -> None:
    good = base64.b64encode(picture(8, 8)).decode()
    rich = {"output_type": "display_data", "data": {"image/png": good}}
    cells = [code("a", "", *[rich] * (count - 3)), code("b", "", *[rich] * 3)]
    desk.put("n.ipynb", notebook(*cells))
    content = (await desk.call("read", file_path="n.ipynb")).content
    assert sum(isinstance(block, ImageBlock) for block in content) == 20
    last = content[-1]
    assert (last.text if isinstance(last, TextBlock) else None) == note


async def test_a_notebook_may_be_read_as_lines_and_broken_ones_are_refused(desk: Any) -> None:
    desk.put("n.ipynb", notebook())
    desk.put("bad.ipynb", "{")
    assert (await desk.call("read", file_path="n.ipynb", limit=1)).data["type"] == "text"
    assert (await desk.call("read", file_path="n.ipynb")).data["cells"] == []
    assert (await desk.failure("read", file_path="bad.ipynb")).code == "unsupported"


async def test_a_notebook_over_the_token_limit_says_how_to_go_on(desk: Any) -> None:
    desk.put("n.ipynb", notebook(code("a", "x" * 100_001)))
    failure = await desk.failure("read", file_path="n.ipynb")
    assert (failure.code, "offset" in failure.hint) == ("output_limit", True)


# --- files that are read whole ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "name", "data"),
    [
        (notebooks, "n.ipynb", notebook(code("a", "x")).encode()),
        (documents, "d.pdf", pdf(1)),
        (pictures, "p.png", picture(8, 8)),
    ],
)
async def test_a_file_that_is_read_whole_may_be_as_large_as_its_limit(
    desk: Any, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, data: bytes
) -> None:
    desk.put(name, data)
    monkeypatch.setattr(module, "LARGEST_FILE", len(data))
    assert (await desk.call("read", file_path=name)).data["type"] in {"notebook", "pdf", "image"}
    monkeypatch.setattr(module, "LARGEST_FILE", len(data) - 1)
    assert (await desk.failure("read", file_path=name)).code == "file_too_large"


# --- what a person sees ----------------------------------------------------------------------


async def test_the_view_says_what_was_read(desk: Any) -> None:
    path = desk.put("a.txt", "a\nb\n")
    desk.put("p.png", picture(80, 60))
    seen = []
    for name in ("a.txt", "a.txt", "p.png"):
        view = desk.view("read", {"file_path": path}, await desk.call("read", file_path=name))
        seen.append((view.activity, view.summary, view.folds))
    assert seen == [
        ("Reading a.txt", "read 2 lines", True),
        ("Reading a.txt", "unchanged", True),
        ("Reading a.txt", "image 80×60", True),
    ]
