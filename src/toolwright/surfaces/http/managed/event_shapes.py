"""Events that clients send."""

from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from toolwright.contracts.content import Block, Content, DocumentBlock, ImageBlock, TextBlock
from toolwright.surfaces.http.managed.pages import Moment
from toolwright.surfaces.http.problems import Problem
from toolwright.surfaces.http.routes import Query, Shape

_LONGEST_DATA: Final = 32 * 1024 * 1024


class Text(Shape):
    type: Literal["text"]
    text: str


class Base64(Shape):
    type: Literal["base64"]
    media_type: str
    data: str = Field(max_length=_LONGEST_DATA)


class PlainText(Shape):
    type: Literal["text"]
    media_type: Literal["text/plain"] = "text/plain"
    data: str


class Address(Shape):
    type: Literal["url"]
    url: str


class Uploaded(Shape):
    type: Literal["file"]
    file_id: str


class Image(Shape):
    type: Literal["image"]
    source: Annotated[Base64 | Address | Uploaded, Field(discriminator="type")]


class Paper(Shape):
    type: Literal["document"]
    source: Annotated[Base64 | PlainText | Address | Uploaded, Field(discriminator="type")]
    title: str | None = None
    context: str | None = None


class Found(Shape):
    """One thing that a search found."""

    type: Literal["search_result"]
    source: str
    title: str
    content: tuple[Text, ...]
    citations: dict[str, Any] | None = None


MessageBlock = Annotated[Text | Image | Paper, Field(discriminator="type")]
ResultBlock = Annotated[Text | Image | Paper | Found, Field(discriminator="type")]


class UserMessage(Shape):
    """Words for the agent."""

    type: Literal["user.message"]
    content: tuple[MessageBlock, ...] = Field(min_length=1)


class UserInterrupt(Shape):
    """Stop what is going on."""

    type: Literal["user.interrupt"]
    session_thread_id: str | None = None


class ToolConfirmation(Shape):
    """The answer to a call that asks."""

    type: Literal["user.tool_confirmation"]
    tool_use_id: str
    result: Literal["allow", "deny"]
    deny_message: str | None = Field(None, max_length=100_000)
    session_thread_id: str | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.deny_message is not None and self.result != "deny":
            raise ValueError("deny_message: goes with deny only")
        return self


class CustomToolResult(Shape):
    """The result of a call that the client has made."""

    type: Literal["user.custom_tool_result"]
    custom_tool_use_id: str
    content: tuple[ResultBlock, ...] | None = None
    is_error: bool | None = None
    session_thread_id: str | None = None


SentEvent = Annotated[
    UserMessage | UserInterrupt | ToolConfirmation | CustomToolResult, Field(discriminator="type")
]


class Sent(Shape):
    """Events in their order: all of them are taken, or none."""

    events: tuple[SentEvent, ...] = Field(min_length=1, max_length=1_000)


class EventQuery(Query):
    """Which part of a history."""

    limit: int = Field(1_000, ge=1, le=1_000)
    page: str | None = None
    order: Literal["asc", "desc"] = "asc"
    types: tuple[str, ...] = ()
    after_id: str | None = None
    later: Moment | None = Field(None, alias="created_at[gt]")
    since: Moment | None = Field(None, alias="created_at[gte]")
    earlier: Moment | None = Field(None, alias="created_at[lt]")
    until: Moment | None = Field(None, alias="created_at[lte]")


class ThreadEventQuery(Query):
    """Which part of the history of a thread."""

    limit: int = Field(1_000, ge=1, le=1_000)
    page: str | None = None
    after_id: str | None = None


class StreamQuery(Query):
    """What a stream shall hold."""

    event_deltas: tuple[Literal["agent.message", "agent.thinking"], ...] = ()
    after_id: str | None = None


class EventsShown(Shape):
    """Events in their order."""

    data: list[dict[str, Any]]
    next_page: str | None = None


def content(blocks: "tuple[Text | Image | Paper | Found, ...]") -> Content:
    """Return content as sessions know it. May raise Problem for what is not served here."""
    if len(blocks) == 1 and isinstance(blocks[0], Text):
        return blocks[0].text
    return tuple(_block(block) for block in blocks)


def _block(block: "Text | Image | Paper | Found") -> Block:
    match block:
        case Text():
            return TextBlock(block.text)
        case Image(source=Base64() as source):
            return ImageBlock(source.data, source.media_type)
        case Paper(source=Base64() as source):
            return DocumentBlock(source.data, source.media_type, block.title or "")
        case Paper(source=PlainText() as source):
            head = "".join(f"{line}\n" for line in (block.title, block.context) if line)
            return TextBlock(f"{head}{source.data}")
        case Found():
            told = "\n".join(part.text for part in block.content)
            return TextBlock(f"{block.title} ({block.source})\n{told}")
    raise Problem("invalid", f"{block.type}: only content that is sent along can be taken, no {_kind(block)}")


def _kind(block: "Image | Paper") -> str:
    return block.source.type
