"""``toolwright vault``: what goes in never comes out, whatever is asked."""

import json
import os
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from toolwright.contracts.errors import ToolwrightError
from toolwright.contracts.vaults import DuplicateCredential, NoMasterKey, UnknownVault, VaultError
from toolwright.surfaces.cli.main import application
from toolwright.surfaces.cli.secret_input import oauth_given

SECRET = "very-secret-token-4711"
SERVER = "https://mcp.example.com/mcp"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "TOOLWRIGHT_HOME", "TOOLWRIGHT_VAULT_KEY", "TOOLWRIGHT_VAULT_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def run(*words: str, given: str = "") -> Result:
    result = CliRunner().invoke(application(), ["vault", *words], input=given)
    assert SECRET not in result.output
    return result


def failure(*words: str, given: str = "") -> ToolwrightError:
    result = run(*words, given=given)
    assert isinstance(result.exception, ToolwrightError), result.output
    assert SECRET not in str(result.exception)
    return result.exception


def credentials() -> list[dict[str, object]]:
    listed = json.loads(run("list", "--json").stdout)
    return [credential for vault in listed for credential in vault["credentials"]]


def test_without_a_master_key_nothing_is_put_in_and_the_way_to_one_is_told() -> None:
    problem = failure("add", SERVER, given=SECRET)
    assert isinstance(problem, NoMasterKey)
    assert "toolwright vault key" in str(problem)
    assert "no vaults" in run("list").stdout


def test_a_key_is_made_for_its_owner_only_and_a_second_one_opens_what_the_first_sealed(project: Path) -> None:
    assert run("key").exit_code == 0
    path = project / "home" / ".config" / "toolwright" / "vault.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    first = path.read_text()
    run("add", SERVER, given=SECRET)
    assert "rewrap" in run("key").stdout
    assert path.read_text().endswith(first)
    assert path.read_text() != first
    assert "1 vaults were sealed" in run("rewrap").stdout
    path.write_text(path.read_text().splitlines()[0])  # the old key is not needed any more
    assert run("rotate", str(credentials()[0]["credential_id"]), given=SECRET + "-new").exit_code == 0


def test_a_key_file_that_others_can_read_is_refused(project: Path) -> None:
    run("key")
    path = project / "home" / ".config" / "toolwright" / "vault.key"
    path.chmod(0o640)
    assert "chmod 600" in str(failure("add", SERVER, given=SECRET))


def test_a_file_that_is_no_key_file_is_not_written_over(project: Path) -> None:
    path = project / "notes"
    path.write_text("my notes\n")
    path.chmod(0o600)
    assert isinstance(failure("key", "--file", str(path)), NoMasterKey)
    assert path.read_text() == "my notes\n"


def test_what_was_put_in_is_listed_without_its_value_and_is_nowhere_on_the_disk(project: Path) -> None:
    run("key")
    assert run("add", SERVER, "--name", "mine", given=SECRET + "\n").exit_code == 0
    [credential] = credentials()
    assert (credential["server_url"], credential["kind"], credential["last_four"]) == (
        SERVER,
        "bearer",
        SECRET[-4:],
    )
    table = run("list").stdout
    assert "default" in table
    assert SERVER in table
    for folder, _, names in os.walk(project):
        for name in names:
            assert SECRET.encode() not in Path(folder, name).read_bytes(), name


def test_one_address_has_one_credential_in_a_vault_and_may_have_another_in_another_one() -> None:
    run("key")
    run("add", SERVER, given=SECRET)
    assert isinstance(failure("add", SERVER + "/", given=SECRET), DuplicateCredential)
    assert isinstance(failure("add", SERVER, "--vault", "work", given=SECRET), UnknownVault)
    assert run("create", "work").exit_code == 0
    assert run("add", SERVER, "--vault", "work", given=SECRET).exit_code == 0
    assert len(credentials()) == 2


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ((SERVER,), ""),
        ((SERVER,), "short"),
        ((SERVER,), "with\na line"),
        (("ftp://example.com",), SECRET),
        (("https://user:password@example.com",), SECRET),
        ((SERVER, "--kind", "header", "--header", "Host"), SECRET),
        ((SERVER, "--kind", "oauth"), SECRET),
        ((SERVER, "--kind", "oauth"), json.dumps({"access_token": SECRET, "surprise": 1})),
        ((SERVER, "--kind", "oauth"), json.dumps({"access_token": SECRET, "refresh_token": SECRET})),
        ((SERVER, "--kind", "oauth"), json.dumps({"access_token": SECRET, "expires_in": -1})),
    ],
)
def test_what_cannot_be_kept_is_refused_without_being_quoted(words: tuple[str, ...], given: str) -> None:
    run("key")
    assert isinstance(failure("add", *words, given=given), VaultError)
    assert credentials() == []


@pytest.mark.parametrize(
    "words", [("--kind", "header"), ("--header", "X-Key"), ("--kind", "cookie")], ids=" ".join
)
def test_kinds_and_headers_belong_together(words: tuple[str, ...]) -> None:
    assert run("add", SERVER, *words, given=SECRET).exit_code == 2


def test_what_is_deleted_is_asked_about_first() -> None:
    run("key")
    run("add", SERVER, given=SECRET)
    identity = str(credentials()[0]["credential_id"])
    assert run("rm", identity[:16], given="n\n").exit_code == 1
    assert len(credentials()) == 1
    assert run("rm", identity[:16], given="y\n").exit_code == 0
    assert credentials() == []
    assert "the vault 'default' and 0 credentials" in run("rm", "default", "--yes").stdout
    assert isinstance(failure("rm", "default", "--yes"), UnknownVault)


def test_an_oauth_credential_says_until_when_it_is_good_and_how_it_is_renewed() -> None:
    fields = {
        "access_token": SECRET,
        "expires_in": 60,
        "refresh_token": SECRET,
        "token_endpoint": "https://auth.example.com/token",
        "client_id": "toolwright",
    }
    given = oauth_given(json.dumps(fields), now=1_000.0)
    assert given.expires_at == 1_060.0
    assert given.refresh is not None
    assert given.refresh.token_endpoint == "https://auth.example.com/token"
    assert SECRET not in repr(given)
