"""Which commands only read, and which files they name."""

import pytest

from toolwright.shell import (
    analyse,
    is_destructive,
    is_read_only,
    paths_read,
    program_names,
    single_file_read,
)


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("pwd", ()),
        ("echo a > /dev/null 2>&1", ()),
        ("cat a b", ("a", "b")),
        ("grep -rn 'x y' src", ("src",)),
        ("grep -e x -e y f", ("x", "y", "f")),
        ("head -n 5 f", ("5", "f")),
        ("ls -la", ()),
        ("ls -la /etc | wc -l", ("/etc",)),
        ("find . -name '*.py' -type f", (".",)),
        ("find -newer ref", ("ref",)),
        ("sed -n 1,20p f", ("f",)),
        ("sed -n '$p' f", ("f",)),
        ("date +%s", ()),
        ("date -d '2 days ago'", ()),
        ("git status", ()),
        ("git --no-pager log -3 -- src/a", ("src/a",)),
        ("git show HEAD:a/b", ("HEAD:a/b", "a/b")),
        ("git branch -a", ()),
        ("git stash list", ()),
        ("[ -f a ]", ("a",)),
        ("test ! -d a", ("a",)),
        ("command -v rm", ()),
        ("wc -l < f", ("f",)),
        ("cd a && cat b", ("a", "b")),
        ("echo done $?", ()),
        ("sort -n f | uniq -c", ("f",)),
        ("which python3", ()),
        ("grep -- -f a", ("-f", "a")),
        ("head -- -c", ("-c",)),
    ],
)
def test_commands_that_only_read(command: str, files: tuple[str, ...]) -> None:
    assert paths_read(analyse(command)) == files


@pytest.mark.parametrize(
    "command",
    [
        "",
        "echo $HOME",
        "cat $f",
        "cat *.py",
        "ls {a,b}",
        "cat ~/x",
        "printf -v x y",
        "uniq a b",
        "sort -o a b",
        "sort -uoa b",
        "sort --outp=a b",
        "sort --compress=sh a",
        "tree -o x",
        "tree -P -- -o x",
        "tree -R -H . -L 1",
        "rg -e -- --pre=sh x",
        "rg -g -- -zx",
        "file -F -- -f list",
        "grep -e -- -flist x",
        "rg --pre=sh x",
        "rg -z x",
        "file -f list",
        "file --magic=x y",
        "find . -delete",
        "find . -exec a ;",
        "find . -fprintf f x",
        "find -L .",
        "grep -f list x",
        "grep -Rn x .",
        "sed -n 1,3w f",
        "sed s/a/b/ f",
        "sed -ni 1p f",
        "sed -n 1e f",
        "date 01010000",
        "date -s now",
        "date --set=now",
        "git diff --outpu=x",
        "git diff --no-index a b",
        "git log --exec=x",
        "git -C a status",
        "git -c a.b=c status",
        "git branch new",
        "git remote add a b",
        "git stash",
        "git grep -Ox y",
        "cd a && git status",
        "cd -",
        "cd $d",
        "[ $a -eq 1 ]",
        "[[ -v a ]]",
        "test -v 'a[$(b)]'",
        "env",
        "awk 1 f",
        "xargs cat",
        "A=1 cat f",
        "cat f > g",
        "cat f 3> g",
        "cat f >&-",
        "f() { cat a; }",
        "echo $((1))",
        "/bin/cat f",
        "./cat f",
        "md5sum -c sums",
        "diff -X list a b",
    ],
)
def test_commands_that_may_do_more(command: str) -> None:
    assert not is_read_only(analyse(command))


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("cat a", "a"),
        ("nl a", "a"),
        ("sed -n 1,5p a", "a"),
        ("grep x a", "a"),
        ("head -n 1 a", "a"),
        ("tail -n +5 a", "a"),
        ("head -c 10 a", "a"),
        ("grep -n -A 3 x a", "a"),
        ("rg -C 2 x a", "a"),
        ("grep -n 5 a", "a"),
        ("grep -n 5 a b", None),
        ("head -n 1 a b", None),
        ("cat a b", None),
        ("cat a | head", None),
        ("cat a > b", None),
        ("cat", None),
        ("cat -", None),
        ("cat $a", None),
        ("rm a", None),
        ("cat a &", None),
    ],
)
def test_printing_one_file_counts_as_reading_it(command: str, file: str | None) -> None:
    assert single_file_read(analyse(command)) == file


@pytest.mark.parametrize(
    "command",
    [
        "rm a",
        "sudo rm a",
        "bash -c 'rm a'",
        "git push --force",
        "git reset --hard",
        "find . -delete",
        "dd of=a",
        "mv -f a b",
        "psql -c 'DROP TABLE users'",
        'sqlite3 a.db "delete  from users"',
        "mysql -e 'truncate users'",
    ],
)
def test_what_cannot_be_undone_is_destructive(command: str) -> None:
    assert is_destructive(analyse(command))


def test_harmless_commands_are_not_destructive() -> None:
    commands = ("ls", "git push", "git status", "echo rm", "find . -name rm", "mkdir a", "mv a b")
    queries = ("psql -c 'select dropped from a'", "sqlite3 drop.db .tables", "echo drop table")
    assert not [command for command in (*commands, *queries) if is_destructive(analyse(command))]


@pytest.mark.parametrize(
    ("command", "warned"),
    [
        ("deploy", True),
        ("sudo /opt/deploy --now", True),
        ("make release", True),
        ("make release-notes", False),
        ("make", False),
        ("echo deploy", False),
    ],
)
def test_an_operator_may_name_more_commands_that_cannot_be_undone(command: str, warned: bool) -> None:
    assert is_destructive(analyse(command), ("deploy", "make release", " ")) is warned


def test_programs_are_named_in_order_without_repeats() -> None:
    assert program_names(analyse("b; a | b; $c; x=1; $(d)")) == ("b", "a", "d")
