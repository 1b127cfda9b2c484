"""A small real model in this process: no key, no network, no server. For trying things out."""

from toolwright.backends.model_providers.local.provider import LocalModel
from toolwright.backends.model_providers.local.weights import SMALLEST, what_is_missing

__all__ = ["SMALLEST", "LocalModel", "what_is_missing"]
