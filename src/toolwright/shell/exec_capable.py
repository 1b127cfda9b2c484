"""Commands whose arguments can make them run anything: a rule with a wildcard never allows these."""

import re

from toolwright.shell.scripts import SHELLS, without_git_options
from toolwright.shell.sed import harmless_sed_script
from toolwright.shell.units import Redirect, Word
from toolwright.shell.wrappers import WRAPPERS, program_name

_ALWAYS = frozenset({
    "eval", "source", ".", "trap", "alias", "unalias", "exec", "su", "script", "awk", "gawk", "mawk",
    "nawk", "ssh", "export", "declare", "typeset", "local", "readonly", "set", "shopt", "unset", "enable",
    "hash", "let", "bind", "complete", "compopt", "compgen", "mapfile", "readarray", "pushd", "popd",
})  # fmt: skip
_INTERPRETERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "python": ("c", ()),
    "pypy": ("c", ()),
    "node": ("ep", ("--eval", "--print", "--require", "--import")),
    "nodejs": ("ep", ("--eval", "--print", "--require", "--import")),
    "bun": ("ep", ("--eval", "--print")),
    "deno": ("", ()),
    "perl": ("eEMm", ()),
    "ruby": ("er", ()),
    "php": ("rRBE", ("--run", "--process-code", "--process-begin", "--process-end")),
    "lua": ("el", ()),
    "Rscript": ("e", ()),
    "osascript": ("e", ()),
    "tclsh": ("", ()),
    "julia": ("eE", ("--eval", "--print")),
    "R": ("e", ()),
}
"""Short options and long options that carry code."""

_EXEC_OPTIONS: dict[str, tuple[str, ...]] = {
    "find": ("-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"),
    "tar": ("--to-command", "--checkpoint-action", "--use-compress-program", "--rsh-command", "--info-script",
            "--new-volume-script", "-I", "-F"),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "scp": ("-S", "-o"),
    "sftp": ("-S", "-o", "-D"),
    "zip": ("-TT", "--unzip-command"),
    "sort": ("--compress-program",),
    "rg": ("--pre", "--hostname-bin"),
    "man": ("-P", "--pager", "-H"),
    "split": ("--filter",),
    "vim": ("-c", "--cmd", "-S", "+"), "vi": ("-c", "-S", "+"), "nvim": ("-c", "--cmd", "-S", "+"),
    "emacs": ("--eval", "--execute", "-f", "--funcall"),
    "gdb": ("-ex", "--eval-command", "-x", "--args"),
    "make": ("--eval", "-E"), "gmake": ("--eval", "-E"),
    "printf": ("-v",),
    "git": ("-c", "--config-env", "--exec-path"),
}  # fmt: skip
_GIT_RUNS: dict[str, tuple[str, ...]] = {
    "rebase": ("-x", "--exec"),
    "bisect": ("run",),
    "submodule": ("foreach",),
    "filter-branch": ("",),
    "difftool": ("-x", "--extcmd"),
    "grep": ("-O", "--open-files-in-pager"),
    "config": ("",),
    "clone": ("-u", "--upload-pack", "-c", "--config", "ext::"),
    "fetch": ("--upload-pack", "ext::"),
    "pull": ("--upload-pack", "ext::"),
    "push": ("--receive-pack", "--exec", "ext::"),
    "ls-remote": ("--upload-pack", "--exec", "ext::"),
    "archive": ("--exec",),
}
_VERSIONED = re.compile(r"(python|pypy|lua|perl|ruby|php|node)[\d.]+")


def exec_capable(words: tuple[Word, ...], redirects: tuple[Redirect, ...] = ()) -> bool:
    """Whether this command may run something its program name does not tell."""
    name = program_name(words)
    if name in WRAPPERS or name in SHELLS or name in _ALWAYS:
        return True
    found = _VERSIONED.fullmatch(name)
    interpreter = found[1] if found else name
    if interpreter in _INTERPRETERS:
        return _runs_inline_code(words, _INTERPRETERS[interpreter], redirects)
    if name == "sed":
        return not harmless_sed_script(words)
    if any(_begins(words[1:], option) for option in _EXEC_OPTIONS.get(name, ())):
        return True
    return name == "git" and _git_runs(words)


def _begins(words: tuple[Word, ...], option: str) -> bool:
    """Whether any word is the option, has a value attached, or is an abbreviation of it."""
    for word in words:
        text = word.shape
        if option.startswith("--"):
            name = text.partition("=")[0]
            if len(name) > 2 and option.startswith(name):
                return True
        elif text.startswith(option):
            return True
    return False


def _runs_inline_code(
    words: tuple[Word, ...], options: tuple[str, tuple[str, ...]], redirects: tuple[Redirect, ...]
) -> bool:
    letters, long_options = options
    if any(redirect.heredoc is not None for redirect in redirects) or len(words) == 1:
        return True
    for word in words[1:]:
        text = word.shape
        if word.text is None or text == "-":
            return True
        if text.startswith("--"):
            if _begins((word,), text) and any(
                option.startswith(text.partition("=")[0]) for option in long_options
            ):
                return True
        elif text.startswith("-"):
            if any(letter in text[1:] for letter in letters):
                return True
        else:
            return text in {"eval", "run", "repl"} and not letters
    return False


def _git_runs(words: tuple[Word, ...]) -> bool:
    bare = without_git_options(words)
    if len(bare) < 2:
        return False
    options = _GIT_RUNS.get(bare[1].text or "", ())
    return any(_begins(bare[2:], option) if option else True for option in options)
