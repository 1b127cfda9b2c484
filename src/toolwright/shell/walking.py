"""Commands that print what is in files without naming the files: walks, and histories of a repository."""

from toolwright.shell.units import Word
from toolwright.shell.wrappers import program_name

_WALKERS = frozenset({
    "rg", "ag", "ack", "tar", "zip", "rsync",
})  # fmt: skip
"""Programs that go down into directories by themselves."""
_WALKING_OPTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep"), ("rRd", ("--recursive", "--dereference-recursive",
                                                                "--directories"))),
    "cp": ("rRa", ("--recursive", "--archive")),
}  # fmt: skip
"""Letters and long options, in any abbreviation, with which a program does so."""
_FOLDERS = frozenset({
    "diff", "mv",
})  # fmt: skip
"""Programs that take a directory for all that is in it."""
_NAMES_ONLY = frozenset({
    "status", "rev-parse", "ls-files", "ls-tree", "describe", "shortlog", "merge-base", "for-each-ref",
    "name-rev", "branch", "remote", "add", "commit", "push", "pull", "fetch", "tag", "init", "clone",
    "checkout", "switch", "restore", "reset", "merge", "rebase", "cherry-pick", "mv", "rm", "log",
})  # fmt: skip
"""Git's sub-commands that tell names, messages and numbers, not what is in files."""
_WITH_PATCHES: dict[str, str] = {
    "log": "puULcW", "status": "vp", "commit": "vp", "add": "pie", "checkout": "p", "restore": "p",
    "reset": "p",
}  # fmt: skip
"""Those of them that print files after all with one of these letters, or with a long option below."""
_LONG_PATCHES = (
    "--patch", "--patch-with-stat", "--patch-with-raw", "--unified", "--cc", "--word-diff",
    "--word-diff-regex", "--color-words", "--function-context", "--binary", "--remerge-diff",
    "--diff-merges", "--dd", "--verbose", "--interactive", "--edit", "--inter-hunk-context",
)  # fmt: skip


def reads_unnamed(words: tuple[Word, ...]) -> bool:
    """Whether a command may print files that none of its words names. Says yes rather than no."""
    name = program_name(words)
    if name == "git":
        return _tells_contents(words)
    if name in _WALKERS or name in _FOLDERS:
        return True
    letters, long = _WALKING_OPTIONS.get(name, ("", ()))
    return any(_walks(word.shape, letters, long) for word in words[1:])


def _walks(text: str, letters: str, long: tuple[str, ...]) -> bool:
    if text.startswith("--"):
        given = text.partition("=")[0]
        return len(given) > 2 and any(option.startswith(given) for option in long)
    return text.startswith("-") and any(letter in letters for letter in text[1:])


def _tells_contents(words: tuple[Word, ...]) -> bool:
    rest = [word.shape for word in words[1:]]
    while rest and rest[0] == "--no-pager":
        del rest[0]
    if not rest or rest[0].startswith("-"):
        return True
    if rest[0] not in _NAMES_ONLY:
        return True
    letters = _WITH_PATCHES.get(rest[0], "")
    return bool(letters) and any(_walks(text, letters, _LONG_PATCHES) for text in rest[1:])
