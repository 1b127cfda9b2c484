"""Names of models that people and clients use, and which models they mean here."""

from toolwright.settings import Loaded

ANY = "*"
"""The name that stands for every name which is not listed."""


def translated(loaded: Loaded, written: str) -> str:
    """Return the model that a name stands for in the settings; the name itself where it stands for none."""
    names = loaded.settings.models.names
    return names.get(written) or names.get(ANY) or written


def nameable(loaded: Loaded) -> list[str]:
    """Return the names that are worth naming: those of the settings, in order."""
    models = loaded.settings.models
    listed = {f"{name}/{model}" for name, provider in models.providers.items() for model in provider.models}
    named = {name for name in models.names if name != ANY}
    return sorted(listed | named | ({loaded.settings.model} if loaded.settings.model else set()))
