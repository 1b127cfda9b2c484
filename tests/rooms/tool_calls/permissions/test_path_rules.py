"""Paths: what patterns match, where they are anchored, and how links and spellings count."""

import os
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.contracts.mounts import Mount
from toolwright.contracts.permissions import Behavior, Rule, RuleSet, RuleSource
from toolwright.contracts.tool import Access
from toolwright.tool_calls.permissions.path_patterns import escaped
from toolwright.tool_calls.permissions.path_rules import PathRules
from toolwright.tool_calls.permissions.rules import parse_rule
from toolwright.tool_calls.permissions.subject import PathJudge, Policy

CWD = "/work/app"
WRITING: tuple[Access, ...] = ("write", "create", "delete")


def rule(text: str, behavior: Behavior, source: RuleSource = "user", base: str = "/conf") -> Rule:
    return parse_rule(text, behavior=behavior, source=source, names={}, base=base)


def paths(
    *,
    allow: tuple[str, ...] = (),
    ask: tuple[str, ...] = (),
    deny: tuple[str, ...] = (),
    links: Mapping[str, tuple[str, ...]] | None = None,
    private_prefix: bool = False,
    **policy: object,
) -> PathRules:
    rules = RuleSet(
        tuple(rule(text, "allow") for text in allow),
        tuple(rule(text, "ask") for text in ask),
        tuple(rule(text, "deny") for text in deny),
    )
    settings: dict[str, Any] = {
        "cwd": CWD,
        "original_cwd": CWD,
        "home": "/home/ann",
        "roots": (CWD,),
    } | policy
    made = Policy(rules=rules, resolve=following(links or {}), **settings)
    return PathRules(made, private_prefix=private_prefix)


def following(links: Mapping[str, tuple[str, ...]]) -> Callable[[str], tuple[str, ...]]:
    def resolve(path: str) -> tuple[str, ...]:
        for link, places in links.items():
            if path == link or path.startswith(f"{link}/"):
                return tuple(place + path[len(link) :] for place in places)
        return (path,)

    return resolve


def test_it_fits_the_port() -> None:
    judge: PathJudge = paths()
    assert judge.inside(CWD)


MATCHES = [
    # pattern, path, denied, allowed
    (".env", f"{CWD}/.env", True, True),
    (".env", f"{CWD}/pkg/a/.env", True, True),
    (".env", f"{CWD}/.env.local", False, False),
    (".env", "/work/.env", False, False),
    ("**/.env", f"{CWD}/.env", True, True),
    ("**/.env", f"{CWD}/a/b/.env", True, True),
    ("*.key", f"{CWD}/a/b.key", True, True),
    ("*.key", f"{CWD}/a/b.keys", False, False),
    ("./.env", f"{CWD}/.env", True, True),
    ("./.env", f"{CWD}/a/.env", True, False),
    ("src/*.py", f"{CWD}/src/a.py", True, True),
    ("src/*.py", f"{CWD}/src/b/a.py", False, False),
    ("src/*.py", f"{CWD}/x/src/a.py", False, False),
    ("src/**/*.py", f"{CWD}/src/a.py", True, True),
    ("src/**/*.py", f"{CWD}/src/b/c/a.py", True, True),
    ("src/**/t/*.py", f"{CWD}/src/b/t/c/t/a.py", True, True),
    ("a/**/b/**/c", f"{CWD}/a/x/b/y/z/c", True, True),
    ("a/**/b/**/c", f"{CWD}/a/x/bb/y/z/c", False, False),
    ("a?c", f"{CWD}/abc", True, True),
    ("a?c", f"{CWD}/a/c", False, False),
    ("x/[ab].py", f"{CWD}/x/a.py", True, True),
    ("x/[!ab].py", f"{CWD}/x/a.py", False, False),
    ("x/[!ab].py", f"{CWD}/x/c.py", True, True),
    ("x/[ab", f"{CWD}/x/[ab", True, True),
    ("x[/]y", f"{CWD}/x/y", False, False),
    (r"x/\*", f"{CWD}/x/*", True, True),
    (r"x/\*", f"{CWD}/x/a", False, False),
    ("x/a*b*c*d", f"{CWD}/x/a1b2c3d", True, True),
    ("x/a*b*c*d", f"{CWD}/x/a1b2d3c", False, False),
    # dir/** with one literal segment: anywhere for deny, here for allow
    ("secrets/**", f"{CWD}/secrets/k", True, True),
    ("secrets/**", f"{CWD}/pkg/secrets/k", True, False),
    ("./secrets/**", f"{CWD}/pkg/secrets/k", True, False),
    ("secrets/", f"{CWD}/secrets/k", True, True),
    ("pkg/secrets/**", f"{CWD}/x/pkg/secrets/k", False, False),
    ("/secrets/**", f"{CWD}/pkg/secrets/k", False, False),
    # x/** also matches x
    ("secrets/**", f"{CWD}/secrets", True, True),
    ("//etc/**", "/etc", True, True),
    ("**", CWD, True, True),
    ("**", f"{CWD}/a/b", True, True),
    ("**", "/work", False, False),
    (".", f"{CWD}/a/b", True, True),
    # denying a directory denies what is in it; allowing a name allows the name only
    ("pkg/private", f"{CWD}/pkg/private/k", True, False),
    # anchors
    ("//etc/passwd", "/etc/passwd", True, True),
    ("//etc/passwd", f"{CWD}/etc/passwd", False, False),
    ("//**", "/any/thing", True, True),
    ("//", "/any/thing", True, True),
    ("//**", "/", True, True),
    ("~/.ssh/**", "/home/ann/.ssh/id", True, True),
    ("~/.ssh/**", "/home/bob/.ssh/id", False, False),
    ("~", "/home/ann/x", True, True),
    ("/x/*.md", "/conf/x/a.md", True, True),
    ("/x/*.md", f"{CWD}/x/a.md", False, False),
    ("/.env", "/conf/.env", True, True),
    ("/.env", "/conf/a/.env", False, False),
    ("../other/**", "/work/other/f", True, True),
    ("./a/./b/../c", f"{CWD}/a/c", True, True),
    ("a//b", f"{CWD}/a/b", True, True),
    (r"C:\data\**", "/c/data/f", True, True),
    # never by mere prefix
    ("//etc", "/etcetera", False, False),
    ("src/**", f"{CWD}/srcs/x", False, False),
]


@pytest.mark.parametrize(("pattern", "path", "denied", "allowed"), MATCHES)
def test_patterns(pattern: str, path: str, denied: bool, allowed: bool) -> None:
    text = f"Read({pattern})"
    base = CWD if pattern == "/secrets/**" else "/conf"
    deny, allow = rule(text, "deny", base=base), rule(text, "allow", base=base)
    policy = Policy(rules=RuleSet(deny=(deny,)), cwd=CWD, original_cwd=CWD, home="/home/ann")
    assert (PathRules(policy).denied(path, "read") is not None) is denied
    policy = Policy(rules=RuleSet(allow=(allow,)), cwd=CWD, original_cwd=CWD, home="/home/ann")
    assert (PathRules(policy).allowed(path, "read") is not None) is allowed


def test_a_slash_without_a_source_directory_means_the_start() -> None:
    made = Policy(rules=RuleSet(deny=(rule("Read(/x)", "deny", base=""),)), cwd="/else", original_cwd=CWD)
    assert PathRules(made).denied(f"{CWD}/x", "read")


def test_patterns_stay_anchored_where_the_session_started() -> None:
    judge = paths(deny=("Read(./secrets/**)",), cwd=f"{CWD}/deep")
    assert judge.denied(f"{CWD}/secrets/k", "read")
    assert not judge.denied("/elsewhere/secrets/k", "read")


def test_unicode_spellings_are_the_same_path() -> None:
    judge = paths(deny=("Read(caf\u00e9)",))
    assert judge.denied(f"{CWD}/cafe\u0301", "read")


def test_case_counts_only_where_the_file_system_says_so() -> None:
    assert not paths(deny=("Read(.env)",)).denied(f"{CWD}/.ENV", "read")
    assert paths(deny=("Read(.env)",), case_folds=True).denied(f"{CWD}/.ENV", "read")
    assert paths(deny=("Read(Secret[A-C])",), case_folds=True).denied(f"{CWD}/secretb", "read")
    assert paths(roots=("/Work",), case_folds=True).inside("/work/x")


def test_private_directories_of_macos_are_the_plain_ones() -> None:
    judge = paths(deny=("Read(//etc/**)", "Read(//private/tmp/x)"), private_prefix=True)
    assert judge.denied("/private/etc/passwd", "read")
    assert judge.denied("/tmp/x", "read")
    assert not paths(deny=("Read(//etc/**)",)).denied("/private/etc/passwd", "read")


def test_denying_needs_one_spelling_and_allowing_all() -> None:
    links = {f"{CWD}/link": ("/hop/one", "/data/real")}
    assert paths(deny=("Read(//data/**)",), links=links).denied(f"{CWD}/link/k", "read")
    assert paths(deny=("Read(//hop/**)",), links=links).denied(f"{CWD}/link/k", "read")
    assert paths(ask=("Read(link/**)",), links=links).asked(f"{CWD}/link/k", "read")
    assert not paths(allow=("Edit(link/**)",), links=links).allowed(f"{CWD}/link/k", "write")
    every = ("Edit(link/**)", "Edit(//hop/**)", "Edit(//data/**)")
    allowed = paths(allow=every, links=links).allowed(f"{CWD}/link/k", "write")
    assert allowed is not None
    assert allowed.written == "Edit(//data/**)"


def test_reading_through_a_link_in_the_workspace_needs_a_rule_for_the_target_only() -> None:
    links = {f"{CWD}/link": ("/data/real",)}
    assert paths(allow=("Read(//data/**)",), links=links).allowed(f"{CWD}/link/k", "read")
    assert not paths(allow=("Edit(//data/**)",), links=links).allowed(f"{CWD}/link/k", "write")


def test_a_refused_link_is_refused_under_its_target_too() -> None:
    judge = paths(deny=("Read(pkg/secrets/**)",), links={f"{CWD}/pkg/secrets": ("/data/s",)})
    assert judge.denied("/data/s/k", "read")
    allowing = paths(allow=("Read(pkg/secrets/**)",), links={f"{CWD}/pkg/secrets": ("/data/s",)})
    assert not allowing.allowed("/data/s/k", "read")


def test_a_start_reached_through_a_link_anchors_both_spellings() -> None:
    links = {"/work": ("/mnt/w",)}
    judge = paths(allow=("Edit(src/**)",), deny=("Read(.env)",), links=links)
    assert judge.allowed(f"{CWD}/src/a", "write")
    assert judge.denied("/mnt/w/app/x/.env", "read")
    assert judge.inside(f"{CWD}/src/a")


@pytest.mark.parametrize("access", WRITING)
def test_reading_rules_and_editing_rules_speak_to_each_other(access: Access) -> None:
    judge = paths(deny=("Read(r)",), ask=("Read(s)",), allow=("Edit(//out/**)", "Read(//in/**)"))
    assert judge.denied(f"{CWD}/r", access)
    assert judge.asked(f"{CWD}/s", access)
    assert judge.allowed("/out/x", access)
    assert judge.allowed("/out/x", "read")
    assert not judge.allowed("/in/x", access)
    assert judge.allowed("/in/x", "read")
    assert not paths(deny=("Edit(e)",)).denied(f"{CWD}/e", "read")
    assert paths(deny=("Edit(e)",)).denied(f"{CWD}/e", access)


def test_bare_rules_are_not_rules_about_paths() -> None:
    judge = paths(allow=("Edit",), deny=("Read",))
    assert not judge.allowed("/x", "write")
    assert not judge.denied("/x", "read")


def test_inside_and_readable() -> None:
    links = {f"{CWD}/out": ("/etc",)}
    judge = paths(roots=(CWD, "/extra"), readable=("/stored",), links=links)
    assert [
        judge.inside(path) for path in (CWD, f"{CWD}/a", "/extra/b", "/work", "/work/apple", f"{CWD}/out/x")
    ] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]
    assert judge.readable("/stored/r.txt")
    assert not judge.inside("/stored/r.txt")


PROTECTED = [
    ".git",
    ".git/hooks/pre-commit",
    "sub/.git/config",
    ".GIT/config",
    ".config/git/config",
    ".config/toolwright/settings.json",
    ".vscode/tasks.json",
    ".idea/x",
    ".husky/pre-push",
    ".cargo/config.toml",
    ".devcontainer/devcontainer.json",
    ".yarn/releases/x.cjs",
    ".mvn/jvm.config",
    ".toolwright/settings.json",
    ".toolwright/worktrees/a/.git",
    ".toolwright/worktrees/a/.toolwright/settings.json",
    ".gitconfig",
    ".gitmodules",
    ".bashrc",
    ".zshenv",
    ".profile",
    ".envrc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".bazelrc",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    "gradle/wrapper/gradle-wrapper.properties",
    ".ripgreprc",
    ".mcp.json",
]
PLAIN = [
    "src/a.py",
    ".gitignore",
    ".github/workflows/x.yml",
    ".toolwright/worktrees/a/src/x",
    ".config/app",
    "git/x",
]


@pytest.mark.parametrize(("name", "expected"), [(n, True) for n in PROTECTED] + [(n, False) for n in PLAIN])
def test_protected_places(name: str, expected: bool) -> None:
    assert paths().protected(f"{CWD}/{name}") is expected


def test_a_link_to_a_protected_place_is_protected() -> None:
    assert paths(links={f"{CWD}/h": (f"{CWD}/.git/hooks",)}).protected(f"{CWD}/h/pre-commit")


CRITICAL = [
    "/",
    "/*",
    "/usr",
    "/etc/",
    "/etc/*",
    "/home/ann",
    "/home",
    "/home/ann/*",
    CWD,
    "/work",
    f"{CWD}/*",
    "/extra/d/*",
]
REMOVABLE = [f"{CWD}/dist", f"{CWD}/dist/*", "/home/ann/x", "/usr/lib", "/extra/d/x"]


@pytest.mark.parametrize(
    ("path", "expected"), [(p, True) for p in CRITICAL] + [(p, False) for p in REMOVABLE]
)
def test_critical_removals(path: str, expected: bool) -> None:
    assert paths(roots=(CWD, "/extra/d")).critical(path) is expected


def test_a_link_to_a_critical_place_is_critical() -> None:
    assert paths(links={f"{CWD}/l": ("/home/ann",)}).critical(f"{CWD}/l")


NAME = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(st.lists(NAME.filter(lambda name: name not in {".", ".."}), min_size=1, max_size=4))
def test_an_escaped_path_matches_itself_and_nothing_near(names: list[str]) -> None:
    path = "/" + "/".join(names)
    judge = paths(allow=(), deny=())
    made = Rule("edit", "/" + escaped(path), "allow", "session", "")
    judge = PathRules(Policy(rules=RuleSet(allow=(made,)), cwd=CWD, original_cwd=CWD))
    assert judge.allowed(path, "write")
    assert not judge.allowed(path + "x", "write")
    assert not judge.allowed(f"{path}/x", "write")


def test_hostile_patterns_come_to_an_end() -> None:
    judge = paths(deny=(f"Read({'a*' * 60}b)", f"Read({'**/a*/' * 30}b)", f"Read({'*a' * 60}*b)"))
    path = f"{CWD}/" + "/".join(["a" * 200] * 20)
    assert not judge.denied(path, "read")


def test_real_links_are_followed(tmp_path_factory: pytest.TempPathFactory) -> None:
    here = tmp_path_factory.mktemp("ws")
    (here / "secrets").mkdir()
    (here / "door").symlink_to(here / "secrets")
    made = Policy(
        rules=RuleSet(deny=(rule("Read(secrets/**)", "deny"),)),
        cwd=str(here),
        original_cwd=str(here),
        resolve=lambda path: (os.path.realpath(path),),
    )
    assert PathRules(made).denied(str(here / "door" / "k"), "read")


def test_mounts_are_read_freely_and_those_that_are_writable_are_as_roots() -> None:
    mounts = (
        Mount(path="/mnt/in", folder="/data/in"),
        Mount(path="/mnt/out", folder="/data/out", writable=True),
    )
    judge = paths(mounts=mounts, deny=("Read(//mnt/in/secret)",))
    assert judge.readable("/mnt/in/a")
    assert judge.readable("/mnt/out/a")
    assert (judge.inside("/mnt/in/a"), judge.inside("/mnt/out/a")) == (False, True)
    assert not judge.readable("/data/in/a")
    assert not judge.readable("/mnt/inner")
    assert judge.denied("/mnt/in/secret", "read") is not None
    assert judge.critical("/mnt/out")
    assert not judge.critical("/mnt/out/a")
