"""What a model has read and said: messages, made of blocks.

A message never changes once it is made, so each provider may keep with it the bytes it is sent as.
"""

from dataclasses import dataclass, field
from typing import Literal

from toolwright.contracts.content import Content, DocumentBlock, ImageBlock, TextBlock
from toolwright.contracts.values import value


@value(frozen=True)
class ThinkingBlock:
    """What a model thought aloud. Sent back unchanged, and only to the provider that wrote it."""

    text: str
    signature: str = ""
    """The provider's seal; for thoughts it keeps to itself, all there is of them."""
    provider: str = ""
    redacted: bool = False
    type: Literal["thinking"] = "thinking"


@value(frozen=True)
class CallBlock:
    """A model asks for a call. ``name`` is as offered; ``input`` is the raw JSON text that it wrote."""

    call_id: str
    name: str
    input: str
    type: Literal["call"] = "call"


@value(frozen=True, slots=True)
class ResultBlock:
    """What a model reads of a call that is over."""

    call_id: str
    content: Content
    is_error: bool = False
    loads: tuple[str, ...] = ()
    """Wire names of tools that can be called from here on; ``content`` says so in words, with definitions.
    Providers that keep definitions aside are told the names in place of the words."""
    type: Literal["result"] = "result"


SaidBlock = TextBlock | ThinkingBlock | CallBlock
"""What a model can say."""
MessageBlock = TextBlock | ImageBlock | DocumentBlock | ThinkingBlock | CallBlock | ResultBlock


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """One entry of a conversation. Compared by identity: the conversation is what the log says it is."""

    role: Literal["user", "assistant"]
    blocks: tuple[MessageBlock, ...]
    encoded: dict[str, bytes] = field(default_factory=dict, repr=False)
    """The message as a provider sends it, by the provider's dialect; each is made once."""

    @property
    def calls(self) -> tuple[CallBlock, ...]:
        return tuple(block for block in self.blocks if isinstance(block, CallBlock))

    @property
    def text(self) -> str:
        """The words of it, without thoughts and results."""
        return "\n".join(block.text for block in self.blocks if isinstance(block, TextBlock))
