"""Finding where one command's output ends, however it arrives."""

from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.tools.commands.session_shell import CommandOutput

MARK = b"0123456789abcdef"
PIECES = st.sampled_from([b"text\n", b"\x1e", MARK, MARK[:7], b"\x1e" + MARK[:9], b" 0 /", b"\0"])


def chunked(data: bytes, sizes: list[int]) -> list[bytes]:
    chunks = []
    for size in sizes:
        chunks.append(data[:size])
        data = data[size:]
    return [*chunks, data]


@given(st.lists(PIECES, max_size=12), st.lists(st.integers(0, 9), max_size=30), st.integers(0, 255))
@settings(max_examples=400, derandomize=True)
def test_the_mark_is_found_in_any_pieces(pieces: list[bytes], sizes: list[int], code: int) -> None:
    text = b"".join(pieces).replace(b"\x1e" + MARK, b"")
    stream = text + b"\x1e" + MARK + b" %d /some/place with blank\x1e" % code
    output = CommandOutput(MARK)
    shown = b"".join(output.write(chunk) for chunk in chunked(stream, sizes))
    assert (shown, output.text(), output.found) == (text, text, (code, "/some/place with blank"))


def test_without_a_mark_everything_is_the_command_s() -> None:
    output = CommandOutput(MARK)
    output.write(b"text\x1e")
    assert (output.text() + output.rest, output.found) == (b"text\x1e", None)


def test_a_broken_mark_is_no_crash() -> None:
    output = CommandOutput(MARK)
    output.write(b"text\x1e" + MARK + b" notanumber /x\x1e")
    assert output.found is None
