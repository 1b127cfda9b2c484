"""The context files of a project, as its settings want them."""

from toolwright.catalog.context_files import ContextFiles, read_context_files
from toolwright.settings import Loaded, user_folder


def context_files(loaded: Loaded) -> ContextFiles:
    """Read what people wrote for agents about a project. Blocking."""
    wanted = loaded.settings.context_files
    if not wanted.enabled:
        return ContextFiles()
    return read_context_files(
        loaded.project,
        loaded.project,
        user_folder(loaded.environ),
        trusted=loaded.trusted,
        max_chars=wanted.max_chars,
    )
