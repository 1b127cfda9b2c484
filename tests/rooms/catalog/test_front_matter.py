"""Front matter: what is read, what is refused, and that nothing written can break the reader."""

import json
import tomllib
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.catalog.agents import read_agent
from toolwright.catalog.front_matter import read_yaml
from toolwright.catalog.written import DEEPEST, MOST_BYTES, Written, WrittenWrongly, read_written

LETTERS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn", "Co", "Zl", "Zp"]), max_size=20)


def nested(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    inner = st.recursive(
        leaves,
        lambda deeper: st.lists(deeper, max_size=4) | st.dictionaries(LETTERS, deeper, max_size=4),
        max_leaves=20,
    )
    return st.dictionaries(LETTERS, inner, max_size=6)


def problems(name: str, content: str | bytes) -> list[tuple[int | None, str]]:
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    with pytest.raises(WrittenWrongly) as wrong:
        read_written(name, data)
    return [(problem.line, problem.text) for problem in wrong.value.problems]


def read_or_refused(read: Callable[[], Written]) -> Written | WrittenWrongly:
    """Whatever else is raised is a fault of the reader."""
    try:
        return read()
    except WrittenWrongly as wrong:
        return wrong


@given(nested(LETTERS), st.booleans())
def test_texts_written_by_a_yaml_library_are_read_back(data: dict[str, Any], flow: bool) -> None:
    text = yaml.safe_dump(data, allow_unicode=True, default_flow_style=flow, default_style='"')
    assert read_yaml(text).data == data


@given(nested(st.none() | st.booleans() | st.integers(-(10**30), 10**30) | LETTERS))
def test_json_is_yaml_and_means_the_same(data: dict[str, Any]) -> None:
    assert read_yaml(json.dumps(data, ensure_ascii=False)).data == data


@settings(max_examples=300)
@given(st.text("ab:-[]{}&*!|>'\"%@`#,?~ \n\t\\x0\u2028\ufeffé", max_size=60))
def test_any_text_is_read_or_refused_with_a_line(text: str) -> None:
    found = read_or_refused(lambda: read_yaml(text, first_line=2))
    if isinstance(found, WrittenWrongly):
        assert all(problem.line is not None and problem.line >= 2 for problem in found.problems)
    else:
        assert isinstance(found.data, dict)


@settings(max_examples=200)
@given(st.binary(max_size=80), st.sampled_from(["a.md", "a.toml", "a.json"]))
def test_any_bytes_are_read_or_refused(content: bytes, name: str) -> None:
    found = read_or_refused(lambda: read_written(name, content))
    assert str(found) if isinstance(found, WrittenWrongly) else isinstance(found.data, dict)


def test_words_mean_what_yaml_1_2_says() -> None:
    read = read_yaml("a: yes\nb: off\nc: 12:30\nd: 2024-01-01\ne: 0.5\nf: -3\ng: ~\nh: true\ni: 1e3\nj: 010")
    assert list(read.data.values()) == ["yes", "off", "12:30", "2024-01-01", 0.5, -3, None, True, 1000.0, 10]


def test_every_key_knows_its_line() -> None:
    read = read_yaml("name: x\nlimits:\n  rounds: 3\ntools:\n  - read\n  - grep\n", first_line=2)
    assert read.line_of(("limits", "rounds")) == 4
    assert read.line_of(("tools", 1)) == 7
    assert read.line_of(("limits", "nothing")) == 3
    assert read.line_of(("nothing",)) is None


def test_a_markdown_file_has_front_matter_and_a_body() -> None:
    read = read_written("a.md", b"\xef\xbb\xbf---  \r\nname: x\r\n---\r\n\r\n# Title\r\n\r\n---\r\nmore\r\n")
    assert read.data == {"name": "x"}
    assert read.body == "# Title\n\n---\nmore"
    assert read_written("a.md", b"---\n---\nonly text").data == {}
    assert read_written("a.md", b"---\n# a remark\n---\n").body == ""


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"


@pytest.mark.parametrize(
    ("yaml_text", "line", "said"),
    [
        (BOMB, 2, "aliases and anchors"),
        ("a: b\nb: *a\n", 3, "aliases and anchors"),
        ("a: !!python/object/apply:os.getcwd []\n", 2, "tags (tag:yaml.org,2002:python"),
        ("a: !own x\n", 2, "tags (!own) are not allowed"),
        ("a: 1\nb: 2\na: 3\n", 4, "the key 'a' stands twice"),
        ("a:\n  b: 1\n  b: 2\n", 4, "the key 'b' stands twice"),
        ("- a\n- b\n", 2, "must be keys with values"),
        ("just words\n", 2, "must be keys with values"),
        ("? [a]\n: b\n", 2, "a key must be a plain word"),
        ("description: when: never\n", 2, "Put a text that holds ': '"),
        ('a: "\\UFFFFFFFF"\n', 2, "names no character"),
        ('a: "\\q"\n', 2, "not valid YAML"),
        ("a: \x07\n", 2, "a character that YAML does not allow"),
        ("a: [1, 2\n", 3, "not valid YAML"),
        ("a: " + "[" * 40 + "]" * 40 + "\n", 2, f"nested more than {DEEPEST} deep"),
        ("a: [" + "x, " * 3_000 + "]\n", 2, "more than 2,000 values"),
    ],
)
def test_what_yaml_should_not_hold_is_refused_with_its_line(yaml_text: str, line: int, said: str) -> None:
    [(found, text)] = problems("a.md", f"---\n{yaml_text}---\nbody\n")
    assert said in text
    assert found == line


def test_a_second_document_is_refused() -> None:
    with pytest.raises(WrittenWrongly, match="second YAML document"):
        read_yaml("a: 1\n--- \nb: 2\n")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.md", "no front matter", "begin with '---'"),
        ("a.md", "---\nname: x\nno end", "end the front matter with a line '---'"),
        ("a.md", "---\n" + "a: b # " + "x" * 70_000 + "\n---\n", "longer than 65,536 characters"),
        ("a.md", b"---\nname: \xff\n---\n", "not UTF-8"),
        ("a.md", b"---\nname: x\n---\na\0b", "NUL character"),
        ("a.md", b"x" * (MOST_BYTES + 1), "larger than 262,144 bytes"),
        ("a.txt", "x", "a .md, .toml or .json file"),
        ("a.json", "[]", "one JSON object"),
        ("a.json", '{"a": 1, "a": 2}', "the key 'a' stands twice"),
        ("a.json", '{"a": NaN}', "NaN is no JSON number"),
        ("a.json", '{"a": "\\ud800"}', "holds a character that no text may hold"),
        ("a.json", '{"a": "\\u0000"}', "holds a character that no text may hold"),
        ("a.json", '{"a": ' + "9" * 5_000 + "}", "not valid JSON"),
        ("a.json", "[" * 100_000, "nested more than"),
        ("a.json", '{"a": ' + "[" * 20 + "]" * 20 + "}", "nested more than"),
        ("a.json", '{"a": [' + "1," * 2_000 + "1]}", "more than 2,000 values"),
        ("a.json", "{'a': 1}", "not valid JSON"),
        ("a.toml", "a = 1\na = 2", "not valid TOML"),
        ("a.toml", "a = " + "[" * 100_000, "nested more than"),
        ("a.toml", "a = " + "9" * 5_000, "not valid TOML"),
        ("a.toml", ".".join("abcdefghijklmnopqr") + " = 1", "more than 16 parts"),
    ],
)
def test_what_no_definition_may_be_is_refused(name: str, content: str | bytes, said: str) -> None:
    [(_, text)] = problems(name, content)
    assert said in text


def test_the_same_things_are_said_in_three_formats() -> None:
    said = {"name": "x", "limits": {"rounds": 3}, "tools": ["read"]}
    toml = 'name = "x"\ntools = ["read"]\n[limits]\nrounds = 3\n'
    assert tomllib.loads(toml) == said
    assert read_written("a.toml", toml.encode()).data == said
    assert read_written("a.json", json.dumps(said).encode()).data == said
    assert read_written("a.md", f"---\n{yaml.safe_dump(said)}---\n".encode()).data == said


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.toml", "a." * 100_000 + "b = 1"),
        ("a.toml", "[" + "a . " * 50_000 + "b]"),
        ("a.toml", '"a".' * 50_000 + "b = 1"),
        ("a.toml", "x" * 250_000),
        ("a.toml", "'" * 250_000),
        ("a.md", "---\ntools: " + "," * 60_000 + "\n---\n"),
        ("a.md", "---\ntools: '" + "(" * 60_000 + "'\n---\n"),
        ("a.md", "---" + " " * 250_000 + "\n"),
        ("a.md", "---\n" + "---x\n" * 50_000),
        ("a.json", '{"' + "k" * 200_000 + '": 1}'),
        ("a.json", '{"tools": "' + "(,)" * 60_000 + '"}'),
    ],
)
def test_no_file_takes_long_to_refuse_or_says_much(name: str, text: str) -> None:
    with pytest.raises(WrittenWrongly) as wrong:
        read_agent(name, text.encode())
    assert len(str(wrong.value)) < 1_000
