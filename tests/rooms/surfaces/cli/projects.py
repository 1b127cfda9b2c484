"""A project in which commands are run with scripted models."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from toolwright.contracts.errors import ToolwrightError
from toolwright.surfaces.cli.main import application

CHANGE = {"file_path": "a.py", "old_string": "a - b", "new_string": "a + b"}
MEND = {"call": "edit", "input": CHANGE}
READ = {"call": "read", "input": {"file_path": "a.py"}}
MENDING = [["I look.", READ], ["I mend it.", MEND], "That was it."]
"""Reads and edits a file: the edit is asked for, unless something allows it."""


@dataclass(frozen=True)
class Project:
    folder: Path

    def script(self, answers: Sequence[Any], name: str = "script.json", **more: Any) -> str:
        """Write a script of answers; return the model that plays it."""
        (self.folder / name).write_text(json.dumps({"answers": answers, **more}))
        return f"scripted/{name}"

    def call(
        self, *words: str, stdin: "str | bytes | None" = None, env: Mapping[str, str] | None = None
    ) -> Result:
        """Run a command in this process; what ``main`` turns into a line is left as exception."""
        return CliRunner().invoke(application(), list(words), input=stdin, env=env)

    def run(self, *words: str, **more: Any) -> Result:
        """Run a command that ends as it should."""
        result = self.call(*words, **more)
        assert result.exit_code == 0, (result.output, result.exception)
        return result

    def refused(self, *words: str, **more: Any) -> str:
        """The line that a usage error ends with."""
        result = self.call(*words, **more)
        if isinstance(result.exception, ToolwrightError):
            return str(result.exception)
        assert result.exit_code == 2, (result.output, result.exception)
        return result.stderr.strip().splitlines()[-1]

    def json(self, *words: str) -> Any:
        """What a command prints as JSON."""
        return json.loads(self.run(*words, "--json").stdout)

    def last(self) -> str:
        """The id of the session that was used last."""
        return str(self.json("sessions", "list")[0]["session_id"])

    def events(self, session_id: str = "") -> list[dict[str, Any]]:
        """The log of a session."""
        words = ["sessions", "export", "--format", "jsonl", *filter(None, [session_id])]
        return [json.loads(line)["entry"] for line in self.run(*words).stdout.splitlines()]

    @property
    def source(self) -> str:
        return (self.folder / "a.py").read_text()
