"""The scripted model: what an item of a script becomes, and what a test may rely on."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright.backends.clock.fake import FakeClock
from toolwright.backends.model_providers.scripted import ScriptedModel, call, thought
from toolwright.contracts.content import ImageBlock, TextBlock
from toolwright.contracts.errors import DefinitionError
from toolwright.contracts.messages import CallBlock, Message, ResultBlock, ThinkingBlock
from toolwright.contracts.models import (
    Answer,
    BlockDone,
    CallDelta,
    ModelEvent,
    ModelFault,
    ModelProfile,
    ModelRequest,
    Preamble,
    TextDelta,
    ThinkingDelta,
    ToolDefinition,
    Usage,
)

pytestmark = pytest.mark.anyio

PREAMBLE = Preamble(("Be brief.",), (ToolDefinition("read", "Reads.", {"type": "object"}),), "preamble-1")


def said(role: Any, text: str) -> Message:
    return Message(role, (TextBlock(text),))


def request(*messages: Message, session: str = "", model: str = "m") -> ModelRequest:
    asked = messages or (said("user", "hello"),)
    return ModelRequest(model=model, preamble=PREAMBLE, messages=asked, max_tokens=100, session_id=session)


async def events(model: ScriptedModel, asked: ModelRequest | None = None) -> list[ModelEvent]:
    async with model.stream(asked or request()) as stream:
        return [event async for event in stream]


async def read_into(seen: list[ModelEvent], model: ScriptedModel) -> None:
    async with model.stream(request()) as stream:
        async for event in stream:
            seen.append(event)


async def answer(model: ScriptedModel, asked: ModelRequest | None = None) -> Answer:
    last = (await events(model, asked))[-1]
    assert isinstance(last, Answer)
    return last


async def test_a_text_comes_in_pieces_and_ends_the_turn() -> None:
    seen = await events(ScriptedModel(["Hello you"], piece=4))
    assert seen[:-1] == [
        TextDelta("Hell"),
        TextDelta("o yo"),
        TextDelta("u"),
        BlockDone(TextBlock("Hello you")),
    ]
    assert isinstance(seen[-1], Answer)
    assert (seen[-1].blocks, seen[-1].stop, seen[-1].model) == ((TextBlock("Hello you"),), "end_turn", "m")


async def test_a_list_is_one_answer_of_thoughts_texts_and_calls() -> None:
    model = ScriptedModel([[thought("Hm."), "Reading.", call("read", file_path="a"), call("read", name="b")]])
    seen = await events(model)
    blocks = (
        ThinkingBlock("Hm.", provider="scripted"),
        TextBlock("Reading."),
        CallBlock("call_1", "read", '{"file_path":"a"}'),
        CallBlock("call_2", "read", '{"name":"b"}'),
    )
    assert isinstance(seen[-1], Answer)
    assert (seen[-1].blocks, seen[-1].stop) == (blocks, "calls")
    assert [event.block for event in seen if isinstance(event, BlockDone)] == list(blocks)
    assert ThinkingDelta("Hm.") in seen
    assert CallDelta("call_2", "read", '{"name":"b"}') in seen


async def test_an_empty_list_is_an_answer_without_words() -> None:
    assert (await answer(ScriptedModel([[]]))).blocks == ()


async def test_an_answer_is_given_as_it_stands_but_for_missing_ids() -> None:
    written = Answer(
        blocks=(TextBlock("part"), CallBlock("", "read", "{broken"), CallBlock("mine", "read", "{}")),
        stop="max_tokens",
        usage=Usage(input_tokens=7),
        model="other",
        answer_id="a-1",
    )
    got = await answer(ScriptedModel([written]))
    assert [block.call_id for block in got.calls] == ["call_1", "mine"]
    assert (got.calls[0].input, got.stop, got.usage, got.model, got.answer_id) == (
        "{broken",
        "max_tokens",
        Usage(input_tokens=7),
        "other",
        "a-1",
    )


async def test_a_fault_is_raised_from_entering_and_the_next_item_follows() -> None:
    model = ScriptedModel([ModelFault("overloaded", "busy", retry_after=2.0), "after"])
    stream = model.stream(request())
    with pytest.raises(ModelFault, match="overloaded: busy") as caught:
        await stream.__aenter__()
    assert caught.value.retry_after == 2.0
    assert (await answer(model)).text == "after"


async def test_what_stands_before_a_fault_is_left_unfinished() -> None:
    seen: list[ModelEvent] = []
    model = ScriptedModel([["whole", "half", ModelFault("cut", "the line broke")]])
    with pytest.raises(ModelFault, match="cut"):
        await read_into(seen, model)
    assert seen == [TextDelta("whole"), BlockDone(TextBlock("whole")), TextDelta("half")]


async def test_a_function_answers_what_was_asked() -> None:
    model = ScriptedModel([lambda asked: f"You said {asked.messages[-1].text}"])
    assert (await answer(model, request(said("user", "hi")))).text == "You said hi"


async def test_a_script_at_its_end_says_what_to_do() -> None:
    model = ScriptedModel(["only"])
    await answer(model)
    with pytest.raises(ModelFault, match=r"holds only 1 item\(s\).*add an answer") as caught:
        await answer(model)
    assert (caught.value.code, caught.value.may_heal) == ("script_ended", False)
    with pytest.raises(ModelFault, match="holds nothing"):
        await answer(ScriptedModel())


async def test_an_event_in_an_answer_holds_it_back() -> None:
    gate, reached = anyio.Event(), anyio.Event()
    model = ScriptedModel([["before", gate, "after"]])
    seen: list[ModelEvent] = []

    async def read() -> None:
        async with model.stream(request()) as stream:
            async for event in stream:
                seen.append(event)
                if event == BlockDone(TextBlock("before")):
                    reached.set()

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await reached.wait()
            assert len(seen) == 2
            gate.set()
    assert BlockDone(TextBlock("after")) in seen


async def test_an_event_between_answers_holds_the_next_one_back_and_may_be_cancelled() -> None:
    gate = anyio.Event()
    model = ScriptedModel([gate, "done"])
    with anyio.move_on_after(0) as waiting:
        await answer(model)
    assert waiting.cancelled_caught
    assert (await answer(model)).text == "done"


async def test_pieces_come_apart_by_the_clock() -> None:
    clock = FakeClock()
    model = ScriptedModel(["abcd"], piece=2, delay=1.5, sleep=clock.sleep)
    seen: list[ModelEvent] = []
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read_into, seen, model)
            await clock.advance(1.5)
            assert seen == [TextDelta("ab")]
            await clock.advance(1.5)
            assert isinstance(seen[-1], Answer)


async def test_leaving_early_ends_the_answer() -> None:
    model = ScriptedModel(["first", "second"], piece=1)
    async with model.stream(request()) as stream:
        assert await anext(stream) == TextDelta("f")
    with pytest.raises(StopAsyncIteration):
        await anext(stream)
    assert (await answer(model)).text == "second"


async def test_requests_are_remembered_as_they_were() -> None:
    model = ScriptedModel(["one", "two"])
    messages = [said("user", "a")]
    asked = ModelRequest(model="m", preamble=PREAMBLE, messages=messages, max_tokens=1)
    await answer(model, asked)
    messages.append(said("assistant", "one"))
    assert [len(old.messages) for old in model.asked] == [1]
    assert model.remaining == 1


async def test_ids_go_on_after_the_calls_that_a_conversation_has() -> None:
    before = Message("assistant", (CallBlock("call_7", "read", "{}"), CallBlock("toolu_9", "read", "{}")))
    results = Message("user", (ResultBlock("call_7", "x"), ResultBlock("toolu_9", "y")))
    model = ScriptedModel([call("read"), call("read")])
    conversation = (said("user", "hello"), before, results)
    assert (await answer(model, request(*conversation))).calls[0].call_id == "call_8"
    assert (await answer(model, request(*conversation, session="other"))).calls[0].call_id == "call_9"


async def test_a_continuing_script_leaves_out_what_a_conversation_already_holds() -> None:
    model = ScriptedModel(["one", "two", "three"], continues=True)
    asked = request(said("user", "a"), said("assistant", "one"), said("user", "b"))
    assert (await answer(model, asked)).text == "two"
    assert (await answer(model, request())).text == "three"


async def test_usage_counts_characters_and_what_a_session_repeats_is_cached() -> None:
    model = ScriptedModel(["12345678", "1234"])
    first = said("user", "x" * 400)
    start = (await answer(model, request(first, session="s"))).usage
    assert (start.output_tokens, start.cache_read_tokens) == (2, 0)
    assert start.input_tokens > 100
    more = Message("user", (ResultBlock("call_1", "y" * 40), ImageBlock("AAAA", "image/png")))
    later = (await answer(model, request(first, more, session="s"))).usage
    assert later == Usage(input_tokens=1010, output_tokens=1, cache_read_tokens=start.input_tokens)


async def test_a_rewritten_conversation_is_counted_anew() -> None:
    model = ScriptedModel(["a", "b"])
    await answer(model, request(said("user", "x" * 400), session="s"))
    assert (await answer(model, request(said("user", "y" * 400), session="s"))).usage.cache_read_tokens == 0


def test_a_profile_is_the_one_given_for_the_model() -> None:
    small = ModelProfile(context_window=1_000)
    model = ScriptedModel(profiles={"small": small})
    assert model.profile("small") is small
    assert model.profile("other") == ModelProfile()


# --- files -----------------------------------------------------------------------------------


async def test_a_file_is_played(tmp_path: Path) -> None:
    script = [
        [{"thought": "Hm."}, {"text": "Reading."}, {"call": "read", "input": {"path": "ä"}}, "And more."],
        {"call": "read", "raw": "{broken", "id": "own"},
        {"fault": "rate_limited", "message": "slower", "retry_after": 3, "status": 429},
        {"parts": ["As far as"], "stop": "max_tokens", "usage": {"output_tokens": 9}},
        {"parts": [{"call": "read"}]},
        "done",
    ]
    file = tmp_path / "script.json"
    file.write_text(json.dumps(script))
    model = ScriptedModel.from_file(str(file))
    assert (await answer(model)).blocks == (
        ThinkingBlock("Hm.", provider="scripted"),
        TextBlock("Reading."),
        CallBlock("call_1", "read", '{"path":"ä"}'),
        TextBlock("And more."),
    )
    assert (await answer(model)).blocks == (CallBlock("own", "read", "{broken"),)
    with pytest.raises(ModelFault, match="rate_limited: slower") as caught:
        await answer(model)
    assert (caught.value.status, caught.value.retry_after) == (429, 3.0)
    cut = await answer(model)
    assert (cut.stop, cut.usage) == ("max_tokens", Usage(output_tokens=9))
    assert (await answer(model)).stop == "calls"
    assert (await answer(model)).text == "done"


async def test_a_file_can_be_gone_on_with(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(json.dumps({"answers": ["one", "two"], "continues": True, "delay": 0}))
    model = ScriptedModel.from_file(str(file))
    asked = request(said("user", "a"), said("assistant", "one"), said("user", "b"))
    assert (await answer(model, asked)).text == "two"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it is not JSON: line 1"),
        ("[" * 100_000, "nested too deep"),
        ("[NaN]", "NaN is not JSON"),
        ('[{"text": "a", "text": "b"}]', "the key 'text' is given twice"),
        ('"text"', "it must be a list of answers or an object"),
        ("{}", "'answers' is missing"),
        ('{"answers": "x"}', "answers must be a list"),
        ('{"answers": [], "delai": 1}', "delai is not known; did you mean 'delay'?"),
        ('{"answers": [], "delay": true}', "delay must be a number of seconds from 0 to 60"),
        ('{"answers": [], "continues": 1}', "continues must be true or false"),
        ("[1]", r"\[0\] must be a text or an object with one of text, thought, call, fault"),
        ('[["a", {"cal": "read"}]]', r"\[0\]\[1\] must have one of .*; did you mean 'call'?"),
        ('[{"call": "read", "input": []}]', r"\[0\].input must be an object"),
        ('[{"call": "read", "raw": "", "input": {}}]', "has an input and a raw one"),
        ('[{"call": 1}]', r"\[0\].call must be a text"),
        ('[{"text": "a", "stop": "x"}]', r"\[0\].stop is not known"),
        ('[{"fault": "overload"}]', r"\[0\].fault must be one of .*; did you mean 'overloaded'?"),
        ('[{"fault": "cut", "status": 7}]', r"\[0\].status must be an HTTP status"),
        ('[{"parts": [], "stop": "done"}]', r"\[0\].stop must be one of end_turn"),
        ('[{"parts": [{"fault": "cut"}]}]', "a fault ends an answer"),
        ('[{"parts": [], "usage": {"output_tokens": -1}}]', "must be a whole number from 0 on"),
        ('[{"parts": [], "usage": {"tokens": 1}}]', r"\[0\].usage.tokens is not known"),
    ],
)
def test_a_wrong_file_is_refused_by_place_and_reason(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "wrong.json"
    file.write_text(text)
    with pytest.raises(DefinitionError, match=f"the script wrong.json: .*{problem}"):
        ScriptedModel.from_file(str(file))


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="cannot be read: No such file"):
        ScriptedModel.from_file(str(tmp_path / "none.json"))
    file = tmp_path / "bytes.json"
    file.write_bytes(b"\xff")
    with pytest.raises(DefinitionError, match="it is not UTF-8"):
        ScriptedModel.from_file(str(file))
