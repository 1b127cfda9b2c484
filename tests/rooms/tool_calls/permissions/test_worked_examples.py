"""Eighty examples of what shell rules mean, each judged by the real entry point for decisions."""

from dataclasses import dataclass

import pytest

from toolwright.contracts.permissions import Behavior, Mode, Rule, RuleSet
from toolwright.contracts.tool import ToolSpec, Traits
from toolwright.tool_calls.permissions.decide import decide
from toolwright.tool_calls.permissions.rules import parse_rule
from toolwright.tool_calls.permissions.subject import Policy, Subject

CWD = "/home/ann/work"
HOME = "/home/ann"
NAMES = {"Bash": "bash", "Read": "read", "Edit": "edit"}
BASH = ToolSpec(name="bash", description="", input_schema={})

SETS: dict[str, dict[Behavior, tuple[str, ...]]] = {
    "N": {"allow": ("Bash(npm test *)", "Bash(npm run build)")},
    "R": {"allow": ("Bash(echo *)", "Bash(npm *)", "Bash(git *)"), "deny": ("Bash(rm *)",)},
    "P": {"allow": ("Bash(git *)",), "ask": ("Bash(git push *)",)},
    "S": {
        "allow": ("Bash(echo *)",),
        "deny": ("Read(./secrets/**)", "Read(.env)", "Edit(./infra/**)"),
    },
    "O": {"allow": ("Bash(echo *)", "Edit(/out/**)")},
    "-": {},
    "W": {
        "allow": (
            "Bash(bash *)",
            "Bash(sudo *)",
            "Bash(find *)",
            "Bash(timeout *)",
            "Bash(bash -c 'npm test')",
        )
    },
}


def policy(name: str, mode: Mode) -> Policy:
    def rules(behavior: Behavior) -> tuple[Rule, ...]:
        texts = SETS[name].get(behavior, ())
        return tuple(
            parse_rule(text, behavior=behavior, source="project", names=NAMES, base=CWD) for text in texts
        )

    return Policy(
        rules=RuleSet(rules("allow"), rules("ask"), rules("deny")),
        mode=mode,
        cwd=CWD,
        original_cwd=CWD,
        home=HOME,
        roots=(CWD,),
        bypass_available=True,
    )


@dataclass(frozen=True, slots=True)
class Row:
    number: int
    rules: str
    commands: tuple[str, ...]
    verdicts: tuple[Behavior, ...]
    mode: Mode = "default"


VERDICTS: dict[str, tuple[Behavior, ...]] = {
    "allow": ("allow",),
    "ask": ("ask",),
    "deny": ("deny",),
    "ask|deny": ("ask", "deny"),
}


def row(number: int, rules: str, verdict: str, *commands: str, mode: Mode = "default") -> Row:
    return Row(number, rules, commands, VERDICTS[verdict], mode)


ROWS = (
    row(1, "N", "allow", "npm test"),
    row(2, "N", "ask", "npm test && rm -rf build"),
    row(3, "N", "ask", "npm test; rm x", "npm test || rm x", "npm test & rm x", "npm test\nrm x"),
    row(4, "N", "ask", "npm test | tee log"),
    row(5, "N", "allow", "npm test |& cat"),
    row(6, "N", "allow", "(npm test)"),
    row(7, "N", "allow", "npm test # && rm x"),
    row(8, "R", "deny", "echo ok #\\\nrm x"),
    row(9, "R", "deny", "npm test && rm x"),
    row(10, "R", "deny", "cd a && rm -rf dist"),
    row(11, "R", "deny", "if true; then rm x; fi"),
    row(12, "R", "deny", "f() { rm x; }; f"),
    row(13, "R", "deny", 'for f in a b; do rm "$f"; done'),
    row(14, "R", "deny", "echo $(rm x)"),
    row(15, "R", "deny", "echo `rm x`"),
    row(16, "R", "deny", 'echo "$(rm x)"'),
    row(17, "R", "allow", "echo '$(rm x)'"),
    row(18, "R", "allow", 'echo "\\$(rm x)"'),
    row(19, "R", "deny", 'echo "${X:-$(rm x)}"'),
    row(20, "R", "deny", "diff <(cat a) <(rm b)"),
    row(21, "R", "deny", "npm test > >(rm x)"),
    row(22, "R", "deny", "FOO=$(rm x) npm test"),
    row(23, "R", "ask|deny", "$(echo rm) x"),
    row(24, "R", "ask", "echo ${x@P}"),
    row(25, "R", "deny", 'r"m" x', "\\rm x", "'rm' x", "$'\\x72m' x"),
    row(26, "R", "deny", "/bin/rm x", "../../bin/rm x"),
    row(27, "R", "deny", "r\\\nm x"),
    row(28, "R", "ask|deny", "{rm,-rf,x}", "/bin/r? x", "x=rm; $x y"),
    row(29, "R", "ask", "RM x", "rmdir x"),
    row(30, "R", "allow", "echo rm -rf x", "npm run rm", "command -v rm"),
    row(
        31,
        "R",
        "deny",
        "timeout 5 rm x",
        "nice rm x",
        "nohup rm x",
        "env rm x",
        "sudo -u root -- rm x",
        "exec rm x",
        "setsid rm x",
        "busybox rm x",
    ),
    row(32, "R", "deny", "env -S 'rm x'"),
    row(33, "R", "deny", "ls | xargs -n1 -I{} rm {}"),
    row(34, "R", "deny", "find . -exec rm {} \\;"),
    row(35, "R", "deny", 'bash -c "rm x"', "sh -c 'true; rm x'", 'eval "rm x"', "trap 'rm x' EXIT"),
    row(36, "R", "deny", "bash <<< 'rm x'", "bash <<EOF\nrm x\nEOF"),
    row(37, "R", "ask", "echo 'rm x' | bash", "source ./x.sh", "bash x.sh"),
    row(38, "R", "deny", "git -c alias.x='!rm -rf y' x"),
    row(39, "R", "deny", "cat <<EOF\n$(rm x)\nEOF"),
    row(40, "R", "allow", "cat <<'EOF'\n$(rm x)\nEOF"),
    row(
        41,
        "R",
        "deny",
        "cat <<EOF\n`rm x`\nEOF",
        "cat <<-EOF\n\t`rm x`\n\tEOF",
        "cat <<-EOF\n\t$(rm x)\n\tEOF",
    ),
    row(42, "R", "ask|deny", "[[ 'a[$(rm x)]' -eq 0 ]]", "printf -v 'a[$(rm x)]' y"),
    row(43, "R", "deny", "true; " * 60 + "rm x"),
    row(44, "R", "deny", "npm test &&& rm x"),
    row(45, "N", "ask", "npm test 'unterminated"),
    row(46, "N", "allow", "timeout 60 npm test", "nohup npm test", "time npm test"),
    row(47, "N", "allow", "NODE_ENV=test npm test"),
    row(
        48,
        "N",
        "ask",
        "PATH=/tmp:$PATH npm test",
        "LD_PRELOAD=x npm test",
        "NODE_OPTIONS=--require=/tmp/x.js npm test",
    ),
    row(49, "N", "ask", "env npm test", "sudo npm test", "npx npm test", "./npm test"),
    row(50, "N", "allow", 'npm test --grep "a; rm b"'),
    row(51, "N", "allow", "npm test $FILES", "npm test *.js"),
    row(52, "N", "ask", "npm test ${FILES:-all}"),
    row(53, "N", "ask", "X=1; npm test", "export PATH=/tmp; npm test", "alias npm=/tmp/x; npm test"),
    row(54, "N", "ask", "npm run builder"),
    row(55, "W", "allow", "bash -c 'npm test'"),
    row(56, "W", "ask", "bash -c 'npm test && id'", "sudo rm -rf /x", "timeout 5 curl http://h/x"),
    row(57, "W", "ask", "find . -delete", "find . -exec id {} \\;"),
    row(58, "-", "allow", "find . -name '*.py'"),
    row(59, "-", "ask", "find . -name *.py"),
    row(60, "-", "allow", "git status && git diff | head -5"),
    row(61, "-", "ask", "git diff --outpu=x", "git -C ../y status", "git -c core.pager=id log"),
    row(62, "-", "ask", "cd a && git status"),
    row(63, "-", "ask", "sort -uo out a", "sort --comp=sh a", "sed -i s/a/b/ f", "uniq a b"),
    row(64, "-", "ask", "cat /etc/passwd", "cat ~/.ssh/id_rsa", "echo /etc/shadow | xargs cat"),
    row(
        65,
        "P",
        "ask",
        "git push",
        "cd a && git push",
        "git -C . push",
        "timeout 9 git push",
        'g""it push',
    ),
    row(
        66,
        "S",
        "deny",
        "cat src/../secrets/k",
        "head .env",
        "cat packages/.env",
        "cd secrets && cat k",
    ),
    row(67, "S", "deny", "echo x > infra/main.tf"),
    row(68, "S", "deny", "while read l; do echo $l; done < .env"),
    row(69, "O", "allow", "echo hi > out/a", 'echo hi >> "out/a b"'),
    row(
        70,
        "O",
        "ask",
        "echo hi > out/../src/x",
        "echo hi > ~/.bashrc",
        "echo hi > $F",
        "echo hi 3> src/x",
        "echo hi >& src/x",
    ),
    row(71, "O", "ask", "echo hi > .git/hooks/pre-commit", mode="acceptEdits"),
    row(72, "R", "deny", "rm x", mode="bypassPermissions"),
    row(73, "-", "ask", "rm -rf /", "rm -rf ~", 'rm -rf "$D"/*', mode="bypassPermissions"),
    row(74, "-", "deny", "touch x", mode="dontAsk"),
    row(75, "N", "ask", "npm test", mode="plan"),
    row(76, "-", "allow", "mkdir -p src/n", "sed -i 's/a/b/' src/f", mode="acceptEdits"),
    row(77, "-", "ask", "rm -rf ..", "cp .env ~/x", "rm -rf $X", mode="acceptEdits"),
    row(
        78,
        "N",
        "ask",
        "npm test\u200b",
        "npm\u200b test",
        "npm test \u202ea",
        "npm test\r",
        "npm test \x1b[2K",
    ),
    row(79, "N", "ask", "n\u0440m test"),
    row(80, "R", "deny", "echo hi\n\\rm x"),
)

CASES = [
    pytest.param(found, command, id=f"{found.number}-{place}")
    for found in ROWS
    for place, command in enumerate(found.commands)
]


@pytest.mark.parametrize(("found", "command"), CASES)
def test_verdict_of_a_worked_example(found: Row, command: str) -> None:
    call = {"command": command}
    subject = Subject(
        spec=BASH, offered_name="Bash", input=call, raw_input=call, traits=Traits(command=command)
    )
    decision = decide(policy(found.rules, found.mode), subject)
    assert decision.behavior in found.verdicts, decision.reason


def test_all_eighty_examples_are_here() -> None:
    assert [found.number for found in ROWS] == list(range(1, 81))
