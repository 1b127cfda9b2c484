"""What a command runs through wrappers and scripts."""

import pytest

from toolwright.shell import analyse, reach_of
from toolwright.shell.destructive import destructive
from toolwright.shell.exec_capable import exec_capable
from toolwright.shell.operands import operands_of
from toolwright.shell.reach import spellings


def reached(command: str) -> set[str]:
    return {text for _, texts in reach_of(command).spelled for text in texts}


@pytest.mark.parametrize(
    "command",
    [
        "timeout 5 rm x",
        "timeout -k 1 --signal KILL 5 rm x",
        "timeout --unknown 5 rm x",
        "time -p rm x",
        "time A=1 rm x",
        "nice rm x",
        "nice -n 5 rm x",
        "nice -5 rm x",
        "nohup rm x",
        "stdbuf -oL rm x",
        "command rm x",
        "command -p rm x",
        "builtin rm x",
        "exec -a n rm x",
        "env rm x",
        "env - rm x",
        "env -- - rm x",
        "env -i -u C A=b rm x",
        "env A[0]=1 rm x",
        "env -S 'rm x'",
        "env -S rm x",
        "env --split-string='rm x'",
        "sudo rm x",
        "sudo -u root -- rm x",
        "sudo -uroot A=b rm x",
        "doas -u a rm x",
        "ionice -c 2 rm x",
        "setsid -w rm x",
        "watch -n 1 rm x",
        "watch 'rm x'",
        "flock -n f rm x",
        "flock f -c 'rm x'",
        "strace -f rm x",
        "chroot / rm x",
        "unshare -r rm x",
        "busybox rm x",
        "taskset 1 rm x",
        "chrt -f 1 rm x",
        "caffeinate -i rm x",
        "coproc rm x",
        "coproc N rm x",
        "parallel rm x ::: a",
        "setpriv --nnp rm x",
        "find . -exec rm x ;",
        "find . -ok rm x + -print",
        "bash -c 'rm x'",
        "sh -ec 'rm x'",
        "bash -o errexit -c 'rm x'",
        "bash --norc -c 'rm x' a",
        "zsh -lc 'true; rm x'",
        "eval 'rm x'",
        "eval rm x",
        "eval -- rm x",
        "trap 'rm x' EXIT",
        "su -c 'rm x'",
        "su root --command='rm x'",
        "script -qc 'rm x'",
        "alias a='rm x'",
        "git -c alias.a='!rm x' a",
        "git -c core.pager='rm x' log",
        "git bisect run rm x",
        "git submodule foreach 'rm x'",
        "git rebase -x 'rm x' main",
        "bash <<< 'rm x'",
        "bash <<E\nrm x\nE",
        "bash -s <<'E'\nrm x\nE",
        "nohup nice env timeout 5 rm x",
        "bash -c 'bash -c \"rm x\"'",
        "bash -c 'echo `echo \\`rm x\\``'",
        "compgen -C 'rm x'",
        "eval bash <<< 'rm x'",
        "echo $`rm x`",
        "echo $`echo \\`rm x\\``",
        "GIT_PAGER='rm x' git log",
        "export GIT_EDITOR='rm x'; git commit",
        "env GIT_SSH_COMMAND='rm x' git pull",
        "GIT_CONFIG_VALUE_0='!rm x' git a",
    ],
)
def test_program_inside_is_found(command: str) -> None:
    assert any(text == "rm x" or text.startswith("rm x ") for text in reached(command))


@pytest.mark.parametrize(
    "command",
    [
        "$(a) x",
        "${a} x",
        "/bin/r? x",
        "{rm,x}",
        "~/x",
        "bash",
        "a | bash",
        "bash x.sh",
        'bash -c "$a"',
        "source a",
        ". a",
        'eval "$a"',
        "eval $(a)",
        "timeout $a rm",
        "env $a",
        "xargs -I{} {} a",
        "find . -exec {} ;",
        "bash <<E\n$a\nE",
        "echo ${a@P}",
        "[[ a[$b] -eq 1 ]] && echo $((a))",
        "sh -c \"echo $'a'\"",
        "a 'open",
        'trap "$a" EXIT',
        'su -c "$a"',
        "xargs bash -c",
        "xargs sh",
        "echo $`r\\${c}m x`",
        "time x='a[$(rm x)]'",
        "time test -v 'a[$(rm x)]'",
        "command test -v 'a[$(rm x)]'",
        "builtin printf -v 'a[$(rm x)]' b",
        "command declare 'a=b[$(rm x)]'",
        "env BASH_ENV=s bash -c a",
        "sudo LD_PRELOAD=s a",
        "env 'BASH_FUNC_a%%=() { rm x; }' bash -c a",
        "export BASH_ENV=s; bash -c a",
        "read BASH_ENV <<< s; bash -c a",
        "printf -v PS4 a; set -x",
        "for BASH_ENV in s; do bash -c a; done",
        "PAGER=$a git log",
    ],
)
def test_commands_whose_program_cannot_be_known(command: str) -> None:
    assert reach_of(command).opaque


@pytest.mark.parametrize(
    "command",
    [
        "echo $a",
        "rm $a",
        "bash -c 'rm x'",
        "env a b",
        "command -v a",
        "git log",
        "cat <<E\n$a\nE",
        "xargs rm",
        "export A=b",
        "read a b",
        "printf PS4",
        "env A=b c",
        "EDITOR='a --wait' git commit",
        "for A in b; do c; done",
    ],
)
def test_commands_whose_program_is_known(command: str) -> None:
    assert not reach_of(command).opaque


@pytest.mark.parametrize(
    "command", ["command -v rm", "echo rm x", "npm run rm", "git log rm", "find . -name rm"]
)
def test_words_that_name_no_program(command: str) -> None:
    assert not any(text.startswith("rm") for text in reached(command))


def test_spellings_of_a_program() -> None:
    [found] = reach_of('A=1  /bin/r"m"   x > f').programs
    assert set(spellings(found)) == {
        "/bin/rm x",
        "rm x",
        '/bin/r"m" x',
        'A=1 /bin/r"m" x > f',
        'A=1 /bin/r"m" x',
    }


def test_git_options_before_the_sub_command_do_not_hide_it() -> None:
    assert "git push" in reached("git -C . --no-pager -c a.b=c push")


def test_many_layers_leave_the_rest_to_the_coarse_scan() -> None:
    found = reach_of("env " * 30 + "rm x")
    assert (found.opaque, len(found.loose)) == (True, 1)


@pytest.mark.parametrize("wrapper", ["env -q ", "sudo -Z ", "parallel ", "xargs ", "find . -exec "])
def test_very_many_guesses_are_bounded(wrapper: str) -> None:
    assert len(reach_of((wrapper * 3000)[:9_900] + "x").programs) < 3000


@pytest.mark.parametrize(
    ("command", "capable"),
    [
        ("bash -c a", True),
        ("timeout 5 a", True),
        ("python -c a", True),
        ("python3.11 -Ic a", True),
        ("python a.py", False),
        ("python a.py -c b", False),
        ("python -m pytest", False),
        ("python", True),
        ("python - <<E\na\nE", True),
        ("node -e a", True),
        ("node --ev a", True),
        ("node a.js", False),
        ("perl -ne a", True),
        ("awk a", True),
        ("find . -exec a ;", True),
        ("find . -name a", False),
        ("git -c a=b c", True),
        ("git push", False),
        ("git bisect run a", True),
        ("git rebase --exec a", True),
        ("git clone ext::a", True),
        ("sed s/a/b/ f", False),
        ("sed s/a/b/e f", True),
        ("sed -n '1w f' g", True),
        ("tar --to-command=a", True),
        ("tar xf a", False),
        ("npx a", False),
        ("npm test", False),
        ("export A=b", True),
        ("rsync -e a b", True),
        ("make a", False),
        ("/usr/bin/bash a", True),
        ("su a", True),
    ],
)
def test_commands_that_can_run_anything(command: str, *, capable: bool) -> None:
    [unit] = analyse(command).units
    assert exec_capable(unit.words, unit.redirects) is capable


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("rm -rf a b", [("a", "delete"), ("b", "delete")]),
        ("cp a b", [("a", "read"), ("b", "write"), ("b/a", "write")]),
        ("mv a b/", [("a", "read"), ("a", "delete"), ("b/", "write"), ("b/a", "write")]),
        ("tee -a f", [("f", "write")]),
        ("sed -i s/a/b/ f", [("f", "read"), ("f", "write")]),
        ("dd if=a of=b", [("a", "read"), ("b", "write")]),
        ("sort -o a b", [("a", "read"), ("b", "read"), ("a", "write")]),
        ("uniq a b", [("a", "read"), ("b", "read"), ("b", "write")]),
        ("find a -delete", [("a", "read"), ("a", "delete")]),
        ("grep .env f", [("f", "read")]),
        ("npm a", []),
    ],
)
def test_files_a_program_reaches(command: str, files: list[tuple[str, str]]) -> None:
    [unit] = analyse(command).units
    assert [(operand.word.text, operand.access) for operand in operands_of(unit.words)] == files


def test_forced_deletion_of_a_branch_is_destructive() -> None:
    [unit] = analyse("git -C a branch -D b").units
    assert destructive(unit.words)
