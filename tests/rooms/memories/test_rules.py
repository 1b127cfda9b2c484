"""What a memory may be called and may hold."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.memories.rules import UnfitMemory, check_content, check_path, conflicting, slug

segments = st.text(
    st.characters(categories=["L", "N", "P", "S"], exclude_characters="/"), min_size=1, max_size=20
)


@given(st.lists(segments, min_size=1, max_size=20))
def test_a_path_of_plain_segments_is_accepted(parts: list[str]) -> None:
    path = unicodedata.normalize("NFC", "/" + "/".join(part for part in parts))
    if set(path.split("/")) & {".", ".."} or len(path.encode()) > 1_024:
        return
    check_path(path)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "begins with"),
        ("a/b", "begins with"),
        ("/", "no segment"),
        ("/a/", "no segment"),
        ("/a/../b", "no segment"),
        ("/a\nb", "control"),
        ("/a\u200bb", "control"),
        ("/a\ud800", "control"),
        ("/A\u030a", "Normalization"),
        ("/" + "/".join("a" * 21), "segments"),
        ("/" + "a" * 256, "255 bytes"),
        ("/" + "/".join(["a" * 200] * 6), "1,024 bytes"),
    ],
)
def test_other_paths_are_refused(path: str, why: str) -> None:
    with pytest.raises(UnfitMemory, match=why):
        check_path(path)


def test_contents_are_counted_in_bytes() -> None:
    check_content("ü" * 51_200)
    for text in ("ü" * 51_200 + "a", "\ud800"):
        with pytest.raises(UnfitMemory):
            check_content(text)


@pytest.mark.parametrize(
    ("path", "other"),
    [
        ("/a", "/a"),
        ("/a/b", None),
        ("/b", "/b/c"),
        ("/b/c/d", "/b/c"),
        ("/b/d", None),
        ("/ab", None),
        ("/c", None),
    ],
)
def test_no_memory_lies_inside_another(path: str, other: str | None) -> None:
    assert conflicting(path, {"/b/c", "/a"} if path != "/a/b" else {"/a/c"}) == other


@pytest.mark.parametrize(
    ("name", "folder"),
    [("User Preferences", "user-preferences"), ("  a__B 1!", "a-b-1"), ("Größe", "gr-e"), ("日本", "memory")],
)
def test_a_folder_is_named_after_its_store(name: str, folder: str) -> None:
    assert slug(name) == folder
