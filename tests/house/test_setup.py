"""scripts/setup with a Python that only writes down what it is asked to do."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INSTALL = "install --quiet --disable-pip-version-check --editable .[dev]"
STUB = """#!/bin/bash
echo "${0##*/} $*" >>"$LOG"
case "$*" in
    "-m venv --clear .venv") [ -z "$NO_ENSUREPIP" ] || exit 1 ;;
    "-m pip --version") [ "${0##*/}" != python ] || [ -z "$NO_ENSUREPIP" ] || exit 1 ;;
esac
case "$*" in "-m venv "*) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;; esac
"""


class Checkout:
    """A folder with the script, and the words its Python was called with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stub = folder.parent / "outer"
        self.log = folder.parent / "log"

    def set_up(self, **env: str) -> list[str]:
        self.log.write_text("")
        subprocess.run(
            [self.folder / "scripts" / "setup"],
            env={**os.environ, "PYTHON": str(self.stub), "LOG": str(self.log), "NO_ENSUREPIP": "", **env},
            check=True,
            capture_output=True,
        )
        return [line for line in self.log.read_text().splitlines() if " -c " not in line]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    made = Checkout(tmp_path / "checkout")
    (made.folder / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "setup", made.folder / "scripts")
    (made.folder / "pyproject.toml").write_text("")
    os.utime(made.folder / "pyproject.toml", (0, 0))
    made.stub.write_text(STUB)
    made.stub.chmod(0o755)
    return made


def test_the_first_run_installs_and_the_second_does_nothing(checkout: Checkout) -> None:
    assert checkout.set_up() == [
        "outer -m venv --clear .venv",
        "python -m pip --version",
        f"python -m pip {INSTALL}",
    ]
    assert checkout.set_up() == []


def test_changed_dependencies_are_installed_into_the_same_venv(checkout: Checkout) -> None:
    checkout.set_up()
    os.utime(checkout.folder / ".venv" / ".installed", (0, 0))
    os.utime(checkout.folder / "pyproject.toml")

    assert checkout.set_up() == ["python -m pip --version", f"python -m pip {INSTALL}"]


def test_without_the_means_to_put_pip_into_a_venv_the_systems_own_pip_is_used(checkout: Checkout) -> None:
    assert checkout.set_up(NO_ENSUREPIP="yes") == [
        "outer -m venv --clear .venv",
        "outer -m venv --clear --without-pip .venv",
        "python -m pip --version",
        f"outer -m pip --python .venv/bin/python {INSTALL}",
    ]


def test_a_copied_folder_does_not_use_the_venv_of_its_original(checkout: Checkout) -> None:
    checkout.set_up()
    copy = Checkout(checkout.folder.with_name("copy"))
    shutil.copytree(checkout.folder, copy.folder)

    assert copy.set_up()[0] == "outer -m venv --clear .venv"
    assert checkout.set_up() == []
