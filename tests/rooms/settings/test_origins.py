"""Where a setting comes from, and what it overrides."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolwright.contracts.errors import SettingsError
from toolwright.settings import Loaded, Said, every_origin, load, origin_of, trust


class Place:
    """A project with settings files, trusted by its user."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = folder / "project"
        self.project.mkdir()
        self.user_file = self.home / ".config/toolwright/settings.json"

    def put(self, name: str, data: Any) -> str:
        path = self.user_file if name == "user" else self.project / ".toolwright" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(data))
        return str(path)

    def load(self, cli: Any = None, *, trusted: bool = True, **environ: str) -> Loaded:
        variables = {"HOME": str(self.home), **environ}
        if trusted:
            trust(str(self.project), variables)
        return load(str(self.project), environ=variables, cli=cli)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_default_comes_from_nowhere_else(place: Place) -> None:
    found = origin_of(place.load(), "limits.rounds")
    assert (found.value, found.said) == (200, (Said("default", "default", 200),))


def test_the_strongest_source_counts_and_the_others_are_named_in_their_order(place: Place) -> None:
    user = place.put("user", {"concurrency": {"max": 1}})
    project = place.put("settings.json", {"concurrency": {"max": 2}})
    local = place.put("settings.local.json", {"concurrency": {"max": 3}})
    loaded = place.load({"concurrency": {"max": 4}}, TOOLWRIGHT_MAX_TOOL_CONCURRENCY="5")
    found = origin_of(loaded, "concurrency.max")
    assert found.value == 4
    assert [(one.source, one.where, one.value) for one in found.said] == [
        ("cli", "command line", 4),
        ("local", local, 3),
        ("project", project, 2),
        ("user", user, 1),
        ("environment", "TOOLWRIGHT_MAX_TOOL_CONCURRENCY", 5),
    ]
    assert [one.source for one in found.sources] == ["cli"]
    assert len(found.overridden) == 4


def test_rules_of_all_sources_count(place: Place) -> None:
    place.put("user", {"permissions": {"allow": ["A", "B"]}})
    place.put("settings.json", {"permissions": {"allow": ["B", "C"]}})
    found = origin_of(place.load(), "permissions.allow")
    assert found.value == ("B", "C", "A")
    assert [one.source for one in found.sources] == ["project", "user"]
    assert found.overridden == ()


def test_only_managed_allow_rules_count_where_the_settings_say_so(place: Place) -> None:
    place.put("user", {"permissions": {"allow": ["A"], "deny": ["D"], "managed_rules_only": True}})
    loaded = place.load()
    assert origin_of(loaded, "permissions.allow").value == ()
    assert [one.source for one in origin_of(loaded, "permissions.allow").overridden] == ["user"]
    assert origin_of(loaded, "permissions.deny").value == ("D",)


def test_hooks_of_all_sources_count(place: Place) -> None:
    place.put("user", {"hooks": {"PreToolUse": [{"hooks": []}]}})
    place.put("settings.json", {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": []}], "Odd": 3}})
    assert origin_of(place.load(), "hooks").value == {
        "PreToolUse": [{"matcher": "Bash", "hooks": []}, {"hooks": []}],
        "Odd": [3],
    }


def test_entries_of_a_mapping_are_put_together(place: Place) -> None:
    place.put("user", {"features": {"monitor": True, "http_tool": True}})
    found = origin_of(place.load({"features": {"monitor": False}}), "features")
    assert found.value == {"monitor": False, "http_tool": True}
    assert [one.source for one in found.sources] == ["cli", "user"]


def test_what_an_untrusted_project_says_in_vain_is_no_source(place: Place) -> None:
    place.put("settings.json", {"agent": "theirs", "limits": {"rounds": 5}})
    loaded = place.load(trusted=False)
    assert origin_of(loaded, "agent").said == (Said("default", "default", "main"),)
    assert origin_of(loaded, "limits.rounds").value == 5


def test_an_unknown_key_is_answered_with_a_near_one(place: Place) -> None:
    with pytest.raises(SettingsError, match=r"'limits\.round'\. Did you mean 'limits\.rounds'"):
        origin_of(place.load(), "limits.round")
    with pytest.raises(SettingsError, match="toolwright config show"):
        origin_of(place.load(), "zzzzzz")


def test_every_setting_has_the_value_that_is_in_force(place: Place) -> None:
    place.put("user", {"limits": {"calls_per_tool": {"bash": 3}}, "agent": "mine"})
    loaded = place.load()
    found = {one.key: one.value for one in every_origin(loaded)}
    assert found["agent"] == "mine"
    assert found["limits.calls_per_tool"] == {"bash": 3}
    assert found["trusted_projects"] == (str(place.project),)
    assert len(found) == len(set(found)) > 40
