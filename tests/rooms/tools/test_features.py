"""Gates: the strongest source decides, and what is decided stays."""

import logging

import pytest

from toolwright.contracts.errors import SettingsError
from toolwright.tools.features import DEFAULTS, Features, resolved


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, (False, "default")),
        ({"detected": {"lsp": True}}, (True, "detected")),
        ({"detected": {"lsp": True}, "settings": {"lsp": False}}, (False, "settings")),
        ({"settings": {"lsp": False}, "environ": {"TOOLWRIGHT_FEATURE_LSP": "yes"}}, (True, "environment")),
        ({"environ": {"TOOLWRIGHT_FEATURE_LSP": "1"}, "cli": {"lsp": False}}, (False, "command line")),
        ({"cli": {"lsp": False}, "managed": {"lsp": True}}, (True, "managed")),
    ],
    ids=str,
)
def test_stronger_source_decides(given: dict[str, dict[str, bool]], expected: tuple[bool, str]) -> None:
    features = resolved(
        managed=given.get("managed"),
        cli=given.get("cli"),
        environ={name: str(value) for name, value in given.get("environ", {}).items()},
        settings=given.get("settings"),
        detected=given.get("detected"),
    )

    assert (features.on("lsp"), features.origins["lsp"]) == expected


def test_environment_that_is_neither_yes_nor_no_counts_not(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        features = resolved(environ={"TOOLWRIGHT_FEATURE_MONITOR": "maybe"})

    assert features.on("monitor")
    assert [record.args for record in caplog.records] == [("TOOLWRIGHT_FEATURE_MONITOR",)]


def test_unknown_feature_is_an_error_with_a_near_name() -> None:
    with pytest.raises(SettingsError, match="Did you mean 'monitor'"):
        resolved(settings={"monitr": True})


def test_features_without_any_source_are_the_defaults() -> None:
    assert dict(Features().values) == dict(resolved().values) == dict(DEFAULTS)
