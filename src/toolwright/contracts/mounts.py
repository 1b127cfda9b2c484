"""Folders of this machine that a session sees under paths of their own."""

from toolwright.contracts.values import value


@value(frozen=True, slots=True, kw_only=True)
class Mount:
    """A path that calls see, and the folder that lies there. Tools and commands see it alike."""

    path: str
    """Absolute and normalised."""
    folder: str
    """On this machine; no call is told of it."""
    writable: bool = False
    about: str = ""
    """What a model is told of it."""
