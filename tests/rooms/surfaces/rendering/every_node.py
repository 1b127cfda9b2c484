"""One of every node, and a strategy that makes any tree of them."""

from typing import Any

from hypothesis import strategies as st

from toolwright.contracts.view import (
    Badge,
    Code,
    Collapsible,
    Column,
    Command,
    Diff,
    Group,
    Hunk,
    Image,
    Items,
    KeyValue,
    Line,
    Link,
    Node,
    Output,
    Para,
    Path,
    ProgressBar,
    Stack,
    StoredRef,
    Table,
    Text,
    Todo,
    TodoItem,
    Tree,
)

ONE_OF_EACH: tuple[Node, ...] = (
    Text("hello", "ok"),
    Line((Text("see "), Path("src/a.py", 3), Link("https://example.com", "docs"), Badge("new", "accent"))),
    Para("# Title\n\nSome *words* and a [link](https://example.com/x).", markdown=True),
    Code("print(1)\nprint(2)", language="python", start_line=7, highlight=((8, 8),)),
    Command("git push --force", cwd="/w", description="Publishes the branch"),
    Output("\x1b[31mred\x1b[0m plain", stream="stderr", ansi=True),
    Diff("a.py", (Hunk(1, 2, 1, 2, (" keep", "-old", "+new")),), added=1, removed=1, language="python"),
    Table((Column("name"), Column("size", "right")), (("a.py", "12"), ("b.py", "3"))),
    KeyValue((("key", Text("value")), ("more", Code("a\nb")))),
    Items((Text("one"), Text("two")), ordered=True),
    Tree("root", (Tree("child", (Tree("leaf"),)),)),
    Path("/w/a.py", line=4, display="a.py"),
    Link("https://example.com/path"),
    Image("blob:1", "image/png", 20, 10, alt="a chart"),
    Badge("MCP"),
    ProgressBar("Downloading", fraction=0.5, elapsed=3.0, eta=3.0, detail="5 MB"),
    Todo((TodoItem("plan", "completed"), TodoItem("build", "in_progress"), TodoItem("ship", "pending"))),
    Collapsible(Text("first"), Text("first\nsecond"), hidden_lines=1),
    Group(Text("title"), (Text("child"),)),
    Stack((Text("a"), Text("b"))),
    StoredRef("/kept/c1.txt", 52_000, 900, "the start"),
)

texts = st.text(max_size=60) | st.sampled_from(
    [
        "\x1b]0;title\x07",
        "\x1b[2J",
        "a\u202eb",
        "\u200b",
        "日本語テキスト",
        "a\tb  ",
        "[bold]x[/bold]",
        ":smile:",
        "\r\n",
        "x" * 300,
    ]
)
_counts = st.integers(0, 5)
_text = st.builds(Text, texts, st.sampled_from(["plain", "error", "code"]))
_path = st.builds(Path, texts, st.none() | _counts, st.none() | texts)
_link = st.builds(Link, texts, st.none() | texts)
_badge = st.builds(Badge, texts, st.sampled_from(["neutral", "ok"]))
_hunk = st.builds(Hunk, _counts, _counts, _counts, _counts, st.lists(texts, max_size=3).map(tuple))
_rows = st.lists(st.lists(texts, max_size=4).map(tuple), max_size=3).map(tuple)
_columns = st.lists(st.builds(Column, texts, st.sampled_from(["left", "right", "center"])), max_size=4).map(
    tuple
)
_todo_items = st.builds(TodoItem, texts, st.sampled_from(["pending", "in_progress", "completed"]))
_tree = st.recursive(
    st.builds(Tree, texts),
    lambda inner: st.builds(Tree, texts, st.lists(inner, max_size=2).map(tuple)),
    max_leaves=4,
)
_leaves: st.SearchStrategy[Any] = st.one_of(
    _text,
    _path,
    _link,
    _badge,
    st.builds(Line, st.lists(_text | _path | _link | _badge, max_size=3).map(tuple)),
    st.builds(Para, texts, st.booleans()),
    st.builds(Code, texts, st.sampled_from([None, "python", "no-such-language"]), st.none() | _counts),
    st.builds(Command, texts, st.none() | texts, st.none() | texts),
    st.builds(Output, texts, st.sampled_from([None, "stdout", "stderr"]), st.booleans()),
    st.builds(Diff, texts, st.lists(_hunk, max_size=2).map(tuple), _counts, _counts),
    st.builds(Table, _columns, _rows),
    _tree,
    st.builds(Image, texts, st.just("image/png"), _counts, _counts, texts),
    st.builds(
        ProgressBar, texts, st.none() | st.floats(0, 1), st.none() | st.floats(0, 99), st.none(), texts
    ),
    st.builds(Todo, st.lists(_todo_items, max_size=3).map(tuple)),
    st.builds(StoredRef, texts, _counts, _counts, texts),
)
any_node: st.SearchStrategy[Node] = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.builds(KeyValue, st.lists(st.tuples(texts, inner), max_size=3).map(tuple)),
        st.builds(Items, st.lists(inner, max_size=3).map(tuple), st.booleans()),
        st.builds(Collapsible, inner, inner, st.booleans(), st.none() | _counts),
        st.builds(Group, inner, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Stack, st.lists(inner, max_size=3).map(tuple)),
    ),
    max_leaves=6,
)
