"""Where a path leads: every link on the way, the last place final."""

from pathlib import Path

from toolwright.workspaces.hops import places


def test_a_path_without_links_leads_to_itself(tmp_path: Path) -> None:
    here = tmp_path.resolve()
    assert places(f"{here}/no/such/file") == (f"{here}/no/such/file",)


def test_every_link_on_the_way_is_named(tmp_path: Path) -> None:
    here = tmp_path.resolve()
    (here / "end").mkdir()
    (here / "middle").symlink_to("end")
    (here / "first").symlink_to(here / "middle")
    assert places(f"{here}/first/x") == (f"{here}/middle/x", f"{here}/end/x")


def test_a_link_may_climb(tmp_path: Path) -> None:
    here = tmp_path.resolve()
    (here / "a").mkdir()
    (here / "a" / "up").symlink_to("../b")
    assert places(f"{here}/a/up/x") == (f"{here}/b/x",)


def test_a_climb_after_a_link_starts_where_the_link_leads(tmp_path: Path) -> None:
    here = tmp_path.resolve()
    (here / "deep" / "er").mkdir(parents=True)
    (here / "link").symlink_to("deep/er")
    (here / "two").symlink_to("link/../secret")
    assert places(f"{here}/two")[-1] == f"{here}/deep/secret"


def test_a_loop_comes_to_an_end(tmp_path: Path) -> None:
    here = tmp_path.resolve()
    (here / "a").symlink_to("b")
    (here / "b").symlink_to("a")
    assert places(f"{here}/a")


def test_names_that_are_no_paths_are_left_alone() -> None:
    assert places("/a\0b") == ("/a\0b",)
