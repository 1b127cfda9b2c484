"""Evals as they are written: what is understood, and what an author is told of what is not."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolwright.catalog.eval_suites import read_suite, read_suites
from toolwright.contracts.errors import DefinitionError
from toolwright.contracts.evals import CallExpected, EvalCase, Expected, FileExpected, JudgeExpected

WHOLE = """
description: What the coder must be able to do.
defaults:
  model: ollama/qwen3
  input:
    files: {a.py: "x = 1\\n"}
    context: Be brief.
  expected: {max_rounds: 5}
cases:
  - id: mends
    category: editing
    mode: acceptEdits
    tools: read, edit, own.py
    allow: Bash(make *), Read(src/**)
    timeout: 30
    pass_rate: 0.5
    settings: {effort: low}
    input:
      message: "Mend it."
      task_id: "eval-{run_id}-mends"
      context: {branch: main}
    expected:
      called:
        - read
        - {tool: edit, input: {new_string: b}, times: 1}
        - {tool: "git_*", state: failed, least: 0, most: 2}
      not_called: [bash, {tool: write, input_schema: {type: object}}]
      order: [read, edit]
      contains: adds
      lacks: [sorry, cannot]
      matches: "^It .*"
      matches_none: ["TODO"]
      schema: {type: object}
      max_calls: 0
      max_cost: 0.5
      files:
        a.py: {state: changed, contains: a + b}
        notes/b.txt: absent
      no_other_files: true
      judge: {question: "Is it polite?", model: anthropic}
  - id: plain
    input: {message: Hi}
    expected: {judge: "Is it kind?"}
"""


def read(text: str, name: str = "suite.yaml") -> tuple[EvalCase, ...]:
    return read_suite(name, text.encode())


def one(**keys: Any) -> EvalCase:
    whole = {"id": "one", "input": {"message": "Hi"}, **keys}
    [case] = read(json.dumps(whole), "one.json")
    return case


def refused(**keys: Any) -> str:
    with pytest.raises(DefinitionError) as raised:
        one(**keys)
    return str(raised.value)


def test_all_keys_are_understood() -> None:
    mends, plain = read(WHOLE)
    assert mends == EvalCase(
        id="mends",
        category="editing",
        message="Mend it.",
        context='{\n  "branch": "main"\n}',
        task_id="eval-{run_id}-mends",
        files={"a.py": "x = 1\n"},
        model="ollama/qwen3",
        tools=("read", "edit", "own.py"),
        allow=("Bash(make *)", "Read(src/**)"),
        mode="acceptEdits",
        settings={"effort": "low"},
        timeout=30.0,
        pass_rate=0.5,
        expected=Expected(
            called=(
                CallExpected(tool="read"),
                CallExpected(tool="edit", input={"new_string": "b"}, least=1, most=1),
                CallExpected(tool="git_*", state="failed", least=0, most=2),
            ),
            not_called=(
                CallExpected(tool="bash"),
                CallExpected(tool="write", input_schema={"type": "object"}),
            ),
            order=("read", "edit"),
            contains=("adds",),
            lacks=("sorry", "cannot"),
            matches=("^It .*",),
            matches_none=("TODO",),
            schema={"type": "object"},
            max_calls=0,
            max_rounds=5,
            max_cost=0.5,
            files=(
                FileExpected(path="a.py", state="changed", contains=("a + b",)),
                FileExpected(path="notes/b.txt", state="absent"),
            ),
            no_other_files=True,
            judge=JudgeExpected(question="Is it polite?", model="anthropic"),
        ),
        origin="suite.yaml",
        fingerprint=mends.fingerprint,
    )
    assert (plain.context, plain.expected.judge) == ("Be brief.", JudgeExpected(question="Is it kind?"))
    assert plain.expected.max_rounds == 5


def test_json_says_the_same_as_yaml() -> None:
    written = {"cases": [{"id": "a", "input": {"message": "Hi"}}]}
    [of_json] = read(json.dumps(written), "s.json")
    [of_yaml] = read("cases: [{id: a, input: {message: Hi}}]", "s.json.yaml")
    assert (of_json.id, of_json.fingerprint) == (of_yaml.id, of_yaml.fingerprint)


def test_a_fingerprint_is_of_everything_that_was_written() -> None:
    assert one().fingerprint == one().fingerprint
    others = {one(category="c").fingerprint, one(expected={"max_calls": 1}).fingerprint, one().fingerprint}
    assert len(others) == 3


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"expcted": {}}, "'expcted' is not known here. Did you mean 'expected'?"),
        ({"expected": {"call": "read"}}, "'expected.call' is not known here. Did you mean 'called'?"),
        (
            {"expected": {"called": [{"tool": "a", "inputs": {}}]}},
            "'expected.called.0.inputs' is not known here. Did you mean 'input'?",
        ),
        ({"expected": {"called": [{"input": {}}]}}, "'expected.called.0' names no tool"),
        ({"expected": {"called": {"tool": "a", "most": 0}}}, "asks for more calls than it allows"),
        ({"expected": {"not_called": {"tool": "a", "times": 2}}}, "takes no 'times'"),
        ({"expected": {"matches": "("}}, "is no regular expression: missing )"),
        ({"expected": {"max_calls": -1}}, "takes a whole number from 0 on, not -1"),
        ({"expected": {"max_calls": True}}, "takes a whole number from 0 on, not true"),
        ({"expected": {"end": "fine"}}, "takes one of done, waiting,"),
        ({"expected": {"files": {"../a": "present"}}}, "takes a path inside of the workspace"),
        ({"expected": {"files": {"a": "there"}}}, "'expected.files.a' takes one of created,"),
        ({"expected": {"files": {"a": {}}}}, "'expected.files.a' says nothing about the file"),
        ({"expected": {"judge": {"model": "x"}}}, "'expected.judge' asks nothing"),
        ({"input": {"message": " "}}, "'input.message' must not be empty"),
        ({"input": {}}, "has no 'message' under 'input'"),
        ({"input": {"message": "x", "files": {"/etc/x": ""}}}, "takes a path inside of the workspace"),
        ({"input": {"message": "x", "task_id": "{day}"}}, "names {day}; known are {run_id}, {case_id}"),
        ({"input": {"message": "x", "folder": "nowhere"}}, "the folder 'nowhere', which is not there"),
        ({"id": "a b"}, "'id' takes letters, digits"),
        ({"pass_rate": 0}, "takes a number above 0 and up to 1, not 0"),
        ({"mode": "auto"}, "takes one of default, acceptEdits, plan"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(keys: dict[str, Any], said: str) -> None:
    assert said in refused(**keys)


def test_everything_that_is_wrong_is_told_with_its_line() -> None:
    with pytest.raises(DefinitionError) as raised:
        read("cases:\n  - id: a\n    input: {}\n  - id: b\n    input:\n      message: 5\n  - id: c\n")
    assert str(raised.value).splitlines() == [
        "suite.yaml:2: the case 'a' has no 'message' under 'input'.",
        "suite.yaml:6: the case 'b': 'input.message' takes a text, not 5; put it into quotes.",
        "suite.yaml:7: the case 'c' has no 'message' under 'input'.",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cases: []", "takes a list of at least one case"),
        ("cases: [5]", "the case takes keys with values, not 5"),
        ("cases: [{id: a}]\nmodel: x", "'model' stands beside 'cases'; put it under 'defaults'"),
        ("cases: [{id: a}]\ndefaults: {id: b}", "takes the keys of a case, without an id"),
        ("- a\n- b", "the file must be keys with values"),
        ("a: &x 1", "aliases and anchors"),
        ("id: a\nid: b", "the key 'id' stands twice"),
    ],
)
def test_a_file_that_holds_no_cases_is_refused(text: str, said: str) -> None:
    with pytest.raises(DefinitionError, match=r"suite\.yaml") as raised:
        read(text)
    assert said in str(raised.value)


def test_a_suite_may_have_many_values() -> None:
    cases = [{"id": f"c{n}", "input": {"message": "Hi"}, "expected": {"contains": "x"}} for n in range(2000)]
    assert len(read(json.dumps({"cases": cases}), "s.json")) == 2000


# --- files and folders --------------------------------------------------------------------------


def case_file(path: Path, *ids: str) -> Path:
    cases = [{"id": id, "input": {"message": "Hi"}} for id in ids]
    path.write_text(json.dumps({"cases": cases}))
    return path


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    case_file(tmp_path / "b.yaml", "b1", "b2")
    case_file(tmp_path / "a.eval.json", "a")
    (tmp_path / "script.json").write_text('["an answer"]')
    (tmp_path / "README.md").write_text("text")
    assert [case.id for case in read_suites([str(tmp_path)])] == ["a", "b1", "b2"]


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="there are no evals in"):
        read_suites([str(tmp_path)])
    with pytest.raises(DefinitionError, match=r"none\.yaml cannot be read: No such file"):
        read_suites([str(tmp_path / "none.yaml")])
    (tmp_path / "x.toml").write_text("")
    with pytest.raises(DefinitionError, match=r"must be a .json, .yaml or .yml file"):
        read_suites([str(tmp_path / "x.toml")])


def test_an_id_stands_once_in_all_files(tmp_path: Path) -> None:
    paths = [str(case_file(tmp_path / name, "same")) for name in ("a.json", "b.json")]
    with pytest.raises(DefinitionError, match=r"b.json: the case 'same' is in .*a.json already; rename one"):
        read_suites(paths)


def test_a_folder_is_found_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "fixture").mkdir()
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"id": "a", "input": {"message": "Hi", "folder": "fixture"}}))
    [case] = read_suites([str(path)])
    assert case.folder == str(tmp_path / "fixture")
