"""Places that need a person: what is never written by a rule, and what is never removed by one."""

from collections.abc import Iterable

from toolwright.tool_calls.permissions.path_patterns import climbed, path_key

_DIRECTORIES = frozenset({
    ".git", ".vscode", ".idea", ".husky", ".cargo", ".devcontainer", ".yarn", ".mvn", ".toolwright",
})  # fmt: skip
_FILES = frozenset({
    ".gitconfig", ".gitmodules", ".envrc", ".npmrc", ".bazelrc", ".pre-commit-config.yaml",
    "gradle-wrapper.properties", "maven-wrapper.properties", ".ripgreprc", ".mcp.json",
    # files that shells read when they start or end
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".inputrc",
    ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc",
    ".login", ".logout", "config.fish", ".pam_environment",
})  # fmt: skip
_FILE_STARTS = (".yarnrc", "lefthook.", ".lefthook.")
_WITH_SKILLS = frozenset({".agents", ".claude"})
_UNDER_CONFIG = frozenset({"git", "toolwright"})


def is_protected(path: str) -> bool:
    """Return whether a write to this absolute path needs a person, in whatever case it is written."""
    segments = [segment for segment in path_key(path, case_folds=True).split("/") if segment]
    followed = zip(segments, [*segments, ""][1:], strict=True)
    if any(_guards(segment, following) for segment, following in followed):
        return True
    name = segments[-1] if segments else ""
    return name in _FILES or name.startswith(_FILE_STARTS)


def _guards(segment: str, following: str) -> bool:
    if segment == ".config":
        return following in _UNDER_CONFIG
    if segment == ".toolwright":
        return following != "worktrees"
    if segment in _WITH_SKILLS:
        return following == "skills"
    return segment in _DIRECTORIES


def is_critical(path: str, *, kept: Iterable[str]) -> bool:
    """Return whether removing this absolute path, or all in it (``path/*``), is never approved automatically.

    ``kept`` are directories that must stay, with all their parents: home, working directories, roots.
    """
    place = path.rstrip("/")
    for everything in ("/*", "/**", "/.*"):
        place = place.removesuffix(everything)
    if place.count("/") <= 1:
        return True
    return any(keep == place or keep.startswith(f"{place}/") for keep in kept)


def lasting_places(home: str, working: Iterable[str], roots: Iterable[str]) -> tuple[str, ...]:
    """Return the directories that must stay, each without a trailing slash."""
    return tuple(dict.fromkeys(climbed(place, 0) for place in (home, *working, *roots)))
