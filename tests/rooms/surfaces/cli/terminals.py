"""A terminal around a whole command."""

import os
import pty
import re
import select
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_STEERING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass
class Terminal:
    """Both ends of a terminal, without echo so that only the command's own words are read."""

    ours: int
    theirs: int
    started: "list[subprocess.Popen[bytes]]" = field(default_factory=list)

    def starts(
        self,
        folder: Path,
        *words: str,
        environ: Mapping[str, str] | None = None,
        stdout: int | None = None,
    ) -> "subprocess.Popen[bytes]":
        """Start a command in a folder, with a home of its own beside it. Its output may go elsewhere."""
        home = {"HOME": str(folder.parent / "home"), "TERM": "xterm", "NO_COLOR": "1"}
        process = subprocess.Popen(
            [sys.executable, "-m", "toolwright", *words],
            cwd=folder,
            stdin=self.theirs,
            stdout=self.theirs if stdout is None else stdout,
            stderr=self.theirs,
            start_new_session=True,
            env={**os.environ, **home, **(environ or {})},
        )
        self.started.append(process)
        return process

    def type(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def until(self, words: str) -> str:
        """Everything up to some words, without colours; fails when they do not come."""
        seen = ""
        while words not in seen:
            ready, _, _ = select.select([self.ours], [], [], 30)
            assert ready, f"{words!r} did not come after {seen!r}"
            seen = _STEERING.sub("", seen + os.read(self.ours, 65_536).decode(errors="replace"))
        return seen


@contextmanager
def terminal_opened() -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    modes = termios.tcgetattr(theirs)
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(theirs, termios.TCSANOW, modes)
    terminal = Terminal(ours, theirs)
    try:
        yield terminal
    finally:
        for process in terminal.started:
            process.kill()
            process.wait()
        os.close(ours)
        os.close(theirs)
