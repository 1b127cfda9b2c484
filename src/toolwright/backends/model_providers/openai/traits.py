"""What one model behind one address takes, and what its refusals teach (pure).

Nothing is assumed for good: a request is made as most servers take it, and when one refuses it with a
message that names a part of it, that part is left out or written otherwise, and this is remembered.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from toolwright.contracts.content import ImageBlock
from toolwright.contracts.messages import MessageBlock, ResultBlock, ThinkingBlock
from toolwright.contracts.models import ModelFault, ModelRequest

LimitField = Literal["max_tokens", "max_completion_tokens", "max_output_tokens", "none"]
Form = Literal["json_schema", "schema", "json_object", "none"]
"""How an answer is forced into a form: by ``response_format`` as OpenAI has it, by a bare ``json_schema``
as llama.cpp has it, to any JSON at all, or only by asking for it."""
_LEAST_ROOM = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What a model and its server take."""

    limit_field: LimitField = "max_tokens"
    most_tokens: int | None = None
    """The highest limit on an answer that is taken."""
    system_role: Literal["system", "developer", "user"] = "system"
    native_tools: bool = True
    strict: bool = True
    tool_choice: bool = True
    usage: bool = True
    """Whether usage may be asked for (``stream_options``)."""
    images: bool = True
    documents: bool = False
    thoughts: bool = True
    """Whether thoughts are taken back."""
    effort: bool = True
    stop: bool = True
    short_ids: bool = False
    alternates: bool = False
    """Whether user and model have to take turns, and something short must stand between two of one side."""
    form: Form = "json_schema"
    cache_key: bool = True
    summaries: bool = True
    """Whether thoughts may be asked for in short (Responses)."""
    brief: bool = False
    """Whether tools that are told of in words are told of in few words."""
    sealed: bool = True
    """Whether sealed thoughts may be asked for (Responses)."""

    @property
    def dialect(self) -> str:
        """The name under which messages are kept that were written for these traits."""
        flags = (
            ("images", self.images),
            ("documents", self.documents),
            ("short", self.short_ids),
            ("told", not self.native_tools),
            ("thoughts", self.thoughts),
            ("alternates", self.alternates),
        )
        return " ".join(["openai-chat", *(name for name, holds in flags if holds)])

    @property
    def system_dialect(self) -> str:
        """The same for the system prompt."""
        told = "" if self.native_tools else " told in few words" if self.brief else " told"
        return f"openai-chat {self.system_role}{told}"


@dataclass(frozen=True, slots=True)
class Sent:
    """What was in a request that may be refused."""

    fields: Mapping[str, object]
    images: bool = False
    thoughts: bool = False


def sent(request: ModelRequest, fields: Mapping[str, object], *, tools: bool) -> Sent:
    """Return what was in a request; ``fields`` are those besides preamble and messages."""
    blocks = [block for message in request.messages for block in message.blocks]
    shown = [part for block in blocks for part in _parts(block)]
    return Sent(
        {**fields, "tools": True} if tools and request.preamble.tools else fields,
        images=any(isinstance(part, ImageBlock) for part in shown),
        thoughts=any(isinstance(block, ThinkingBlock) for block in blocks),
    )


def _parts(block: MessageBlock) -> Sequence[MessageBlock]:
    if isinstance(block, ResultBlock):
        return () if isinstance(block.content, str) else block.content
    return (block,)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a refusal teaches: traits to remember, and a limit for this one request."""

    traits: Traits
    limit: int | None = None


def learned(fault: ModelFault, traits: Traits, sent: Sent) -> Lesson | None:
    """Return what a refusal teaches about a request; None when it names nothing that could be changed."""
    if fault.status not in {400, 404, 405, 415, 422, 500, 501}:
        return None
    said = fault.message
    room = _room(said)
    if room is not None and traits.limit_field in sent.fields:
        return Lesson(traits, room)
    if fault.code == "too_large":
        return None
    for pattern, change in _CHANGES:
        if pattern.search(said):
            changed = change(traits, sent, said)
            if changed is not None and changed != traits:
                return Lesson(changed)
    return None


Change = Callable[[Traits, Sent, str], Traits | None]


def _without_usage(traits: Traits, sent: Sent, _: str) -> Traits | None:
    return replace(traits, usage=False) if "stream_options" in sent.fields else None


def _other_limit(traits: Traits, sent: Sent, said: str) -> Traits | None:
    if traits.limit_field not in sent.fields or traits.limit_field not in said:
        return None
    if (most := _most(said)) is not None:
        return replace(traits, most_tokens=most)
    following: Mapping[LimitField, LimitField] = {
        "max_completion_tokens": "max_tokens",
        "max_tokens": "max_completion_tokens" if "max_completion_tokens" in said else "none",
    }
    return replace(traits, limit_field=following.get(traits.limit_field, "none"))


def _told_tools(traits: Traits, sent: Sent, said: str) -> Traits | None:
    if "/responses" in said:  # the model takes them, only not by this protocol: a person has to choose
        return None
    return replace(traits, native_tools=False) if "tools" in sent.fields else None


def _without_choice(traits: Traits, sent: Sent, _: str) -> Traits | None:
    return replace(traits, tool_choice=False) if "tool_choice" in sent.fields else None


def _without_strict(traits: Traits, sent: Sent, _: str) -> Traits | None:
    return replace(traits, strict=False) if "tools" in sent.fields else None


def _other_role(traits: Traits, _: Sent, said: str) -> Traits | None:
    if traits.system_role == "user":
        return None
    if traits.system_role == "system" and "developer" in said:
        return replace(traits, system_role="developer")
    return replace(traits, system_role="user", alternates=True)


def _alternating(traits: Traits, _: Sent, __: str) -> Traits | None:
    return replace(traits, alternates=True)


def _without_images(traits: Traits, sent: Sent, _: str) -> Traits | None:
    return replace(traits, images=False) if sent.images else None


def _without_thoughts(traits: Traits, sent: Sent, _: str) -> Traits | None:
    return replace(traits, thoughts=False) if sent.thoughts else None


def _without_effort(traits: Traits, sent: Sent, _: str) -> Traits | None:
    return replace(traits, effort=False) if {"reasoning_effort", "reasoning"} & set(sent.fields) else None


def _without_summaries(traits: Traits, sent: Sent, _: str) -> Traits | None:
    return replace(traits, summaries=False) if "reasoning" in sent.fields else None


def _without_stop(traits: Traits, sent: Sent, _: str) -> Traits | None:
    return replace(traits, stop=False) if "stop" in sent.fields else None


def _short_ids(traits: Traits, _: Sent, __: str) -> Traits | None:
    return replace(traits, short_ids=True)


def _other_form(traits: Traits, sent: Sent, _: str) -> Traits | None:
    if not {"response_format", "json_schema"} & set(sent.fields):
        return None
    following: Mapping[Form, Form] = {
        "json_schema": "schema",
        "schema": "json_object",
        "json_object": "none",
        "none": "none",
    }
    return replace(traits, form=following[traits.form])


def _without_key(traits: Traits, sent: Sent, _: str) -> Traits | None:
    return replace(traits, cache_key=False) if "prompt_cache_key" in sent.fields else None


def _unsealed(traits: Traits, sent: Sent, _: str) -> Traits | None:
    return replace(traits, sealed=False) if "include" in sent.fields else None


_NO = (
    r"(?:not (?:\w+ )?(?:support|allow|permit|enabl|recogni[sz])\w*|unsupported|unrecogni[sz]ed"
    r"|unknown|unexpected|extra inputs?|requires?|no support|no endpoints found that support)"
)


def _named(words: str) -> re.Pattern[str]:
    """Matches a refusal and what it is about, in either order and close together."""
    found = rf"(?:{words}).{{0,120}}{_NO}|{_NO}.{{0,120}}(?:{words})"
    return re.compile(found, re.IGNORECASE | re.DOTALL)


_CHANGES: tuple[tuple[re.Pattern[str], Change], ...] = (
    (re.compile(r"stream_options|include_usage"), _without_usage),
    (re.compile(r"max_(?:completion_|output_)?tokens"), _other_limit),
    (re.compile(r"reasoning_content|\breasoning\b.{0,40}(?:messages|input)"), _without_thoughts),
    (re.compile(r"reasoning.summar", re.IGNORECASE), _without_summaries),
    (re.compile(r"reasoning[._]effort|\breasoning\b|thinking_budget|not support thinking"), _without_effort),
    (re.compile(r"tool.?call.?id.{0,80}length", re.IGNORECASE), _short_ids),
    (re.compile(r"roles must alternate", re.IGNORECASE), _alternating),
    (_named(r"\btool_choice\b"), _without_choice),
    (_named(r"\bstrict\b"), _without_strict),
    (_named(r"response_format|json_schema|structured output|guided|grammar"), _other_form),
    (re.compile(r"schema for (?:the )?response_format", re.IGNORECASE), _other_form),
    (_named(r"image|vision|multi-?modal|mmproj"), _without_images),
    (_named(r"\brole\b|system (?:role|message|prompt)"), _other_role),
    (_named(r"\btools?\b(?!\[)|function.?call(?:ing|s)?|--jinja|tool.call.parser"), _told_tools),
    (_named(r"['\"`\s]stop['\"`\s]"), _without_stop),
    (_named(r"prompt_cache_key"), _without_key),
    (_named(r"encrypted_content|\binclude\b"), _unsealed),
)

_WINDOW = r"maximum context length is (?P<window>[0-9]+) tokens"
_ROOMS = (
    re.compile(rf"{_WINDOW} and your request has (?P<asked>[0-9]+) input tokens"),
    re.compile(
        rf"{_WINDOW}\. However, you requested [0-9]+ output tokens and your prompt contains "
        r"(?P<asked>[0-9]+) input tokens"
    ),
    re.compile(rf"{_WINDOW}\. However, you requested [0-9]+ tokens \((?P<asked>[0-9]+) in the messages,"),
)
_TOO_MUCH_WANTED = re.compile(
    r"you requested (?P<wanted>[0-9]+) output tokens and your prompt contains (?:at least|[0-9]+ char)"
)
"""Said without counting the whole prompt: then less is asked for, by half."""
_MOST = re.compile(
    r"(?:at most|less than or equal to|no (?:more|larger|greater) than"
    r"|maximum (?:value|of|is|allowed)[^0-9]{0,30}"
    r"|(?:range|between)[^0-9]{0,40}[0-9]+[^0-9]{1,8})[`'\"\s]*(?P<most>[0-9]+)",
    re.IGNORECASE,
)


def _room(said: str) -> int | None:
    """What a server says is left in its window for an answer; too little is no room."""
    found = next((found for pattern in _ROOMS if (found := pattern.search(said)) is not None), None)
    if found is not None:
        left = int(found["window"]) - int(found["asked"])
    elif (wanted := _TOO_MUCH_WANTED.search(said)) is not None:
        left = int(wanted["wanted"]) // 2
    else:
        return None
    return left if left >= _LEAST_ROOM else None


def _most(said: str) -> int | None:
    found = _MOST.search(said)
    return int(found["most"]) if found is not None and int(found["most"]) > 0 else None
