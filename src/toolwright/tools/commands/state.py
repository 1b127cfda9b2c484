"""What a shell leaves behind for the next one: its directory, and variables written to a file."""

import os
import secrets
import stat
from dataclasses import dataclass
from typing import Final

from toolwright.contracts.ports import Workspace

ENV_FILE: Final = "TOOLWRIGHT_ENV_FILE"
_CWD_FILE: Final = "TOOLWRIGHT_CWD_FILE"
_LONGEST: Final = 8192

_STEPS: Final = (
    "shopt -u expand_aliases",
    f"""trap 'builtin pwd -P >|"${_CWD_FILE}"' EXIT""",
    f'[ -r "${ENV_FILE}" ] && . "${ENV_FILE}"',
    'builtin : "$(</dev/stdin)"',
    'builtin eval "$_" </dev/null',
)
SCRIPT: Final = "; ".join(_STEPS)
"""Runs the command that is fed to it. Fed, because an argument may not be as long as a command may be;
all in one line, so that line numbers are those of the command. ``$_`` is the last word of the step before: no
variable of ours is left, and nothing is put around the command that a message about it would show."""

BASH: Final = ("bash", "--norc", "--noprofile", "-c", SCRIPT, "bash")


@dataclass(frozen=True, slots=True)
class ShellFolder:
    """A folder that commands may write, for this purpose only."""

    path: str

    def prepare(self) -> None:
        """Make the folder. Blocks."""
        os.makedirs(self.path, mode=0o700, exist_ok=True)

    def run(self) -> "ShellRun":
        """A place for what one command leaves behind."""
        return ShellRun(self.path, os.path.join(self.path, f"cwd-{secrets.token_hex(8)}"))


@dataclass(frozen=True, slots=True)
class ShellRun:
    folder: str
    cwd_file: str

    @property
    def env(self) -> dict[str, str]:
        """Where a command finds kept variables and leaves its directory."""
        return {ENV_FILE: os.path.join(self.folder, "env.sh"), **self.reading_env}

    @property
    def reading_env(self) -> dict[str, str]:
        """The same without kept variables."""
        return {_CWD_FILE: self.cwd_file}

    def taken_cwd(self) -> str | None:
        """The directory that the command ended in; None when it left none. Blocks.

        The file was written by the command: it is opened with care and believed in nothing.
        """
        try:
            fd = os.open(self.cwd_file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return None
            written = os.read(fd, _LONGEST)
        finally:
            os.close(fd)
        self._forget()
        path = os.fsdecode(written.removesuffix(b"\n"))
        return path if os.path.isabs(path) and os.path.normpath(path) == path else None

    def _forget(self) -> None:
        try:
            os.unlink(self.cwd_file)
        except OSError:
            return


def next_cwd(workspace: Workspace, wanted: str | None) -> tuple[str | None, str]:
    """The new working directory, if it changes, and a note when it may not. Blocks."""
    if wanted is None or wanted == workspace.cwd:
        return None, ""
    inside = workspace.contains(wanted) and workspace.resolved(wanted) == wanted
    if inside and os.path.isdir(workspace.on_disk(wanted)):
        return wanted, ""
    return None, f"The working directory is {workspace.cwd} again: {wanted} is outside the workspace."
