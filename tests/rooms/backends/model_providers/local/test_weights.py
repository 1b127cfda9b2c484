"""Which file holds the weights of a local model."""

from pathlib import Path

import pytest

from toolwright.backends.model_providers.local.running import half_of_the_cores
from toolwright.backends.model_providers.local.weights import weights_of
from toolwright.contracts.models import ModelFault


def test_weights_are_named_by_their_file_in_the_folder_or_by_a_whole_path(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models/own.gguf").write_bytes(b"GGUF")
    whole = str(tmp_path / "models/own.gguf")
    assert weights_of("models/own.gguf", str(tmp_path)) == whole
    assert weights_of(whole, "/somewhere/else") == whole


def test_weights_of_a_user_are_found_in_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.gguf").write_bytes(b"GGUF")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert weights_of("~/own.gguf", "/somewhere/else") == str(tmp_path / "own.gguf")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            "qwen3",
            "there is no local model 'qwen3': write local/smollm2, or local/ and the path of a GGUF file",
        ),
        ("none.gguf", "there is no file"),
        ("folder.gguf", "there is no file"),
    ],
)
def test_what_is_no_file_of_weights_says_what_to_write(tmp_path: Path, model: str, words: str) -> None:
    (tmp_path / "folder.gguf").mkdir()
    with pytest.raises(ModelFault) as caught:
        weights_of(model, str(tmp_path))
    assert (caught.value.code, caught.value.may_heal) == ("not_found", False)
    assert words in caught.value.message


def test_at_least_one_core_computes() -> None:
    assert half_of_the_cores() >= 1
