"""Skills: one that a model takes up, and one that runs as a call."""

import asyncio
import json
import tempfile
from pathlib import Path

from toolwright import Engine, ScriptedModel, Toolbox, call

LETTERS = """---
name: letters
description: Writes letters. Use it when somebody asks for one.
---
Write to $ARGUMENTS in two sentences, kindly.
"""
SHOUT = {"description": "Writes a text in capitals.", "input_schema": {"type": "object"}}
SCRIPT = "import json, sys; print(json.dumps(json.load(sys.stdin)['text'].upper()))"


def written(folder: Path, files: dict[str, str]) -> Path:
    """Write the files of a skill."""
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        letters = written(Path(folder, "letters"), {"SKILL.md": LETTERS})
        shout = written(Path(folder, "shout"), {"skill.json": json.dumps(SHOUT), "script.py": SCRIPT})

        model = ScriptedModel([[call("skill", skill="letters", args="Ann")], "Dear Ann, ..."])
        async with Engine(model=model, tools=["skill"], workspace=folder, skills=[letters]) as engine:
            print((await engine.run("Write a letter to Ann.")).text)
        print(model.asked[1].messages[-1].text)

        async with Toolbox([], skills=[shout], allow=["shout"]) as box:
            print((await box.call("shout", {"text": "hello"})).content)


if __name__ == "__main__":
    asyncio.run(main())
