"""A skill read from the texts of its folder."""

import json

import pytest

from toolwright.catalog.skill_reading import read_skill
from toolwright.catalog.written import WrittenWrongly
from toolwright.contracts.skills import Skill, SkillReading

BODY = "Look at it.\n\nSee [more](references/more.md) and scripts/run.py."


def markdown(*lines: str, body: str = BODY, name: str = "pdf-forms") -> dict[str, bytes]:
    front = [f"name: {name}", "description: Fills forms. Use it for forms.", *lines]
    return {"SKILL.md": "\n".join(["---", *front, "---", body]).encode()}


def read(contents: dict[str, bytes], *paths: str, folder: str = "pdf-forms") -> SkillReading:
    return read_skill(contents, (*contents, *paths), folder=folder)


def running(**members: object) -> dict[str, bytes]:
    return {"skill.json": json.dumps({"description": "Summarises a text.", **members}).encode()}


def said(reading: SkillReading) -> list[str]:
    return [str(finding) for finding in reading.findings]


def test_a_folder_of_agent_skills_is_read_whole() -> None:
    more = (
        "license: Apache-2.0",
        "compatibility: Needs git",
        "metadata:",
        "  author: someone",
        "  version: 1.10",
        "allowed-tools: Bash(git diff:*) Read, Edit(src/(a)/**)",
    )
    reading = read(markdown(*more), "references/more.md", "scripts/run.py")
    assert reading.findings == ()
    assert reading.conforms
    skill = reading.skill
    assert (skill.name, skill.description) == ("pdf-forms", "Fills forms. Use it for forms.")
    assert skill.instructions == BODY
    assert skill.allowed_tools == ("Bash(git diff:*)", "Read", "Edit(src/(a)/**)")
    assert skill.metadata == {"author": "someone", "version": "1.10"}
    assert (skill.version, skill.license, skill.compatibility) == ("1.10", "Apache-2.0", "Needs git")
    assert skill.files == ("SKILL.md", "references/more.md", "scripts/run.py")
    assert not skill.exposed
    assert not skill.entry


def test_allowed_tools_may_be_a_list() -> None:
    skill = read(markdown("allowed-tools:", "  - Bash(git:*)", "  - Read", body="x")).skill
    assert skill.allowed_tools == ("Bash(git:*)", "Read")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("PDF-Forms", "small letters"),
        ("pdf--forms", "two hyphens"),
        ("pdf-forms-", "ends with a hyphen"),
        ("pdf_forms", "letters, digits and hyphens"),
        ("other", "that of its folder"),
    ],
)
def test_a_name_that_breaks_a_rule_is_used_and_reported(name: str, words: str) -> None:
    reading = read(markdown(name=name, body="x"))
    assert reading.skill.name == name
    assert not reading.conforms
    assert any(words in text for text in said(reading))
    assert all(finding.line == 2 for finding in reading.findings)


@pytest.mark.parametrize("name", ["-pdf", "x" * 65, "a b", "../up", "a/b", "''", "a\\u0000b"])
def test_a_name_that_cannot_be_used_is_refused(name: str) -> None:
    with pytest.raises(WrittenWrongly, match="'name'"):
        read(markdown(name=name))


def test_names_that_look_the_same_are_the_same() -> None:
    assert read(markdown(name="ｐｄｆ-forms", body="x")).skill.name == "pdf-forms"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (("compatibility: ''",), "'compatibility' is empty"),
        ((f"compatibility: {'x' * 501}",), "500 are allowed"),
        (("metadata: some",), "'metadata' takes texts"),
        (("metadata:", "  deep:", "    er: 1"), "'metadata' takes texts"),
        (("license:", "  - a"), "'license' takes a text"),
        (("allowed-tools: Read Bash(git",), "'allowed-tools' has a bracket without its partner"),
        (("allowed-tools: Read) Bash",), "'allowed-tools' has a bracket without its partner"),
        (("allowed-tools:", "  a: b"), "'allowed-tools' takes a list"),
        (("color: red",), "'color' is no key"),
        (("alowed-tools: Read",), "Did you mean 'allowed-tools'"),
        (("context: fork",), "'context' has no effect here"),
        (("version: 2",), "'version' has a meaning here"),
    ],
)
def test_what_breaks_a_rule_is_reported_and_read_over(lines: tuple[str, ...], words: str) -> None:
    reading = read(markdown(*lines, body="x"))
    assert [text for text in said(reading) if words in text]
    assert not reading.conforms


def test_a_description_that_is_too_long_is_used_and_reported() -> None:
    content = f"---\nname: pdf-forms\ndescription: {'y' * 1025}\n---\nx".encode()
    reading = read({"SKILL.md": content})
    assert len(reading.skill.description) == 1025
    assert "1,024 are allowed" in said(reading)[0]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("name: x", "there is no front matter"),
        ("---\nname: pdf-forms\n---\n", "'description' is missing"),
        ("---\ndescription: x\n---\n", "'name' is missing"),
        ("---\nname: pdf-forms\ndescription:\n---\n", "not empty"),
        ("---\nname: pdf-forms\ndescription: a: b\n---\n", "quotes"),
        ("---\nname: pdf-forms\ndescription: &a x\n---\n", "aliases and anchors"),
        ("---\n- name\n---\n", "keys with values"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(content: str, words: str) -> None:
    with pytest.raises(WrittenWrongly, match=r"SKILL\.md:") as refused:
        read({"SKILL.md": content.encode()})
    assert words in str(refused.value)


def test_numbers_and_words_are_texts_in_the_front_matter() -> None:
    skill = read({"SKILL.md": b"---\nname: 123\ndescription: true\n---\nx"}, folder="123").skill
    assert (skill.name, skill.description) == ("123", "true")


def test_files_that_are_not_there_are_reported() -> None:
    body = "[a](references/a.md#part) [b](https://example.org) [c](../up.md) `scripts/x.py` [d](references/)"
    reading = read(markdown(body=body), "references/b.md")
    assert said(reading) == [
        "it speaks of 'references/a.md', which is not there.",
        "'../up.md' leads out of the skill: only its own files go with it.",
        "it speaks of 'scripts/x.py', which is not there.",
    ]
    assert reading.conforms


def test_long_instructions_are_reported() -> None:
    assert "501 lines" in said(read(markdown(body="\n".join("x" * 501))))[0]


def test_a_skill_of_the_catalog_is_read_whole() -> None:
    members = {
        "category": "text",
        "capabilities": ["summaries", "bullet points"],
        "confidence": 0.5,
        "version": "3",
        "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}},
        "timeout_seconds": 5,
        "expose_as_tool": True,
    }
    contents = {**running(**members), "prompt.md": b"Summarise: {{text}}\n"}
    skill = read(contents, "script.py", "words.txt", folder="summarize_text").skill
    assert (skill.name, skill.form, skill.tool_name) == ("summarize_text", "skill.json", "summarize_text")
    assert (skill.template, skill.entry) == ("Summarise: {{text}}", "script.py")
    assert (skill.timeout, skill.confidence, skill.exposed) == (5.0, 0.5, True)
    assert skill.capabilities == ("summaries", "bullet points")
    assert skill.input_schema == members["input_schema"]


@pytest.mark.parametrize(
    ("scripts", "entry"),
    [
        (["script.py", "other.py"], "script.py"),
        (["main.py"], "main.py"),
        (["a.py", "b.py"], ""),
        (["scripts/a.py"], ""),
    ],
)
def test_the_usual_script_is_found(scripts: list[str], entry: str) -> None:
    contents = {**running(), "prompt.md": b"x"}
    assert read(contents, *scripts, folder="summarize_text").skill.entry == entry


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"name": "Big"}, "'name' takes small letters"),
        ({"description": ""}, "'description' is missing"),
        ({"input_schema": {"type": "array"}}, "type is 'object'"),
        ({"entry": "gone.py"}, "'gone.py' is not there"),
        ({"entry": "skill.json"}, "neither a .py nor a .sh"),
        ({"timeout_seconds": 601}, "at most 600 seconds"),
        ({"timeout_seconds": True}, "takes a number above 0"),
        ({"confidence": 2}, "from 0 to 1"),
        ({"expose_as_tool": "yes"}, "takes true or false"),
        ({"capabilities": "one"}, "takes a list of texts"),
    ],
)
def test_a_wrong_skill_of_the_catalog_is_refused(members: dict[str, object], words: str) -> None:
    with pytest.raises(WrittenWrongly, match=r"skill\.json") as refused:
        read({**running(**members), "prompt.md": b"x"}, folder="summarize_text")
    assert words in str(refused.value)


def test_an_unknown_key_of_the_catalog_is_reported() -> None:
    reading = read({**running(nmae="x"), "prompt.md": b"x"}, folder="summarize_text")
    assert said(reading) == ["'nmae' of skill.json is no key of a skill and is left out."]


def test_a_skill_with_nothing_to_run_is_refused() -> None:
    with pytest.raises(WrittenWrongly, match="nothing to run"):
        read(running(), folder="summarize_text")


def test_json_with_a_key_twice_is_refused() -> None:
    with pytest.raises(WrittenWrongly, match="stands twice"):
        read({"skill.json": b'{"description": "a", "description": "b"}', "prompt.md": b"x"})


def test_both_files_make_one_skill() -> None:
    contents = {**markdown(body="Read me."), "skill.json": b'{"expose_as_tool": true}', "prompt.md": b"{{a}}"}
    skill = read(contents, "script.py").skill
    assert (skill.form, skill.instructions, skill.template) == ("SKILL.md", "Read me.", "{{a}}")
    assert skill.exposed
    assert skill.entry == "script.py"


def test_both_files_must_not_differ() -> None:
    with pytest.raises(WrittenWrongly, match="another name or description"):
        read({**markdown(), "skill.json": b'{"name": "other"}'})


def test_a_folder_without_either_file_is_no_skill() -> None:
    with pytest.raises(WrittenWrongly, match=r"no SKILL\.md and no skill\.json"):
        read_skill({}, ["README.md"])


def test_the_digest_is_that_of_what_was_read() -> None:
    def digest(body: str, *paths: str) -> str:
        return read(markdown(body=body), *paths).skill.digest

    assert digest("a") == digest("a", "references/more.md") != digest("b")


def test_only_trusted_skills_run() -> None:
    assert Skill(name="a", description="b", template="c").can_run
    assert not Skill(name="a", description="b", template="c", trusted=False).can_run
