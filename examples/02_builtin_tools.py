"""Built-in tools beside your own, with rules that say what may happen."""

import asyncio
import tempfile
from pathlib import Path

from toolwright import Toolbox


def prepare(folder: str) -> None:
    """Make a folder to work in."""
    for name in ("todo.txt", "todo.md"):
        Path(folder, name).write_text("milk\nbread\n")


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder)
        async with Toolbox(["read", "edit", "grep"], workspace=folder, allow=["Edit(*.txt)"]) as box:
            print((await box.call("read", {"file_path": "todo.txt"})).content)
            edit = {"file_path": "todo.txt", "old_string": "milk", "new_string": "oat milk"}
            print((await box.call("edit", edit)).is_error)
            await box.call("read", {"file_path": "todo.md"})
            refused = await box.call("edit", {**edit, "file_path": "todo.md"})
            print(refused.content)
            found = await box.call("grep", {"pattern": "oat", "output_mode": "content"})
            print(str(found.content).replace(folder, "."))


if __name__ == "__main__":
    asyncio.run(main())
