"""Makes the transcript and the picture in docs/how-to/chat.md: `toolwright chat` driven in a real terminal.

Needs tmux. The model is scripted; tools, permissions, sandbox and log are real. Run it from the root of the
repository: `.venv/bin/python scripts/picture_of_chat.py`.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

from toolwright.surfaces.cli.demonstration import TASK, TESTS, copy_sample

PAGE = Path("docs/how-to/chat.md")
PICTURE = Path("docs/how-to/chat.svg")
COLUMNS, ROWS = 92, 40
ANSWERS = [
    [
        {"thought": "The limit is in basket.py; the test says what is right."},
        "I read the basket first.\n\n",
        {"call": "read", "input": {"file_path": "basket.py"}},
    ],
    [
        "Delivery is free only *above* the limit. It should be free from the limit on:\n\n",
        {
            "call": "edit",
            "input": {
                "file_path": "basket.py",
                "old_string": "if goods > DELIVERY_FREE_FROM:",
                "new_string": "if goods >= DELIVERY_FREE_FROM:",
            },
        },
    ],
    [{"call": "bash", "input": {"command": TESTS}}],
    "It is delivered **for free** now:\n\n1. `basket.py` compares with `>=`.\n2. All tests pass.\n",
]
SVG = """<svg viewBox="-12 -12 {terminal_width} {terminal_height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{
  font: {char_height}px/{line_height}px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
}}
{styles}
</style>
<defs>{lines}</defs>
<rect fill="#191919" x="-12" y="-12" width="{terminal_width}" height="{terminal_height}" rx="8"/>
{backgrounds}<g class="{unique_id}-matrix">{matrix}</g>
</svg>
"""


class Terminal:
    """A terminal that nobody sees."""

    def __init__(self, folder: str) -> None:
        self._socket = os.path.join(folder, "tmux")

    def tmux(self, *words: str) -> str:
        command = ["tmux", "-S", self._socket, "-f", "/dev/null", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def start(self, folder: str, *words: str) -> None:
        size = ["-x", str(COLUMNS), "-y", str(ROWS)]
        self.tmux("new-session", "-d", *size, "-c", folder, "env", "COLORTERM=", *words)

    def type(self, *keys: str) -> None:
        for key in keys:
            self.tmux("send-keys", key)

    def until(self, words: str) -> None:
        end = time.monotonic() + 60
        while words not in self.tmux("capture-pane", "-p", "-S", "-"):
            if time.monotonic() > end:
                sys.exit(f"it never came: {words!r}\n{self.tmux('capture-pane', '-p')}")
            time.sleep(0.05)

    def shown(self, *words: str) -> str:
        return self.tmux("capture-pane", "-p", *words).rstrip("\n") + "\n"


def main() -> None:
    """Drive one conversation; write what was seen of it."""
    with tempfile.TemporaryDirectory() as folder:
        project = os.path.join(folder, "shop")
        os.mkdir(project)
        copy_sample(project)
        Path(project, "model.json").write_text(json.dumps({"answers": ANSWERS, "delay": 0.01}))
        terminal = Terminal(folder)
        command = (os.path.abspath(".venv/bin/toolwright"), "chat", "--model", "scripted/model.json")
        terminal.start(project, *command, "--allow", f"Bash({TESTS})")
        try:
            seen = talked(terminal)
        finally:
            terminal.tmux("kill-server")
    text, picture = (part.replace(project, "~/shop") for part in seen)
    PAGE.write_text(
        re.sub(
            r"```text\n.*?```", lambda _: f"```text\n{text}```", PAGE.read_text(), count=1, flags=re.DOTALL
        )
    )
    PICTURE.write_text(drawn(picture))


def talked(terminal: Terminal) -> Sequence[str]:
    """Return the whole conversation as text, and the screen at its question with its colours."""
    terminal.until("Say what to do")
    terminal.type(TASK, "Enter")
    terminal.until("❯ 1")
    picture = terminal.shown("-e")
    terminal.type("y")
    terminal.until("All tests pass")
    terminal.until("Say what to do")
    return terminal.shown("-S", "-"), picture


def drawn(screen: str) -> str:
    """Return a screen as a picture, without any font or file from elsewhere."""
    with open(os.devnull, "w") as nowhere:
        console = Console(
            file=nowhere, width=COLUMNS, record=True, force_terminal=True, color_system="truecolor"
        )
        console.print(Text.from_ansi(screen.rstrip("\n")), soft_wrap=True)
    picture = console.export_svg(theme=DIMMED_MONOKAI, code_format=SVG, unique_id="chat")
    # What is drawn has an edge of twelve on every side.
    width, height = map(float, re.findall(r'viewBox="-12 -12 (\S+) (\S+)"', picture)[0])
    for number in (width, height):
        picture = picture.replace(f'"{number}"', f'"{number + 24:g}"')
    return picture.replace(f"-12 -12 {width} {height}", f"-12 -12 {width + 24:g} {height + 24:g}")


if __name__ == "__main__":
    main()
