"""OpenAI's protocols, spoken to OpenAI itself and to the many servers that speak them too."""

from toolwright.backends.model_providers.openai.chat import ChatModels
from toolwright.backends.model_providers.openai.responses import ResponsesModels
from toolwright.backends.model_providers.openai.settings import OFFICIAL_URL, OpenAISettings

__all__ = ["OFFICIAL_URL", "ChatModels", "OpenAISettings", "ResponsesModels"]
