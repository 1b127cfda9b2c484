"""Secrets leave no value, whatever its shape."""

from toolwright.contracts.content import ImageBlock, TextBlock
from toolwright.contracts.events import InputComplete
from toolwright.contracts.tool import Done, Failed
from toolwright.contracts.view import Line, Path, Text, View
from toolwright.tool_calls.redaction import scrubbed


def hide(text: str) -> str:
    return text.replace("hunter22", "***")


def test_texts_are_cleaned_at_any_depth() -> None:
    done = Done(
        (TextBlock("is hunter22"), ImageBlock("hunter22", "image/png")),
        data={"a": [{"b": ("hunter22", 1, None)}]},
        view=Line((Text("hunter22"), Path("/hunter22"))),
        notes=("hunter22",),
    )
    assert scrubbed(done, hide) == Done(
        (TextBlock("is ***"), ImageBlock("hunter22", "image/png")),
        data={"a": [{"b": ("***", 1, None)}]},
        view=Line((Text("***"), Path("/***"))),
        notes=("***",),
    )
    event = InputComplete(call_id="1", tool="t", input={"x": "hunter22"})
    assert scrubbed(event, hide) == InputComplete(call_id="1", tool="t", input={"x": "***"})


def test_what_holds_no_secret_stays_the_same_object() -> None:
    for value in (Done("fine"), Failed("timeout", "slow", details={"a": 1}), View(title="t"), "text"):
        assert scrubbed(value, hide) is value
