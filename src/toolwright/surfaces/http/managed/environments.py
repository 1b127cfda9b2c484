"""Environments: where the commands of sessions run, and whom they may reach."""

import re
from dataclasses import replace
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from toolwright.contracts.definitions import EnvironmentDefinition
from toolwright.contracts.documents import Document, Wanted
from toolwright.contracts.ids import new_id
from toolwright.surfaces.http.managed.agent_shapes import checked_metadata, fitting_metadata
from toolwright.surfaces.http.managed.pages import ListQuery, Page, Written, page_of, place
from toolwright.surfaces.http.problems import Problem
from toolwright.surfaces.http.reading import written_time
from toolwright.surfaces.http.routes import Route, Shape, Visit

KIND: Final = "environment"
MANAGERS: Final = ("apt", "cargo", "gem", "go", "npm", "pip")
_HOST: Final = re.compile(r"(\*\.)?[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_PACKAGE: Final = re.compile(r"[A-Za-z0-9@][A-Za-z0-9@/._+~=<>!:^\[\],-]{0,213}")


def _hosts(hosts: tuple[str, ...]) -> tuple[str, ...]:
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise ValueError(f"{host[:80]!r} is no host name; *.example.com stands for all below example.com")
    return hosts


def _packages(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if not _PACKAGE.fullmatch(name):
            raise ValueError(f"{name[:80]!r} is no name of a package")
    return names


Hosts = Annotated[tuple[str, ...], AfterValidator(_hosts)]
Packages = Annotated[tuple[str, ...], AfterValidator(_packages)]


class NetworkGiven(Shape):
    """Whom commands may reach, as it is written."""

    type: Literal["unrestricted", "limited"]
    allowed_hosts: Hosts | None = None
    allow_mcp_servers: bool | None = None
    allow_package_managers: bool | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.type == "unrestricted" and self.model_fields_set - {"type"}:
            raise ValueError("only limited networking takes hosts and switches")
        return self


class PackagesGiven(Shape):
    """What is installed, as it is written."""

    type: Literal["packages"] = "packages"
    apt: Packages | None = None
    cargo: Packages | None = None
    gem: Packages | None = None
    go: Packages | None = None
    npm: Packages | None = None
    pip: Packages | None = None


class ConfigGiven(Shape):
    """The kind of environment, as it is written."""

    type: Literal["cloud", "self_hosted"]
    networking: NetworkGiven | None = None
    packages: PackagesGiven | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.type == "self_hosted":
            raise ValueError("self_hosted environments are not served here")
        return self


class Unrestricted(Shape):
    type: Literal["unrestricted"] = "unrestricted"


class Limited(Shape):
    type: Literal["limited"] = "limited"
    allowed_hosts: list[str]
    allow_mcp_servers: bool
    allow_package_managers: bool


class PackagesShown(Shape):
    type: Literal["packages"] = "packages"
    apt: list[str]
    cargo: list[str]
    gem: list[str]
    go: list[str]
    npm: list[str]
    pip: list[str]


class ConfigShown(Shape):
    type: Literal["cloud"] = "cloud"
    networking: Annotated[Unrestricted | Limited, Field(discriminator="type")]
    packages: PackagesShown


class EnvironmentShown(Shape):
    """An environment."""

    id: str
    type: Literal["environment"] = "environment"
    name: str
    description: str | None = None
    metadata: dict[str, str]
    config: ConfigShown
    scope: Literal["organization"] = "organization"
    created_at: Written
    updated_at: Written
    archived_at: Written | None = None


class EnvironmentDeleted(Shape):
    id: str
    type: Literal["environment_deleted"] = "environment_deleted"


class EnvironmentGiven(Shape):
    """A new environment."""

    name: str = Field(min_length=1, max_length=256)
    config: ConfigGiven | None = None
    description: str | None = Field(None, max_length=2_048)
    metadata: dict[str, str] | None = None
    scope: Literal["organization"] | None = None

    @field_validator("metadata")
    @classmethod
    def _short(cls, value: dict[str, str] | None) -> dict[str, str] | None:
        checked_metadata(value or {})
        return value


class EnvironmentChange(Shape):
    """A change of an environment: what is left out stays."""

    name: str | None = Field(None, min_length=1, max_length=256)
    config: ConfigGiven | None = None
    description: str | None = Field(None, max_length=2_048)
    metadata: dict[str, str | None] | None = None

    @model_validator(mode="before")
    @classmethod
    def _same_kind(cls, data: Any) -> Any:
        config = data.get("config") if isinstance(data, dict) else None
        if isinstance(config, dict) and config.get("type", "cloud") != "cloud":
            raise Problem("invalid", "config.type: cannot be changed", code="invalid_config_type_change")
        return data


async def create(visit: Visit) -> dict[str, Any]:
    """Make an environment."""
    given, now = await visit.body(EnvironmentGiven), visit.house.clock.now()
    body = {
        "name": given.name,
        "description": given.description,
        "metadata": given.metadata or {},
        "config": _config(given.config, None),
    }
    environment = Document(
        kind=KIND, id=new_id("env"), workspace=visit.workspace, created_at=now, updated_at=now, body=body
    )
    await visit.house.documents.add(environment)
    return shown(environment)


async def list_environments(visit: Visit) -> dict[str, Any]:
    """List environments, the newest first."""
    asked = visit.query(ListQuery)
    wanted = Wanted(archived=asked.include_archived, after=place(asked.page), limit=asked.limit)
    return await page_of(visit.house.documents, visit.workspace, KIND, wanted, shown)


async def retrieve(visit: Visit) -> dict[str, Any]:
    """Return an environment."""
    return shown(await environment_of(visit, visit.path("environment_id")))


async def update(visit: Visit) -> dict[str, Any]:
    """Change an environment; sessions that exist keep what they began with."""
    change = await visit.body(EnvironmentChange)
    now = await environment_of(visit, visit.path("environment_id"))
    if now.archived_at is not None:
        raise Problem("invalid", "The environment is archived.", code="environment_archived")
    body = dict(now.body)
    if change.name is not None:
        body["name"] = change.name
    if "description" in change.model_fields_set:
        body["description"] = change.description
    if change.metadata is not None:
        merged = {**body["metadata"], **change.metadata}
        body["metadata"] = fitting_metadata({key: value for key, value in merged.items() if value})
    if change.config is not None:
        body["config"] = _config(change.config, body["config"])
    new = replace(now, body=body, updated_at=visit.house.clock.now())
    await visit.house.documents.replace(new)
    return shown(new)


async def archive(visit: Visit) -> dict[str, Any]:
    """Archive an environment: no new session begins in it."""
    environment = await environment_of(visit, visit.path("environment_id"))
    if environment.archived_at is None:
        at = visit.house.clock.now()
        environment = replace(environment, archived_at=at, updated_at=at)
        await visit.house.documents.replace(environment)
    return shown(environment)


async def delete(visit: Visit) -> dict[str, Any]:
    """Delete an environment that no session is in."""
    environment = await environment_of(visit, visit.path("environment_id"))
    inside = Wanted(archived=True, where={"environment_id": environment.id}, limit=1)
    if await visit.house.documents.list(visit.workspace, "session", inside):
        raise Problem("conflict", "Sessions refer to the environment.", headers={"x-should-retry": "false"})
    await visit.house.documents.remove(visit.workspace, KIND, environment.id)
    return {"id": environment.id, "type": "environment_deleted"}


async def environment_of(visit: Visit, id: str) -> Document:
    """Return an environment. May raise Problem."""
    found = await visit.house.documents.get(visit.workspace, KIND, id)
    if found is None:
        raise Problem("not_found", f"There is no environment {id[:80]}.", code="environment_not_found")
    return found


def definition(environment: Document) -> EnvironmentDefinition:
    """Return an environment as sessions know it."""
    network, packages = environment.body["config"]["networking"], environment.body["config"]["packages"]
    installed = {name: tuple(packages[name]) for name in MANAGERS if packages[name]}
    if network["type"] == "unrestricted":
        return EnvironmentDefinition(name=environment.body["name"], network="open", packages=installed)
    return EnvironmentDefinition(
        name=environment.body["name"],
        network="listed",
        hosts=tuple(network["allowed_hosts"]),
        mcp_hosts=network["allow_mcp_servers"],
        package_hosts=network["allow_package_managers"],
        packages=installed,
    )


def shown(environment: Document) -> dict[str, Any]:
    """Return an environment as it is shown."""
    archived = environment.archived_at
    return {
        "id": environment.id,
        "type": "environment",
        **environment.body,
        "scope": "organization",
        "created_at": written_time(environment.created_at),
        "updated_at": written_time(environment.updated_at),
        "archived_at": None if archived is None else written_time(archived),
    }


def _config(given: ConfigGiven | None, before: dict[str, Any] | None) -> dict[str, Any]:
    """Return a whole configuration: what is left out stays, or is what is usual. May raise Problem."""
    old = before or {"networking": {"type": "unrestricted"}, "packages": {}}
    network = _network(given.networking if given is not None else None, old["networking"])
    named = given.packages if given is not None else None
    packages: dict[str, Any] = {"type": "packages"}
    for manager in MANAGERS:
        wanted = getattr(named, manager, None)
        packages[manager] = list(old["packages"].get(manager, ()) if wanted is None else wanted)
    asks = any(packages[manager] for manager in MANAGERS)
    if asks and network["type"] == "limited" and not network["allow_package_managers"]:
        raise Problem("invalid", "config.packages: limited networking needs allow_package_managers for them")
    return {"type": "cloud", "networking": network, "packages": packages}


def _network(given: NetworkGiven | None, old: dict[str, Any]) -> dict[str, Any]:
    if given is None:
        return old
    if given.type == "unrestricted":
        return {"type": "unrestricted"}
    usual = {"allowed_hosts": [], "allow_mcp_servers": False, "allow_package_managers": False}
    kept = {**usual, **(old if old["type"] == "limited" else {})}
    said = given.model_dump(mode="json", exclude_none=True)
    return {**kept, **said, "type": "limited"}


_ONE: Final = "/v1/environments/{environment_id}"
ROUTES: Final = (
    Route(
        method="POST", path="/v1/environments", handler=create, summary="Make an environment",
        group="environments", body=EnvironmentGiven, returns=EnvironmentShown, scope="write",
    ),
    Route(
        method="GET", path="/v1/environments", handler=list_environments, summary="List environments",
        group="environments", query=ListQuery, returns=Page[EnvironmentShown],
    ),
    Route(
        method="GET", path=_ONE, handler=retrieve, summary="Get an environment", group="environments",
        returns=EnvironmentShown,
    ),
    Route(
        method="POST", path=_ONE, handler=update, summary="Change an environment", group="environments",
        body=EnvironmentChange, returns=EnvironmentShown, scope="write",
    ),
    Route(
        method="DELETE", path=_ONE, handler=delete, summary="Delete an environment", group="environments",
        returns=EnvironmentDeleted, scope="write",
    ),
    Route(
        method="POST", path=f"{_ONE}/archive", handler=archive, summary="Archive an environment",
        group="environments", returns=EnvironmentShown, scope="write",
    ),
)  # fmt: skip
