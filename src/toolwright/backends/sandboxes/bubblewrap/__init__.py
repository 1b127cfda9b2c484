"""Run programs in bubblewrap: own namespaces, own root, filtered system calls, bounded resources."""

from toolwright.backends.sandboxes.bubblewrap.egress import OpenProxy
from toolwright.backends.sandboxes.bubblewrap.sandbox import BubblewrapSandbox

__all__ = ["BubblewrapSandbox", "OpenProxy"]
