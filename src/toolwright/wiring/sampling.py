"""MCP servers that ask our model: only where that is on, allowed, and not used up."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from toolwright.contracts.content import ImageBlock, TextBlock
from toolwright.contracts.errors import SettingsError
from toolwright.contracts.ids import new_id
from toolwright.contracts.mcp import (
    Elicitation,
    McpFault,
    PromptMessage,
    SamplingAnswer,
    SamplingRequest,
    SamplingSettings,
    ServerDefinition,
)
from toolwright.contracts.mcp_servers import Elicitor
from toolwright.contracts.messages import Message, MessageBlock
from toolwright.contracts.models import Answer, ModelFault, ModelRequest, Preamble
from toolwright.contracts.permissions import Behavior
from toolwright.contracts.tool import McpOrigin, ToolSpec, Traits
from toolwright.tool_calls.permissions.decide import decide
from toolwright.tool_calls.permissions.subject import Policy, Subject
from toolwright.turns.parts import ModelLookup

if TYPE_CHECKING:
    from toolwright.contracts.mcp_servers import Sampler

NAME: Final = "@sampling"
"""What rules call it: ``mcp__server__@sampling``."""
_MOST_TOKENS: Final = 16_000


@dataclass(slots=True)
class Used:
    """How often servers have asked today, all sessions of an engine together."""

    _day: str = ""
    _counts: Counter[str] = field(default_factory=Counter)

    def spend(self, server: str, most: int) -> bool:
        """Count one more; False when the day's share is used up."""
        today = time.strftime("%Y-%m-%d")
        if today != self._day:
            self._day, self._counts = today, Counter()
        if self._counts[server] >= most:
            return False
        self._counts[server] += 1
        return True


@dataclass(frozen=True, slots=True)
class ModelSampler:
    """``Sampler`` of one session, over the models of its engine."""

    lookup: ModelLookup
    model: Callable[[], str]
    """The session's own, where the entry names none."""
    policy: Callable[[], Policy]
    used: Used
    elicitor: Elicitor | None = None

    async def sample(self, server: ServerDefinition, asked: SamplingRequest) -> SamplingAnswer:
        settings = server.sampling
        if settings is None:
            raise McpFault("refused", "Sampling is off for this server.")
        await self._permit(server, asked)
        if not self.used.spend(server.name, settings.daily_limit):
            raise McpFault("refused", f"This server has asked {settings.daily_limit} times today already.")
        return await self._asked(settings, asked)

    async def _permit(self, server: ServerDefinition, asked: SamplingRequest) -> None:
        behavior = sampling_behavior(self.policy(), server.name)
        if behavior == "allow":
            return
        if behavior == "deny" or self.elicitor is None:
            raise McpFault("refused", "Asking the model is not permitted to this server.")
        said = " ".join(message.part.text for message in asked.messages)[:1_000]
        question = Elicitation(message=f"It wants your model to answer this:\n{said}", schema=_JUST_YES)
        if (await self.elicitor.elicit(server.name, question)).action != "accept":
            raise McpFault("refused", "The user did not allow it.")

    async def _asked(self, settings: SamplingSettings, asked: SamplingRequest) -> SamplingAnswer:
        try:
            model = self.lookup(settings.model or self.model())
            request = ModelRequest(
                model=model.name,
                preamble=Preamble((asked.system,) if asked.system else (), (), new_id("sampling")),
                messages=messages_of(asked),
                max_tokens=max(min(asked.max_tokens, settings.max_tokens, _MOST_TOKENS), 1),
                session_id=new_id("sampling"),
            )
            async with model.provider.stream(request) as events:
                answers = [event async for event in events if isinstance(event, Answer)]
        except (SettingsError, ModelFault) as problem:
            raise McpFault("refused", "The model could not be asked.") from problem
        if not answers:
            raise McpFault("refused", "The model did not answer.")
        stop = "maxTokens" if answers[-1].stop == "max_tokens" else "endTurn"
        return SamplingAnswer(text=answers[-1].text, model=answers[-1].model or model.written, stop=stop)


_JUST_YES: Final = {"type": "object", "properties": {}}


def sampling_behavior(policy: Policy, server: str) -> Behavior:
    """Return what the rules say about a server that asks the model (pure)."""
    spec = ToolSpec(
        name=f"mcp.{server}.{NAME}",
        description="",
        input_schema={},
        source="mcp",
        mcp=McpOrigin(server, NAME),
    )
    subject = Subject(
        spec=spec,
        offered_name=f"mcp__{server}__{NAME}",
        input={},
        raw_input={},
        traits=Traits(open_world=True),
    )
    return decide(policy, subject).behavior


def messages_of(asked: SamplingRequest) -> list[Message]:
    """Return a server's messages as a model is asked them: neighbours of one side in one message (pure)."""
    messages: list[Message] = []
    for message in asked.messages:
        block = _block(message)
        if messages and messages[-1].role == message.role:
            messages[-1] = Message(message.role, (*messages[-1].blocks, block))
        else:
            messages.append(Message(message.role, (block,)))
    if not messages or messages[0].role != "user":
        messages.insert(0, Message("user", (TextBlock("Go on."),)))
    return messages


def _block(message: PromptMessage) -> MessageBlock:
    part = message.part
    if part.kind == "image" and message.role == "user":
        return ImageBlock(part.data, part.media_type)
    return TextBlock(part.text or f"[{part.kind}]")


if TYPE_CHECKING:

    def _conforms(sampler: ModelSampler) -> Sampler:
        return sampler
