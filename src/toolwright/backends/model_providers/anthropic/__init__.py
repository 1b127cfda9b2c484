"""The Anthropic Messages protocol, spoken to Anthropic itself and to servers that speak it too."""

from toolwright.backends.model_providers.anthropic.provider import (
    OFFICIAL_URL,
    AnthropicModels,
    AnthropicSettings,
)

__all__ = ["OFFICIAL_URL", "AnthropicModels", "AnthropicSettings"]
