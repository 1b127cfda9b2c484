"""Facts about a table file: reads JSON from standard input, prints JSON. Memory stays small for large files.

echo '{"path": "orders.csv"}' | python3 profile_table.py
"""

import csv
import itertools
import json
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any

MOST_DISTINCT = 10_000
MOST_PROBLEMS = 20
MOST_COLUMNS = 1_000
FIRST_ROWS = 50
LONGEST_SHOWN = 80
LONGEST_FIELD = 16 * 1024 * 1024
MISSING = {"", "na", "n/a", "nan", "null", "none", "-"}
INTEGER = re.compile(r"[+-]?\d{1,18}")
NUMBER = re.compile(r"[+-]?(\d+\.\d*|\.\d+|\d+)([eE][+-]?\d{1,3})?")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?")


class Refused(Exception):
    """What was asked for cannot be done."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Column:
    """What is known of one column so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.missing = 0
        self.types: Counter[str] = Counter()
        self.values: Counter[str] = Counter()
        self.more = False
        self.low: float | None = None
        self.high: float | None = None
        self.first: str | None = None
        self.last: str | None = None
        self.total = 0.0
        self.longest = 0

    def take(self, value: Any) -> None:
        """Count one value."""
        kind, number = kind_of(value)
        if kind is None:
            self.missing += 1
            return
        self.types[kind] += 1
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        self.longest = max(self.longest, len(text))
        self.count(text[:LONGEST_SHOWN])
        if number is not None:
            self.low = number if self.low is None else min(self.low, number)
            self.high = number if self.high is None else max(self.high, number)
            self.total += number
        else:
            short = text[:LONGEST_SHOWN]
            self.first = short if self.first is None else min(self.first, short)
            self.last = short if self.last is None else max(self.last, short)

    def count(self, text: str) -> None:
        """Count a value, as long as there are not too many different ones."""
        if text in self.values or len(self.values) < MOST_DISTINCT:
            self.values[text] += 1
        else:
            self.more = True

    def facts(self, top: int) -> dict[str, Any]:
        """Return what is known."""
        kind = self.kind()
        found: dict[str, Any] = {"name": self.name, "type": kind, "missing": self.missing}
        found["distinct"] = f"{len(self.values)}+" if self.more else len(self.values)
        if kind == "mixed":
            found["types"] = dict(self.types.most_common())
        numbers = self.types["integer"] + self.types["number"]
        if numbers and numbers == sum(self.types.values()):
            found.update(min=self.low, max=self.high, mean=round(self.total / numbers, 6))
        elif self.first is not None:
            found.update(min=self.first, max=self.last)
        found["longest"] = self.longest
        if top:
            found["top"] = [{"value": value, "count": count} for value, count in self.values.most_common(top)]
        return found

    def kind(self) -> str:
        """Return the type that all values have."""
        kinds = set(self.types)
        if not kinds:
            return "empty"
        if kinds <= {"integer", "number"}:
            return "integer" if kinds == {"integer"} else "number"
        if kinds <= {"date", "moment"}:
            return "date" if kinds == {"date"} else "moment"
        return kinds.pop() if len(kinds) == 1 else "mixed"


def kind_of(value: Any) -> tuple[str | None, float | None]:
    """Return the type of a value, None for a missing one, and its number where it is one."""
    if value is None or (isinstance(value, str) and value.strip().lower() in MISSING):
        return None, None
    if isinstance(value, bool):
        return "boolean", None
    if isinstance(value, int):
        return "integer", value
    if isinstance(value, float):
        return ("number", value) if math.isfinite(value) else (None, None)
    if isinstance(value, list | dict):
        return "nested", None
    text = value.strip()
    if INTEGER.fullmatch(text):
        return ("text", None) if len(text) > 1 and text[0] == "0" else ("integer", int(text))
    if NUMBER.fullmatch(text):
        number = float(text)
        return ("number", number) if math.isfinite(number) else ("text", None)
    if text.lower() in {"true", "false"}:
        return "boolean", None
    if DATE.fullmatch(text):
        return "date", None
    return ("moment", None) if MOMENT.fullmatch(text) else ("text", None)


class Table:
    """Columns in the order in which they came, and what was wrong with rows."""

    def __init__(self) -> None:
        self.columns: dict[str, Column] = {}
        self.rows = 0
        self.problems: list[dict[str, Any]] = []
        self.broken = 0

    def column(self, name: str) -> Column:
        """Return a column, made when it comes first; every row before had no value for it."""
        found = self.columns.get(name)
        if found is None:
            if len(self.columns) >= MOST_COLUMNS:
                raise Refused("too_many_columns", f"There are more than {MOST_COLUMNS:,} columns.")
            found = self.columns[name] = Column(name)
            found.missing = self.rows
        return found

    def wrong(self, line: int, text: str) -> None:
        """Note a row that is not as the others."""
        self.broken += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append({"line": line, "problem": text})


def profile_separated(lines: Iterable[str], table: Table, wanted: dict[str, Any]) -> bool:
    """Read a file with one row on a line and a sign between its fields; whether more would follow."""
    csv.field_size_limit(LONGEST_FIELD)
    reader = csv.reader(lines, delimiter=wanted["delimiter"])
    first = next(reader, None)
    if first is None:
        return False
    if wanted["header"]:
        names = unique(first)
        rows: Iterable[list[str]] = reader
    else:
        names = [f"column_{number}" for number in range(1, len(first) + 1)]
        rows = itertools.chain([first], reader)
    columns = [table.column(name) for name in names]
    for row in rows:
        if table.rows >= wanted["max_rows"]:
            return True
        if not row:
            continue
        table.rows += 1
        if len(row) != len(columns):
            table.wrong(reader.line_num, f"{len(row)} fields, not {len(columns)}")
        for number, column in enumerate(columns):
            column.take(row[number] if number < len(row) else None)
    return False


def profile_json_lines(lines: Iterable[str], table: Table, wanted: dict[str, Any]) -> bool:
    """Read a file with one JSON object on a line; whether more would follow."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if table.rows >= wanted["max_rows"]:
            return True
        try:
            row = json.loads(line)
        except ValueError as problem:
            table.wrong(number, f"no JSON: {problem}")
            continue
        if not isinstance(row, dict):
            table.wrong(number, f"{type(row).__name__}, no object")
            continue
        for name in row:
            table.column(str(name))
        for name, column in table.columns.items():
            column.take(row.get(name))
        table.rows += 1
    return False


def unique(names: list[str]) -> list[str]:
    """Return names that differ, and stand for something."""
    found: list[str] = []
    seen: Counter[str] = Counter()
    for number, name in enumerate(names, 1):
        name = name.strip().lstrip("\ufeff") or f"column_{number}"
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return found


def form_of(path: str, first: str) -> str:
    """Return how a file is written, by its ending or else by how it begins."""
    ending = os.path.splitext(path)[1].lower()
    by_ending = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
    if ending in by_ending:
        return by_ending[ending]
    if first.lstrip().startswith("{"):
        return "jsonl"
    return "tsv" if "\t" in first.split("\n", 1)[0] else "csv"


def delimiter_of(first: str) -> str:
    """Return the sign that gives most of the first rows one number of fields, more than one."""

    def fitness(sign: str) -> tuple[int, int]:
        rows = csv.reader(first.splitlines()[:FIRST_ROWS], delimiter=sign)
        widths = Counter(len(row) for row in rows if row)
        wide = [(count, width) for width, count in widths.items() if width > 1]
        return max(wide, default=(0, 0))

    try:
        return max(",;\t|", key=fitness)
    except csv.Error:
        return ","


def profiled(wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the facts about a file."""
    path = os.path.join(os.environ.get("WORKSPACE", ""), wanted["path"])
    try:
        with open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
            first = file.read(65_536)
            file.seek(0)
            form = wanted.get("format") or form_of(path, first)
            wanted["delimiter"] = wanted.get("delimiter") or ("\t" if form == "tsv" else delimiter_of(first))
            table = Table()
            read = profile_json_lines if form == "jsonl" else profile_separated
            truncated = read(file, table, wanted)
    except FileNotFoundError:
        raise Refused("file_not_found", f"There is no file {path}.") from None
    except OSError as problem:
        raise Refused("cannot_read", f"{path} cannot be read: {problem.strerror}.") from None
    except csv.Error as problem:
        raise Refused("broken_file", f"{path} is no {form} file: {problem}.") from None
    facts = {"path": wanted["path"], "format": form, "rows": table.rows, "truncated": truncated}
    if form != "jsonl":
        facts["delimiter"] = wanted["delimiter"]
    facts["problems"] = table.problems
    facts["broken_rows"] = table.broken
    facts["columns"] = [column.facts(wanted["top"]) for column in table.columns.values()]
    return facts


def main() -> None:
    """Read what is wanted, print what was found."""
    try:
        wanted = {"header": True, "max_rows": 1_000_000, "top": 5, **json.load(sys.stdin)}
        print(json.dumps(profiled(wanted), ensure_ascii=False))
    except Refused as refused:
        print(json.dumps({"error": refused.code, "message": str(refused)}, ensure_ascii=False))
    except (ValueError, KeyError, TypeError) as problem:
        print(json.dumps({"error": "invalid_input", "message": f"The input cannot be used: {problem!r}."}))


if __name__ == "__main__":
    main()
