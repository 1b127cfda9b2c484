"""The skills of a session: below one folder that all its agents see, each told of to those who have it."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from anyio.to_thread import run_sync

from toolwright.catalog.skill_archives import mode_of, unpacked
from toolwright.contracts.definitions import AgentDefinition, SkillDefinition
from toolwright.contracts.documents import Document
from toolwright.contracts.mounts import Mount
from toolwright.surfaces.http.managed.skills import MOST_BYTES, VERSION
from toolwright.surfaces.http.problems import Problem
from toolwright.surfaces.http.routes import Visit

FOLDER: Final = "/mnt/skills"
MOST: Final = 500
Known = Mapping[str, SkillDefinition]
"""By the id of the version."""
Wire = Mapping[str, Any]


async def found_skills(visit: Visit, agents: Sequence[Wire]) -> Sequence[Document]:
    """Return the versions of skills that agents name, each once. May raise Problem."""
    named = dict.fromkeys(one["version"] for agent in agents for one in agent["skills"])
    if len(named) > MOST:
        raise Problem("invalid", f"agent: at most {MOST} different skills in one session")
    found = []
    for id in named:
        version = await visit.house.documents.get(visit.workspace, VERSION, id)
        if version is None:
            raise Problem("invalid", f"agent: its skill at version {id[:80]} was deleted")
        found.append(version)
    return found


def told(versions: Sequence[Document]) -> Known:
    """Return skills as a session sees them. Where two have one name each has a folder of its own."""
    known: dict[str, SkillDefinition] = {}
    taken: set[str] = set()
    for version in versions:
        name = version.body["name"]
        folder = name if name not in taken else f"{name}-{version.id}"
        taken.add(folder)
        known[version.id] = SkillDefinition(
            name=name, description=version.body["description"], path=f"{FOLDER}/{folder}"
        )
    return known


def mount_of(folder: str) -> Mount:
    """Return the one mount below which all skills lie."""
    return Mount(path=FOLDER, folder=os.path.join(folder, "skills"), about="Skills.")


async def lay_out(visit: Visit, known: Known, mount: Mount) -> None:
    """Write the files of skills where they are mounted."""
    for version, skill in known.items():
        archive = b"".join([piece async for piece in visit.house.files.read(version)])
        place = os.path.join(mount.folder, skill.path.removeprefix(f"{FOLDER}/"))
        await run_sync(_write, archive, place)


def _write(archive: bytes, place: str) -> None:
    for path, content in unpacked(archive, most=MOST_BYTES).items():
        whole = os.path.join(place, path.partition("/")[2])
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "xb") as file:
            file.write(content)
        os.chmod(whole, mode_of(content))


def with_skills(
    definition: AgentDefinition, agent: Wire, members: Sequence[Wire], known: Known
) -> AgentDefinition:
    """Return an agent, and those of its roster, with the skills that each of them names."""
    roster = tuple(
        replace(one, skill_folders=_of(member, known))
        for one, member in zip(definition.roster, members, strict=True)
    )
    return replace(definition, skill_folders=_of(agent, known), roster=roster)


def _of(agent: Wire, known: Known) -> tuple[SkillDefinition, ...]:
    return tuple(known[one["version"]] for one in agent["skills"])


def with_those_of(definition: AgentDefinition, before: AgentDefinition) -> AgentDefinition:
    """Return an agent with the skills that it had before; its roster is the same one."""
    kept = {member.name: member.skill_folders for member in before.roster}
    roster = tuple(replace(one, skill_folders=kept.get(one.name, ())) for one in definition.roster)
    return replace(definition, skill_folders=before.skill_folders, roster=roster)
