"""Commands that cannot be undone, for the warning a person sees and for what is never saved broadly."""

import re
from collections.abc import Sequence

from toolwright.shell.scripts import without_git_options
from toolwright.shell.units import Word
from toolwright.shell.wrappers import program_name

_PROGRAMS = frozenset({
    "rm", "rmdir", "unlink", "shred", "dd", "mkfs", "fdisk", "parted", "wipefs", "truncate", "kill",
    "killall", "pkill", "shutdown", "reboot", "halt", "poweroff", "userdel", "groupdel", "crontab",
    "iptables", "mkswap",
})  # fmt: skip
_FIND_REMOVES = frozenset({
    "-delete", "-exec", "-execdir", "-ok", "-okdir",
})  # fmt: skip
_GIT: dict[str, re.Pattern[str]] = {
    "push": re.compile(r"-f|--force.*|--delete|-d|--mirror|--prune|\+.*|:.+"),
    "reset": re.compile(r"--hard|--merge|--keep"),
    "clean": re.compile(r".*"),
    "checkout": re.compile(r"--|-f|--force|\."),
    "restore": re.compile(r".*"),
    "branch": re.compile(r"-D|-d|--delete|-f|--force|-M"),
    "tag": re.compile(r"-d|--delete|-f|--force"),
    "stash": re.compile(r"drop|clear"),
    "rebase": re.compile(r".*"),
    "filter-branch": re.compile(r".*"),
    "gc": re.compile(r"--prune.*"),
    "reflog": re.compile(r"expire|delete"),
    "worktree": re.compile(r"remove"),
    "rm": re.compile(r".*"),
}
_BY_SUBCOMMAND: dict[str, frozenset[str]] = {
    "docker": frozenset({"rm", "rmi", "prune", "kill"}),
    "podman": frozenset({"rm", "rmi", "prune", "kill"}),
    "kubectl": frozenset({"delete", "drain"}),
    "terraform": frozenset({"destroy", "apply"}),
    "tofu": frozenset({"destroy", "apply"}),
    "npm": frozenset({"unpublish", "publish"}),
    "helm": frozenset({"uninstall", "delete"}),
    "dropdb": frozenset(),
}
_DATABASES = frozenset({"psql", "mysql", "mariadb", "sqlite3", "duckdb", "sqlcmd", "clickhouse-client"})
_SQL_REMOVES = re.compile(r"\b(?:drop|truncate|delete\s+from)\s+\w", re.IGNORECASE)


def destructive(words: tuple[Word, ...], also: Sequence[str] = ()) -> bool:
    """Whether the command may destroy something that nothing can bring back.

    ``also`` adds commands to the list: a program, or a program and the words that follow it.
    """
    name = program_name(words)
    return _listed(name, words) or any(_is_one(name, words, command.split()) for command in also)


def _is_one(name: str, words: tuple[Word, ...], command: list[str]) -> bool:
    following = [word.text for word in words[1 : len(command)]]
    return bool(command) and [name, *following] == command


def _listed(name: str, words: tuple[Word, ...]) -> bool:
    if name in _PROGRAMS or name.startswith("mkfs."):
        return True
    if name == "find":
        return any(word.text in _FIND_REMOVES for word in words[1:])
    if name == "mv":
        return any(word.text in {"-f", "--force"} for word in words[1:])
    if name in _DATABASES:
        return any(_SQL_REMOVES.search(word.spelled) for word in words[1:])
    if name == "git":
        bare = without_git_options(words)
        pattern = _GIT.get(bare[1].text or "") if len(bare) > 1 else None
        arguments = [word.spelled for word in bare[2:]] or [""]
        return pattern is not None and any(pattern.fullmatch(argument) for argument in arguments)
    wanted = _BY_SUBCOMMAND.get(name)
    return wanted is not None and (not wanted or any(word.text in wanted for word in words[1:3]))
