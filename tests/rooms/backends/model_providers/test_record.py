"""Recording a conversation with a model and playing it again: what is kept, what is hidden, what differs."""

import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as some

from toolwright.backends.model_providers.cassette import CassetteModel
from toolwright.backends.model_providers.cassette_format import event_lines, events_of
from toolwright.backends.model_providers.differences import first_difference
from toolwright.backends.model_providers.record import RecordingModel
from toolwright.backends.model_providers.scripted import Item, ScriptedModel, call, thought
from toolwright.contracts.content import ImageBlock, TextBlock
from toolwright.contracts.errors import DefinitionError, EngineFault
from toolwright.contracts.messages import CallBlock, Message, ResultBlock, ThinkingBlock
from toolwright.contracts.models import (
    Answer,
    BlockDone,
    CallDelta,
    ModelEvent,
    ModelFault,
    ModelProfile,
    ModelProvider,
    ModelRequest,
    Preamble,
    Prices,
    TextDelta,
    ThinkingDelta,
    ToolDefinition,
)

pytestmark = pytest.mark.anyio

SECRET = "hunter2-hunter2"


def hide(text: str) -> str:
    return text.replace(SECRET, "[redacted]")


def preamble(system: str = "Be brief.") -> Preamble:
    return Preamble((system,), (ToolDefinition("read", "Reads.", {"type": "object"}),), "p")


def request(
    *messages: Message, system: str = "Be brief.", session: str = "s", **members: Any
) -> ModelRequest:
    asked = messages or (Message("user", (TextBlock("hello"),)),)
    given = {"model": "big", "max_tokens": 100, **members}
    return ModelRequest(preamble=preamble(system), messages=asked, session_id=session, **given)


async def listened(model: ModelProvider, asked: ModelRequest | None = None) -> list[ModelEvent | ModelFault]:
    """Everything that comes of a request, its fault included."""
    seen: list[ModelEvent | ModelFault] = []
    try:
        async with model.stream(asked or request()) as stream:
            async for event in stream:
                seen.append(event)
    except ModelFault as fault:
        seen.append(fault)
    return seen


def plain(seen: list[ModelEvent | ModelFault]) -> list[object]:
    return [(one.code, one.message, one.status) if isinstance(one, ModelFault) else one for one in seen]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "cassette.jsonl")


async def recorded(path: str, *script: Item, asked: tuple[ModelRequest, ...] = ()) -> list[list[object]]:
    model = RecordingModel(ScriptedModel(script, piece=4), path, redact=hide)
    seen = [plain(await listened(model, one)) for one in asked or (request(),) * len(script)]
    await model.close()
    return seen


async def test_a_recorded_conversation_is_played_again_piece_by_piece(path: str) -> None:
    seen = await recorded(
        path,
        [thought("Let me see."), "Reading now.", call("read", path="a"), call("read", path="b")],
        ModelFault("overloaded", "busy", status=529, retry_after=2.0, request_id="req_1"),
        ["cut in the middle", ModelFault("cut", "the line broke")],
        "done",
    )
    cassette = CassetteModel(path)
    again = [plain(await listened(cassette, request())) for _ in range(4)]
    assert again == seen
    assert cassette.remaining == 0


async def test_a_recording_changes_nothing_for_those_who_listen(path: str) -> None:
    script: list[Item] = [f"The password is {SECRET}.", ModelFault("cut", SECRET)]
    through = await recorded(path, *script)
    plainly = ScriptedModel(script, piece=4)
    assert through == [plain(await listened(plainly)) for _ in range(2)]


async def test_a_cassette_at_its_end_says_what_to_do(path: str) -> None:
    await recorded(path, "one")
    cassette = CassetteModel(path)
    await listened(cassette)
    (fault,) = await listened(cassette)
    assert isinstance(fault, ModelFault)
    assert fault.code == "script_ended"
    assert "holds 1 answer(s) and was asked once more: record again" in fault.message


async def test_no_secret_is_written_even_when_pieces_cut_it(path: str) -> None:
    asked = request(
        Message("user", (TextBlock(f"use {SECRET}"),)),
        Message("assistant", (CallBlock("c1", "read", f'{{"key": "{SECRET}"}}'),)),
        Message("user", (ResultBlock("c1", (TextBlock(SECRET),)), ResultBlock("c2", f"is {SECRET}"))),
        system=f"The key is {SECRET}.",
        stop_sequences=(SECRET,),
    )
    say: Item = [thought(f"so {SECRET}!"), f"It is {SECRET}, yes.", call("bash", command=f"echo {SECRET}")]
    await recorded(path, say, ModelFault("bad_request", f"no {SECRET}"), asked=(asked, asked))
    assert SECRET not in Path(path).read_text()
    assert "hunter2" not in Path(path).read_text()
    seen = await listened(CassetteModel(path, redact=hide), asked)
    assert isinstance(seen[-1], Answer)
    assert [getattr(block, "text", "") for block in seen[-1].blocks] == [
        "so [redacted]!",
        "It is [redacted], yes.",
        "",
    ]
    assert TextDelta("It is [redacted], yes.") in seen
    assert seen[-1].calls[0].input == '{"command":"echo [redacted]"}'


async def test_a_cassette_is_private_and_replaces_an_older_one(path: str) -> None:
    await recorded(path, "old", "older")
    await recorded(path, "new")
    assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
    seen = await listened(CassetteModel(path))
    assert isinstance(seen[-1], Answer)
    assert seen[-1].text == "new"


async def test_each_message_is_written_once_and_images_only_as_digests(path: str) -> None:
    first = Message("user", (TextBlock("only once"), ImageBlock("QUJD", "image/png")))
    second = Message("assistant", (TextBlock("one"),))
    again = Message("user", (TextBlock("only once"), ImageBlock("QUJD", "image/png")))
    asked = (request(first), request(first, second, again))
    await recorded(path, "one", "two", asked=asked)
    written = Path(path).read_text()
    assert written.count("only once") == 1
    assert "QUJD" not in written


@pytest.mark.parametrize(
    ("asked", "difference"),
    [
        (request(effort="high"), 'effort: recorded "off", asked "high"'),
        (request(max_tokens=7), "max_tokens: recorded 100, asked 7"),
        (request(model="small"), 'model: recorded "big", asked "small"'),
        (request(system="Be long."), 'system[0]: recorded "Be brief.", asked "Be long."'),
        (request(Message("assistant", (TextBlock("hello"),))), 'role: recorded "user", asked "assistant"'),
        (
            request(Message("user", (TextBlock("hello"),)), Message("user", (TextBlock("and"),))),
            'messages[1]: recorded nothing, asked {"role":"user"',
        ),
        (
            request(Message("user", (TextBlock("x" * 500 + "y"),))),
            'messages[0].blocks[0].text: recorded "hello", asked "xxx',
        ),
    ],
)
async def test_a_request_that_differs_is_refused_with_the_first_difference(
    path: str, asked: ModelRequest, difference: str
) -> None:
    await recorded(path, "one")
    cassette = CassetteModel(path)
    (fault,) = await listened(cassette, asked)
    assert isinstance(fault, ModelFault)
    assert (fault.code, fault.may_heal) == ("bad_request", False)
    assert difference in fault.message
    assert "Record again, or replay by order" in fault.message
    assert isinstance((await listened(cassette))[-1], Answer)


async def test_the_difference_far_inside_a_long_text_is_shown(path: str) -> None:
    long = "a" * 1000
    await recorded(path, "one", asked=(request(Message("user", (TextBlock(long + "X" + long),))),))
    (fault,) = await listened(CassetteModel(path), request(Message("user", (TextBlock(long + "Y" + long),))))
    assert isinstance(fault, ModelFault)
    assert "aX" in fault.message
    assert "aY" in fault.message
    assert len(fault.message) < 700


async def test_another_session_or_order_is_no_difference(path: str) -> None:
    other = request(Message("user", (TextBlock("other"),)))
    await recorded(path, "to hello", "to other", asked=(request(), other))
    cassette = CassetteModel(path)
    later = await listened(cassette, request(Message("user", (TextBlock("other"),)), session="t"))
    assert isinstance(later[-1], Answer)
    assert later[-1].text == "to other"
    assert isinstance((await listened(cassette, request(session="u")))[-1], Answer)


async def test_by_order_each_request_gets_the_next_answer(path: str) -> None:
    await recorded(path, "one", "two")
    cassette = CassetteModel(path, match="order")
    seen = [await listened(cassette, request(system=f"Other {number}.")) for number in range(2)]
    assert [answer[-1].text for answer in seen if isinstance(answer[-1], Answer)] == ["one", "two"]


async def test_another_system_prompt_is_no_difference_where_only_the_conversation_counts(path: str) -> None:
    await recorded(path, "one", "two")
    cassette = CassetteModel(path, match="conversation")
    assert isinstance((await listened(cassette, request(system="Another day.")))[-1], Answer)
    other_tools = Preamble(("Be brief.",), (), "p")
    asked = replace(request(), preamble=other_tools)
    for differing, words in (
        (asked, 'tools[0]: recorded {"name":"read"'),
        (request(max_tokens=7), "max_tokens"),
        (request(Message("user", (TextBlock("x"),)), system="Another."), "messages[0].blocks[0].text"),
    ):
        (fault,) = await listened(cassette, differing)
        assert isinstance(fault, ModelFault)
        assert words in fault.message
        assert "system[" not in fault.message
    assert cassette.remaining == 1


async def test_names_stand_for_folders_and_session_and_are_shown_as_they_are_now(path: str) -> None:
    here, there = {"project": "/home/me/work"}, {"project": "/builds/7"}
    say: Item = [
        thought("in /home/me/work"),
        "See /home/me/work/a.txt of session_0123.",
        call("read", path="/home/me/work/a.txt"),
    ]
    asked = request(Message("user", (TextBlock("/home/me/work of session_0123"),)), session="session_0123")
    model = RecordingModel(ScriptedModel([say], piece=4), path, places=here)
    through = await listened(model, asked)
    await model.close()
    assert isinstance(through[-1], Answer)
    assert through[-1].text == "See /home/me/work/a.txt of session_0123."
    assert "/home/me" not in Path(path).read_text()
    assert "session_0123" not in Path(path).read_text()
    moved = request(Message("user", (TextBlock("/builds/7 of session_4567"),)), session="session_4567")
    again = await listened(CassetteModel(path, places=there), moved)
    answer = again[-1]
    assert isinstance(answer, Answer)
    assert answer.text == "See /builds/7/a.txt of session_4567."
    assert answer.calls[0].input == '{"path":"/builds/7/a.txt"}'
    assert ThinkingDelta("in /builds/7") in again
    assert [event.json for event in again if isinstance(event, CallDelta)] == [answer.calls[0].input]
    assert [event.block for event in again if isinstance(event, BlockDone)] == list(answer.blocks)


async def test_names_do_not_stand_for_what_is_found_by_chance(path: str) -> None:
    model = RecordingModel(ScriptedModel(["a/b"]), path, places={"project": "/", "home": ""})
    await listened(model, request(session="s"))
    await model.close()
    assert "⟦" not in Path(path).read_text()


async def test_the_longest_folder_is_named_first(path: str) -> None:
    places = {"home": "/home/me", "project": "/home/me/work"}
    model = RecordingModel(ScriptedModel(["/home/me/work/a, /home/me/b"]), path, places=places)
    await listened(model)
    await model.close()
    assert "⟦project⟧/a, ⟦home⟧/b" in Path(path).read_text()


async def test_an_answer_that_was_left_is_played_up_to_there(path: str) -> None:
    model = RecordingModel(ScriptedModel(["abcdefgh"], piece=2), path)
    async with model.stream(request()) as stream:
        assert await anext(stream) == TextDelta("ab")
        assert await anext(stream) == TextDelta("cd")
    await model.close()
    *seen, fault = await listened(CassetteModel(path))
    assert seen == [TextDelta("ab"), TextDelta("cd")]
    assert isinstance(fault, ModelFault)
    assert (fault.code, "nobody waited" in fault.message) == ("cut", True)


async def test_names_and_profiles_are_those_of_the_recorded_model(path: str) -> None:
    profile = ModelProfile(
        context_window=9_000, prices=Prices(input=3.0, long_from=9, long=Prices(input=6.0))
    )
    inner = ScriptedModel(["one"], profiles={"big": profile})
    model = RecordingModel(inner, path)
    assert (model.name, model.profile("big")) == ("scripted", profile)
    await listened(model)
    await model.close()
    await model.close()
    cassette = CassetteModel(path)
    assert (cassette.name, cassette.models, cassette.profile("big")) == ("cassette", ("big",), profile)
    assert cassette.profile("unheard of") == ModelProfile()


async def test_halves_of_surrogate_pairs_do_not_stop_a_recording(path: str) -> None:
    asked = request(Message("user", (TextBlock("a \ud800 b"),)))
    await recorded(path, "one", asked=(asked,))
    assert isinstance((await listened(CassetteModel(path), asked))[-1], Answer)


async def test_a_recording_that_cannot_be_written_fails_loudly(tmp_path: Path) -> None:
    model = RecordingModel(ScriptedModel(["one"]), str(tmp_path / "none" / "a.jsonl"))
    with pytest.raises(EngineFault, match="cannot be written: No such file"):
        await listened(model)


def test_a_cassette_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="cannot be read: No such file"):
        CassetteModel(str(tmp_path / "none.jsonl"))


def drop(part: str) -> Callable[[bytes], bytes]:
    return lambda text: b"\n".join(
        line for line in text.split(b"\n") if not line.startswith(b'{"' + part.encode())
    )


@pytest.mark.parametrize(
    ("spoil", "number"),
    [
        (lambda text: text[:-20], 4),
        (lambda text: text.replace(b'{"cassette":1', b'{"cassette":99'), 1),
        (lambda text: text.replace(b'"type":"text"', b'"type":"tune"'), 4),
        (lambda text: text.replace(b'"stop":"end_turn",', b""), 4),
        (drop("message"), 3),
        (drop("preamble"), 3),
        (lambda text: b"[]\n", 1),
    ],
)
async def test_damage_is_named_by_its_line(path: str, spoil: Callable[[bytes], bytes], number: int) -> None:
    await recorded(path, "one")
    Path(path).write_bytes(spoil(Path(path).read_bytes()))
    with pytest.raises(DefinitionError, match=f"line {number} of the cassette .* is damaged"):
        CassetteModel(path)


# --- pure parts ------------------------------------------------------------------------------

texts = some.text(some.characters(exclude_categories=["Cs"]), max_size=12)
deltas = some.one_of(
    texts.map(TextDelta),
    texts.map(ThinkingDelta),
    some.builds(CallDelta, some.sampled_from(["c1", "c2"]), some.just("read"), texts),
)
blocks = some.one_of(
    texts.map(TextBlock),
    some.builds(CallBlock, texts, texts, texts),
    some.builds(ThinkingBlock, texts, texts, texts, some.booleans()),
)


@given(some.lists(some.one_of(deltas, blocks.map(BlockDone)), max_size=12), some.lists(blocks, max_size=3))
def test_events_survive_being_written(before: list[ModelEvent], said: list[Any]) -> None:
    events: list[ModelEvent] = [*before, Answer(blocks=tuple(said), stop="end_turn")]
    lines = orjson.loads(orjson.dumps(event_lines(events, lambda text: text)))
    again = [event for line in lines for event in events_of(line)]
    empty = [TextDelta(""), ThinkingDelta(""), CallDelta("c1", "read", ""), CallDelta("c2", "read", "")]
    assert again == [event for event in events if event not in empty]


@given(some.lists(deltas, max_size=12), some.text("ab", min_size=2, max_size=3))
def test_no_secret_survives_in_the_joined_pieces(events: list[ModelEvent], secret: str) -> None:
    lines = event_lines(events, lambda text: text.replace(secret, "#"))
    for kind in ("text", "thinking"):
        assert secret not in "".join(piece for line in lines for piece in line.get(kind, ()))


json_values = some.recursive(
    some.none() | some.booleans() | some.integers(-5, 5) | texts,
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@given(json_values, json_values)
def test_a_difference_is_found_exactly_when_there_is_one(left: Any, right: Any) -> None:
    written = [orjson.dumps(value, option=orjson.OPT_SORT_KEYS) for value in (left, right)]
    assert bool(first_difference(left, right)) == (written[0] != written[1])


def test_true_is_not_one() -> None:
    assert first_difference({"a": [True]}, {"a": [1]}) == "a[0]: recorded true, asked 1"
