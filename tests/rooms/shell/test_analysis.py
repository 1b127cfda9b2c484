"""Which commands are found in a text, with which words, and where they may run."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolwright.shell import analyse
from toolwright.shell.analysis import Walk, analysed
from toolwright.shell.units import Flag, Heredoc, Trails


def found(command: str) -> list[list[str | None]]:
    return [[word.text for word in unit.words] for unit in analysed(command).units]


@pytest.mark.parametrize(
    ("command", "units"),
    [
        ("a b && c | d; e &", [["a", "b"], ["c"], ["d"], ["e"]]),
        ("if a; then b; else c; fi", [["a"], ["b"], ["c"]]),
        ("case x in a|b) c d;; esac", [["c", "d"]]),
        ("f() { a b; }", [["a", "b"]]),
        ("echo $(a)", [["a"], ["echo", None]]),
        ("echo `a \\`b\\``", [["b"], ["a", None], ["echo", None]]),
        ('echo "`a \\"b c\\"`"', [["a", "b c"], ["echo", None]]),
        ("cat <<E\n`a` $(b (c))\nE", [["a"], ["cat"]]),
        ("cat <<E\n`a` $(b)\nE", [["a"], ["b"], ["cat"]]),
        ("cat <<-E\n\t$(a)\n\tE", [["a"], ["cat"]]),
        ("cat <<'E'\n$(a)\nE", [["cat"]]),
        ("python - <<E\na\nE", [["python", "-"]]),
        ("python - a <<E\na\nE", [["python", "-", "a"]]),
        ("cat <<E\nx \\$(a) \\`b\\`\nE", [["cat"]]),
        ('cat <<E\n$(echo ")"; a)\nE', [["echo", ")"], ["a"], ["cat"]]),
        ("r\\\nm x", [["rm", "x"]]),
        ("'r\\\nm' x", [["r\\\nm", "x"]]),
        ("echo ok #\\\nrm x", [["echo", "ok"], ["rm", "x"]]),
        ("echo a\\\\\nb", [["echo", "a\\"], ["b"]]),
        ("echo a > f b", [["echo", "a", "b"]]),
        ("export A=b", [["export", "A=b"]]),
        ("[ -f a ]", [["[", "-f", "a", "]"]]),
        ("diff <(a) >(b)", [["a"], ["b"], ["diff", None, None]]),
        ("x=$(a) b", [["a"], ["b"]]),
        ("grep $ a", [["grep", "$", "a"]]),
        ('a $"b" c', [["a", "b", "c"]]),
        ("{ a; }", [["a"]]),
        ("echo $`a \\`b\\``", [["b"], ["a", None], ["echo", None]]),
    ],
)
def test_every_command_anywhere_is_a_unit(command: str, units: list[list[str | None]]) -> None:
    assert found(command) == units


@pytest.mark.parametrize(
    "command",
    [
        "echo hi\n\\rm x",
        "npm test &&& rm x",
        "echo 'open",
        "time { rm x; }",
        "coproc N { rm x; }",
        "! ! rm x",
        "echo {fd}>x",
        "cat <<A <<B\na\nA\nb\nB\n",
        "if true; fi",
        "echo a\rb",
        "$[",
        "cat <<E\n$(a\nE",
        "echo a#\u00a0b",
        "x=$  rm x",
        "{rm,x} a\n }",
        'ls =="a"',
        "ls $=a",
    ],
)
def test_text_the_grammar_may_misread_is_not_trusted(command: str) -> None:
    assert not analysed(command).parsable


@pytest.mark.parametrize(
    ("command", "flag"),
    [
        ("f() { a; }", Flag.FUNCTION),
        ("echo $((1 + 1))", Flag.ARITHMETIC),
        ("((a++))", Flag.ARITHMETIC),
        ("echo ${x@P}", Flag.COMPLEX_EXPANSION),
        ("echo ${!x}", Flag.COMPLEX_EXPANSION),
        ("cat <<E\n${x:=a}\nE", Flag.COMPLEX_EXPANSION),
        ("for PATH in /tmp; do a; done", Flag.LOOP_VARIABLE),
        ("for http_proxy in h; do a; done", Flag.LOOP_VARIABLE),
        ("echo a\u200bb", Flag.CONTROL_CHARACTERS),
        ("echo a\u202eb", Flag.CONTROL_CHARACTERS),
        ("echo \x1b[2K", Flag.CONTROL_CHARACTERS),
        ("echo a\u2028b", Flag.CONTROL_CHARACTERS),
        ("true; " * 51, Flag.TOO_MANY_UNITS),
        ("echo " + "a" * 10_000, Flag.TOO_LONG),
    ],
)
def test_unusual_commands_are_flagged(command: str, flag: Flag) -> None:
    assert flag in analysed(command).flags


def test_ordinary_commands_are_not_flagged() -> None:
    command = "for f in a b; do echo $f ${f} \"$?\" 'ä' ; done\n\tcat <<E\n$HOME ${HOME}\nE\n"
    analysis = analysed(command)
    assert (analysis.parsable, analysis.flags) == (True, frozenset())


@pytest.mark.parametrize(
    ("command", "trails"),
    [
        ("cd a && x", {("a",)}),
        ("cd a; x", {(), ("a",)}),
        ("cd a || x", {()}),
        ("cd a || exit 1; x", {("a",)}),
        ("cd a || exit 1 2; x", {(), ("a",)}),
        ("cd a || return; x", {(), ("a",)}),
        ("(cd a); x", {()}),
        ("cd a | x", {()}),
        ("cd a & x", {()}),
        ("cd a && cd b && x", {("a", "b")}),
        ("cd && x", {("~",)}),
        ("if a; then cd b; fi; x", {(), ("b",)}),
        ("echo $(cd a); x", {()}),
        ("time cd a && x", {("a",)}),
        ("command -p builtin cd a && x", {("a",)}),
        ("command -v cd && x", {()}),
        ("command $a cd && x", None),
        ("cd - && x", None),
        ("cd $d && x", None),
        ("pushd a && x", None),
        ("while a; do x; cd b; done", None),
        ("f() { cd a; }; f; x", None),
        ("CDPATH=/s; cd a && x", None),
        ("eval 'cd a'; x", None),
    ],
)
def test_directories_a_command_may_run_in(command: str, trails: set[tuple[str, ...]] | None) -> None:
    [unit] = [unit for unit in analysed(command).units if unit.words and unit.words[0].text == "x"]
    expected: Trails = None if trails is None else frozenset(trails)
    assert unit.trails == expected


def test_redirect_of_a_list_counts_for_every_directory_of_the_list() -> None:
    [redirect] = analysed("cd a && b > f").group_redirects
    assert redirect.trails == frozenset({(), ("a",)})


def test_document_on_a_list_reaches_the_commands_in_it() -> None:
    analysis = analysed("{ true; bash; } <<E\nrm x\nE")
    assert [[item.heredoc for item in unit.redirects] for unit in analysis.units] == [
        [Heredoc("rm x\n", literal=True)],
        [Heredoc("rm x\n", literal=True)],
    ]


def test_commands_left_running_are_noticed() -> None:
    assert [analysed(command).background for command in ("a & b", "a; b", "(a &)", "echo '&'")] == [
        True,
        False,
        True,
        False,
    ]


def test_analysis_of_a_command_is_remembered() -> None:
    assert analyse("echo once") is analyse("echo once")


SHELL_TEXT = st.lists(
    st.sampled_from(
        [
            "'",
            '"',
            "`",
            "$(",
            "${",
            ")",
            "}",
            "\\",
            "\n",
            "<<E\n",
            "E\n",
            "<<-'E'",
            "a",
            " ",
            ";",
            "&",
            "|",
            "<",
            ">",
            "#",
            "((",
            "[[",
            "]]",
            "if ",
            "then ",
            "fi",
            "for x in ",
            "do ",
            "done",
            "case ",
            "esac",
            "{ ",
            "é",
            "\x00",
            "\ud800",
            "\r",
            "=",
            "*",
            "~",
            "$'",
            "<(",
            "1",
            "!",
            "function ",
            "\t",
            "export ",
        ]
    )
).map("".join)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.one_of(st.text(), SHELL_TEXT))
@example("cat <<E\n`\nE")
@example('"')
def test_any_text_is_analysed_without_failing(text: str) -> None:
    analysis = analysed(text)
    assert analysis.command == text


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "$(",
        "`",
        "<<a ",
        "echo a; ",
        "(",
        "'",
        "a\\\n",
        "'a\\\n",
        "{",
        "if ",
        "${x:-",
        '"$(',
        "\\",
        "rm ",
        "a && ",
    ],
)
def test_very_long_text_is_analysed_in_bounded_time(piece: str) -> None:
    text = (piece * 100_000)[:100_000]
    assert analysed(text).flags >= {Flag.TOO_LONG}
    assert Walk(text[:20_000]).run().text is not None
