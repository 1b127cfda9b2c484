"""Writes the generated pages of docs/reference from the code, or says which are out of date."""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"


def command_line() -> str:
    """Return the help of every command."""
    import typer.main

    from toolwright.surfaces.cli.main import application

    root = typer.main.get_command(application())
    parts = ["# Command line", "", "Written from `--help`.", ""]
    for path, command in commands("toolwright", root):
        context = command.context_class(
            command, info_name=path, terminal_width=100, help_option_names=["-h", "--help"]
        )
        parts += [f"## `{path}`", "", "```text", command.get_help(context).strip(), "```", ""]
    return "\n".join(parts)


def commands(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yield a command and all commands below it."""
    yield path, command
    for name, inner in sorted(getattr(command, "commands", {}).items()):
        if not inner.hidden:
            yield from commands(f"{path} {name}", inner)


def tools() -> str:
    """Return what a model reads about every built-in tool."""
    from toolwright.wiring import describe_builtins

    parts = ["# Tools", "", "The built-in tools, as written for the model.", ""]
    for spec in describe_builtins():
        parts += [f"## {spec.name}", ""]
        if spec.aliases:
            parts += ["Also known as " + ", ".join(f"`{alias}`" for alias in spec.aliases) + ".", ""]
        if spec.feature:
            parts += [f"Behind the feature gate `{spec.feature}`.", ""]
        read_by_model = re.sub(r"\{tool:([\w.]+)\}", r"\1", spec.description)
        parts += [
            "```text",
            read_by_model,
            "```",
            "",
            "| Input | Type | Required | Description |",
            "|---|---|---|---|",
        ]
        required = spec.input_schema.get("required", ())
        parts += [
            f"| `{name}` | {kind(schema)} | {'yes' if name in required else ''} | {cell(schema)} |"
            for name, schema in spec.input_schema["properties"].items()
        ]
        parts.append("")
    return "\n".join(parts)


def kind(schema: Mapping[str, Any]) -> str:
    """Return the type of a property in a word or two."""
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(kind(choice) for choice in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {kind(schema.get('items', {}))}"
    return str(schema.get("type", "any"))


def cell(schema: Mapping[str, Any]) -> str:
    """Return a description fit for a table cell."""
    return str(schema.get("description", "")).replace("|", "\\|").replace("\n", " ")


OF_TOOLS_INTRO = (
    "Single tools read these. A value that cannot be used is named in the log once, and the default counts. "
    "No command that a tool runs sees them."
)
OF_TOOLS = (
    ("BASH_DEFAULT_TIMEOUT_MS", "milliseconds of a command whose call does not say", "120000"),
    ("BASH_MAX_TIMEOUT_MS", "the most milliseconds that a call may ask for", "600000"),
    (
        "BASH_MAX_OUTPUT_LENGTH",
        "characters of a command's output before it is stored, at most 150000",
        "30000",
    ),
    ("TOOLWRIGHT_TOOL_MEMORY_LIMIT", "bytes of memory a command may use", "2147483648"),
    ("TOOLWRIGHT_DISABLE_BACKGROUND_TASKS", "`1` keeps commands out of the background", "`0`"),
    ("TOOLWRIGHT_FILE_READ_MAX_TOKENS", "tokens of one reading of a file", "25000"),
    ("TOOLWRIGHT_WEBFETCH_CACHE_TTL_MS", "milliseconds that a web page is kept", "900000"),
    ("SEARXNG_URL", "the SearXNG instance that searches the web, before the keys below", "none"),
    ("BRAVE_API_KEY", "a key of Brave Search", "none"),
    ("TAVILY_API_KEY", "a key of Tavily", "none"),
    ("TOOLWRIGHT_FEATURE_<NAME>", "`1` or `0`: opens or closes a feature gate", "per gate"),
)


def settings() -> str:
    """Return every setting with its default."""
    from toolwright.settings import Settings
    from toolwright.settings.environment import VARIABLES

    intro = (
        "JSON files, strongest first: `/etc/toolwright/settings.json` (managed), the command line, "
        "`.toolwright/settings.local.json`, `.toolwright/settings.json` (project), "
        "`~/.config/toolwright/settings.json` (user). A value is taken from the strongest file that has it; "
        "permission rules of all files count together. Of a project that is not trusted (`toolwright trust`) "
        "only deny and ask rules, disabled tools and lower limits count. `toolwright config show --origin` "
        "says which values are in force and where they come from."
    )
    parts = [
        "# Settings",
        "",
        intro,
        "",
        "| Setting | Takes | Default |",
        "|---|---|---|",
    ]
    parts += [
        f"| `{name}` | {takes} | `{json.dumps(value)}` |" for name, takes, value in defaults(Settings(), "")
    ]
    parts += ["", "## Environment", "", "Variables count where no file and no option says the same.", ""]
    parts += ["| Variable | Setting |", "|---|---|"]
    parts += [f"| `{name}` | `{one.key}` |" for one in VARIABLES for name in one.names]
    parts += [
        "",
        "## Environment of tools",
        "",
        OF_TOOLS_INTRO,
        "",
        "| Variable | Says | Default |",
        "|---|---|---|",
    ]
    parts += [f"| `{name}` | {meaning} | {default} |" for name, meaning, default in OF_TOOLS]
    return "\n".join([*parts, ""])


def defaults(section: Any, prefix: str) -> Iterator[tuple[str, str, Any]]:
    """Yield dotted names, what they take and default values."""
    schemas = type(section).model_json_schema()["properties"]
    for name in type(section).model_fields:
        value = getattr(section, name)
        if hasattr(type(value), "model_fields"):
            yield from defaults(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", kind(schemas[name]), value


def agent_files() -> str:
    """Return every key of an agent definition."""
    from toolwright.catalog.agent_keys import KEYS, LIMIT_KEYS, OTHER_NAMES

    intro = (
        "An agent is a markdown file with YAML front matter, a TOML file or a JSON file. Keys may be spelled "
        "`max_turns`, `maxTurns` or `max-turns`. Lists may be texts with commas. Unknown keys, wrong values "
        "and keys that stand twice are errors. [How to define an agent](../how-to/define-an-agent.md)."
    )
    head = ["| Key | Takes | Meaning |", "|---|---|---|"]
    others = ", ".join(f"`{other}` for `{name}`" for other, name in OTHER_NAMES.items())
    parts = ["# Agent files", "", intro, "", *head]
    parts += [f"| `{key.name}` | {key.takes} | {key.means} |" for key in KEYS]
    parts += ["", f"Also understood: {others}. `color` is read over.", ""]
    parts += ["## Limits", "", "Keys of `limits`; they count for one run, its children included.", "", *head]
    parts += [f"| `{key.name}` | {key.takes} | {key.means} |" for key in LIMIT_KEYS]
    return "\n".join([*parts, ""])


def skill_files() -> str:
    """Return every key of a skill."""
    from toolwright.catalog.skill_keys import FRONT_MATTER, RUNNING
    from toolwright.catalog.skill_rules import WITHOUT_MEANING

    intro = (
        "A skill is a folder with a `SKILL.md`, a `skill.json`, or both. "
        "[How to write a skill](../how-to/write-a-skill.md)."
    )
    parts = [
        "# Skill files",
        "",
        intro,
        "",
        "## SKILL.md",
        "",
        "Front matter in YAML, then instructions.",
        "",
    ]
    parts += ["| Key | Takes | Meaning | Published rule |", "|---|---|---|---|"]
    parts += [
        f"| `{key.name}` | {key.takes} | {key.means} | {'yes' if key.published else ''} |"
        for key in FRONT_MATTER
    ]
    without = ", ".join(f"`{name}`" for name in sorted(WITHOUT_MEANING))
    parts += ["", f"Read over, with a warning: {without}. Any other key is left out with a warning, too.", ""]
    parts += ["## skill.json", "", "How it runs as a call. `prompt.md` beside it is the prompt.", ""]
    parts += ["| Key | Takes | Meaning |", "|---|---|---|"]
    parts += [f"| `{key.name}` | {key.takes} | {key.means} |" for key in RUNNING]
    return "\n".join([*parts, ""])


PAGES = {
    "cli.md": command_line,
    "tools.md": tools,
    "settings.md": settings,
    "agent-files.md": agent_files,
    "skill-files.md": skill_files,
}


def main(word: str) -> int:
    """Write the pages, or check them and return 1 when one is out of date."""
    stale = []
    for name, page in PAGES.items():
        text = page()
        path = REFERENCE / name
        if word == "--write":
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(name)
    if stale:
        print(f"docs: out of date: {', '.join(stale)}. Run scripts/docs --write.", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "--check"))
