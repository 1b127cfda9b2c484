"""What allows a command, what is never allowed automatically, and what is offered for next time."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.contracts.permissions import Behavior, Mode, RuleChange, RuleSet
from toolwright.tool_calls.permissions.commands import judge_command
from toolwright.tool_calls.permissions.path_rules import PathRules
from toolwright.tool_calls.permissions.rules import parse_rule
from toolwright.tool_calls.permissions.subject import CommandVerdict, Policy

CWD = "/home/ann/work"
HOME = "/home/ann"
NAMES = {"Bash": "bash", "Read": "read", "Edit": "edit"}


def judged(
    command: str,
    allow: tuple[str, ...] = (),
    *,
    ask: tuple[str, ...] = (),
    deny: tuple[str, ...] = (),
    mode: Mode = "default",
    policy: Policy | None = None,
) -> CommandVerdict:
    behaviors: dict[Behavior, tuple[str, ...]] = {"allow": allow, "ask": ask, "deny": deny}
    everything = {
        behavior: tuple(
            parse_rule(text, behavior=behavior, source="project", names=NAMES, base=CWD) for text in texts
        )
        for behavior, texts in behaviors.items()
    }
    rules = RuleSet(everything["allow"], everything["ask"], everything["deny"])
    found = policy or Policy(rules=rules, mode=mode, cwd=CWD, original_cwd=CWD, home=HOME, roots=(CWD,))
    shell = RuleSet(
        tuple(rule for rule in rules.allow if rule.tool == "bash"),
        tuple(rule for rule in rules.ask if rule.tool == "bash"),
        tuple(rule for rule in rules.deny if rule.tool == "bash"),
    )
    return judge_command(
        command, rules=shell, paths=PathRules(found), mode=mode, cwd=found.cwd, home=found.home
    )


@pytest.mark.parametrize(
    ("command", "allow"),
    [
        ("make", ("Bash(make *)",)),
        ("make a > /dev/null", ("Bash(make *)",)),
        ("make a | sort | uniq -c", ("Bash(make *)",)),
        ("make $A $(cat f) *.o", ("Bash(make *)",)),
        ("CI=1 LC_ALL=C make", ("Bash(make *)",)),
        ("PATH=/x make", ("Bash(PATH=/x make)",)),
        ("timeout 5 nice -n 3 make", ("Bash(make *)",)),
        ("ls | xargs make", ("Bash(make *)",)),
        ("./run a", ("Bash(./run *)",)),
        ('echo "a  b"', ('Bash(echo "a  b")',)),
        ('m"ake" all', ("Bash(make all)",)),
        ("bash build.sh", ("Bash(bash build.sh)",)),
        ("git commit -m 'a b'", ("Bash(git commit *)",)),
        ("cat /etc/hosts", ("Read(//etc/hosts)",)),
        ("cd /opt && ls", ("Read(//opt/**)",)),
        ("cat < /etc/hosts", ("Read(//etc/hosts)",)),
    ],
)
def test_rules_that_cover_a_command(command: str, allow: tuple[str, ...]) -> None:
    assert judged(command, allow).behavior == "allow"


@pytest.mark.parametrize(
    ("command", "allow"),
    [
        ("makefile", ("Bash(make *)",)),
        ("make ~/x", ("Bash(make *)",)),
        ("make {a,b}", ("Bash(make *)",)),
        ("make $(rm x)", ("Bash(make *)",)),
        ("make > out", ("Bash(make *)",)),
        ("/usr/bin/make", ("Bash(make *)",)),
        ("PATH=/x make", ("Bash(make *)",)),
        ("CI=$(x) make", ("Bash(make *)", "Bash(x)")),
        ("time PATH=/x make", ("Bash(make *)",)),
        ("time -o f make", ("Bash(make *)",)),
        ("ls | xargs -n1 make", ("Bash(make *)",)),
        ('git push "x --dry-run"', ("Bash(git * --dry-run)",)),
        ("make $A", ("Bash(make a)",)),
        ("bash build.sh", ("Bash(bash *)",)),
        ("echo a | bash", ("Bash(bash)",)),
        ("python -c 'x'", ("Bash(python *)",)),
        ("export A=b", ("Bash(export *)",)),
        ("for LD_PRELOAD in x; do make; done", ("Bash(make *)",)),
        ("make; A=b", ("Bash(make *)",)),
        ("cat link/../../x", ()),
        ("grep $ /etc/hosts", ()),
        ("cd a && cat ../../x", ()),
        ("cd $a && cat x", ("Bash(cd *)",)),
        ("cat /dev/tcp/h/1", ()),
        ("cat < /dev/tcp/h/1", ("Bash",)),
        ("cat a\u200b", ("Bash",)),
        ("make 'open", ("Bash",)),
        ("f() { make; }; f", ("Bash",)),
    ],
)
def test_rules_that_do_not_reach_far_enough(command: str, allow: tuple[str, ...]) -> None:
    assert judged(command, allow).behavior == "ask"


@pytest.mark.parametrize(
    ("command", "behavior", "forced"),
    [
        ("anything | at --all > out", "allow", False),
        ("A=1; b $c", "allow", False),
        ("$a b", "allow", False),
        ("rm -rf /", "ask", True),
        ("rm -rf ~", "ask", True),
        ('rm -rf "$HOME"', "ask", True),
        ("rm -rf $D/x", "ask", True),
        ("rm -rf ./*", "ask", True),
        ("sudo rm -rf ..", "ask", True),
        ("bash -c 'rm -rf /*'", "ask", True),
        ("time { rm -rf /; }", "ask", True),
        ("cd $a && rm -rf *", "ask", True),
        ("rm -rf build", "allow", False),
        ("echo a > .git/config", "ask", True),
        ("cp a .git/hooks/pre-commit", "ask", True),
        ("cp x/.envrc .", "ask", True),
        ("sh -c 'echo a >> ~/.bashrc'", "ask", True),
    ],
)
def test_rule_for_the_whole_shell(command: str, behavior: Behavior, *, forced: bool) -> None:
    verdict = judged(command, ("Bash",))
    assert (verdict.behavior, verdict.forced) == (behavior, forced)


@pytest.mark.parametrize(
    "command", ["$a b", "echo a | bash", 'eval "$a"', "source a", "echo 'a", "PS4=$a ls"]
)
def test_unknown_programs_are_asked_for_where_some_are_denied(command: str) -> None:
    verdict = judged(command, ("Bash",), deny=("Bash(rm *)",))
    assert (verdict.behavior, verdict.forced) == ("ask", True)


@pytest.mark.parametrize(
    "command",
    [
        "cat .env",
        "sort < .env",
        "cp .env x",
        "cd secrets && cat k",
        "git show HEAD:.env",
        "bash -c 'cat .env'",
        "cat ~/.ssh/key",
        "cat $HOME/.ssh/key",
        "tee infra/a",
        "rm infra/a",
        "sed -i s/a/b/ infra/a",
        "mv infra/a b",
        "echo a >> infra/b",
        "bash -c 'echo a > infra/b'",
        "true && true > infra/b",
        "cat secrets/*",
        "grep $ .env",
    ],
)
def test_denied_paths_are_denied_to_recognised_programs(command: str) -> None:
    deny = ("Read(.env)", "Read(./secrets/**)", "Read(~/.ssh/**)", "Edit(./infra/**)")
    assert judged(command, ("Bash",), deny=deny).behavior == "deny"


def test_pattern_of_grep_is_no_path() -> None:
    assert judged("grep .env README", deny=("Read(.env)",)).behavior == "allow"


def test_unknown_words_that_may_complete_an_ask_rule_are_asked_for() -> None:
    ask = ("Bash(git push *)",)
    assert [judged(command, ("Bash(git *)",), ask=ask).behavior for command in ("git $a", "git log $a")] == [
        "ask",
        "allow",
    ]


def test_unknown_operands_of_readers_are_asked_for_where_paths_are_denied() -> None:
    allow = ("Bash(cat *)",)
    assert judged("cat $f", allow).behavior == "allow"
    assert judged("cat $f", allow, deny=("Read(.env)",)).behavior == "ask"


def test_no_rule_reaches_through_a_link_out_of_the_workspace(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "secret").write_text("s")
    (work / "link").symlink_to(tmp_path)
    policy = Policy(
        cwd=str(work),
        original_cwd=str(work),
        home=HOME,
        roots=(str(work),),
        resolve=lambda path: (os.path.realpath(path),),
    )
    (work / "plain").write_text("p")
    commands = ("cat link/secret", "cat link/../secret", "cd link && cat secret", "cat plain")
    assert [judged(command, policy=policy).behavior for command in commands] == ["ask", "ask", "ask", "allow"]


@pytest.mark.parametrize(
    ("command", "behavior"),
    [
        ("mkdir -p a/b && touch a/b/c && mv a/b/c d && cp d e && rm -r a", "allow"),
        ("echo a > b", "allow"),
        ("sed -i -e s/a/b/g f", "allow"),
        ("sed -i s/a/id/e f", "ask"),
        ("sed -i 's/a/b/w /tmp/x' f", "ask"),
        ("mkdir ../a", "ask"),
        ("rm -r $a", "ask"),
        ("rm *.o", "ask"),
        ("cp -t /tmp a", "ask"),
        ("cp --target-directory=/tmp a", "ask"),
        ("mv a ~/b", "ask"),
        ("touch .git/x", "ask"),
        ("tee a", "ask"),
        ("cd $a && touch x", "ask"),
        ("cd /tmp && touch x", "ask"),
    ],
)
def test_edits_that_the_mode_accepts(command: str, behavior: Behavior) -> None:
    assert judged(command, mode="acceptEdits").behavior == behavior


@pytest.mark.parametrize(
    ("command", "behavior"),
    [("ls", "allow"), ("make", "ask"), ("ls > out", "ask"), ("ls > /dev/null", "allow"), ("A=1", "ask")],
)
def test_planning_only_reads(command: str, behavior: Behavior) -> None:
    verdict = judged(command, ("Bash", "Bash(make *)", "Edit(/**)"), mode="plan")
    assert (verdict.behavior, verdict.read_only) == (behavior, behavior == "allow")


@pytest.mark.parametrize(
    ("command", "rules"),
    [
        ("npm run test --watch", ("Bash(npm run test *)",)),
        ("git push origin main", ("Bash(git push *)",)),
        ("git fetch -p && make all", ("Bash(git fetch *)", "Bash(make all *)")),
        ("docker compose up -d", ("Bash(docker compose up *)",)),
        ("git fetch; git fetch -a", ("Bash(git fetch *)",)),
        ("rm -r a", ("Bash(rm -r a)",)),
        ("bash -c 'echo (a)'", ("Bash(bash -c 'echo \\(a\\)')",)),
        ("find src -name '*.o' -delete", ("Bash(find src -name '\\\\*.o' -delete)",)),
        ("cd /opt/x", ("Read(//opt/x/**)",)),
        ("cat /opt/x/f", ("Read(//opt/x/**)",)),
        ("make > out", ("Bash(make *)", f"Edit(/{CWD}/out)")),
        ("PATH=/x make", ("Bash(PATH=/x make)",)),
        ("a; b; c; d; e; f", ()),
        ("$a b", ()),
        ('bash -c "$a"', ()),
        ("make {fd}> x", ()),
        ("make 'open", ()),
    ],
)
def test_what_is_offered_for_next_time(command: str, rules: tuple[str, ...]) -> None:
    expected = (RuleChange("addRules", rules=rules),) if rules else ()
    assert judged(command).suggestions == expected


@pytest.mark.parametrize(
    "command",
    [
        "npm run test --watch",
        "rm -r 'a b'",
        "bash -c 'echo (a) * \\n'",
        "find src -name '*.o' -delete",
        "cd /opt/x && cat /etc/hosts && make > out",
        "PATH=/x make",
        "cd sub && make > out",
        "python -c 'print(\"*\")'",
    ],
)
def test_what_is_offered_covers_the_command(command: str) -> None:
    [change] = judged(command).suggestions
    assert judged(command, change.rules).behavior == "allow"


def test_verdict_names_every_part() -> None:
    verdict = judged("ls && make a && rm b", ("Bash(make *)",))
    assert [(unit.text, unit.behavior) for unit in verdict.units] == [
        ("ls", "allow"),
        ("make a", "allow"),
        ("rm b", "ask"),
    ]


def test_denial_names_its_rule() -> None:
    verdict = judged("ls; sudo rm x", deny=("Bash(rm *)",))
    assert verdict.reason.rule is not None
    assert (verdict.reason.kind, verdict.reason.rule.written) == ("rule", "Bash(rm *)")


PIECES = (
    "rm ",
    "sudo ",
    "env -S ",
    "bash -c ",
    "find . -exec ",
    "xargs ",
    "git -c alias.a=!",
    "sed -n ",
    "cp ",
    "dd if=",
    "[ ",
    "]",
    " -eq ",
    "printf -v ",
    "hash -p ",
    "for a in ",
    "case a in ",
    "su -c ",
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
    " ",
    ";",
    "&",
    "|",
    "<",
    ">",
    "#",
    "((",
    "a",
    "/",
    "..",
    "~/",
    "$HOME/",
    "=",
    "\ud800",
    "\x00",
    "\r",
    "*",
    "$'",
    "é",
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_any_text_is_judged_without_failing(command: str) -> None:
    verdict = judged(command, ("Bash",), ask=("Bash(git push *)",), deny=("Bash(rm *)", "Read(.env)"))
    assert verdict.behavior in {"allow", "ask", "deny"}
