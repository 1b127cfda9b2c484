"""How calls on files look to a person."""

import posixpath
from collections.abc import Mapping
from typing import Any

from toolwright.contracts.view import Diff, Line, Path, Text
from toolwright.workspaces.names import printable
from toolwright.workspaces.patches import Patch

_LANGUAGES = {
    ".bash": "bash",
    ".c": "c",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".cs": "csharp",
    ".css": "css",
    ".go": "go",
    ".h": "c",
    ".hpp": "cpp",
    ".html": "html",
    ".ipynb": "json",
    ".java": "java",
    ".js": "javascript",
    ".json": "json",
    ".jsx": "jsx",
    ".kt": "kotlin",
    ".md": "markdown",
    ".php": "php",
    ".py": "python",
    ".rb": "ruby",
    ".rs": "rust",
    ".sh": "bash",
    ".sql": "sql",
    ".swift": "swift",
    ".toml": "toml",
    ".ts": "typescript",
    ".tsx": "tsx",
    ".xml": "xml",
    ".yaml": "yaml",
    ".yml": "yaml",
}


def language_of(path: str) -> str | None:
    """The language of a file by the end of its name."""
    return _LANGUAGES.get(posixpath.splitext(path)[1].lower())


def written(input: Mapping[str, Any], name: str) -> str:
    """A text of an input that may still be arriving."""
    value = input.get(name)
    return value if isinstance(value, str) else ""


def file_name(path: str) -> str:
    return posixpath.basename(path.rstrip("/")) or path


def short(path: str, cwd: str) -> str:
    """A path relative to the working directory where it lies below it."""
    shown = printable(path)
    return shown.removeprefix(cwd.rstrip("/") + "/") if cwd else shown


def path_node(path: str, cwd: str) -> Path:
    """A path and how it is shown."""
    return Path(printable(path), display=short(path, cwd))


def headline(title: str, path: str, cwd: str) -> Line:
    """A title and the file it is about."""
    return Line((Text(title, "bold"), Text(" "), path_node(path, cwd)))


def diff_node(path: str, cwd: str, patch: Patch) -> Diff:
    """A difference under the short name of its file."""
    return Diff(short(path, cwd), patch.hunks, patch.added, patch.removed, language_of(path))


def counted(count: int, thing: str) -> str:
    """``1 line``, ``2 lines``."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
