"""Skills as zip archives: packed the same way each time, and unpacked with nothing in them believed."""

import io
import stat
import zipfile
import zlib
from collections.abc import Mapping
from typing import Final

from toolwright.catalog.skill_files import SkillFiles
from toolwright.catalog.written import Problem, WrittenWrongly

MOST_FILES: Final = 1_000
_FIRST_DAY: Final = (1980, 1, 1, 0, 0, 0)
_READABLE: Final = 0o644
_RUNNABLE: Final = 0o755


def unpacked(archive: bytes, *, most: int) -> Mapping[str, bytes]:
    """Return the files in an archive, up to ``most`` bytes of them. Raises WrittenWrongly."""
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            members = [one for one in opened.infolist() if not one.is_dir()]
            if len(members) > MOST_FILES:
                raise WrittenWrongly(Problem(f"there are more than {MOST_FILES:,} files in the archive."))
            found: dict[str, bytes] = {}
            for member in members:
                if member.filename in found:
                    raise WrittenWrongly(Problem(f"{member.filename[:80]!r} stands in the archive twice."))
                most -= len(content := _content(opened, member, most))
                found[member.filename] = content
            return found
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, RuntimeError) as wrong:
        raise WrittenWrongly(Problem(f"the archive cannot be read: {wrong}.")) from None


def _content(opened: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> bytes:
    """Unpack one file; what an archive says of its size is not believed."""
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in {0, stat.S_IFREG}:
        raise WrittenWrongly(Problem(f"{member.filename[:80]!r} is no ordinary file."))
    with opened.open(member) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise WrittenWrongly(Problem("the files in the archive are too large."))
    return content


def packed(skill: SkillFiles) -> bytes:
    """Return a skill as an archive whose top folder has its name."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(skill.files):
            member = zipfile.ZipInfo(f"{skill.name}/{path}", _FIRST_DAY)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = (stat.S_IFREG | mode_of(skill.files[path])) << 16
            archive.writestr(member, skill.files[path])
    return whole.getvalue()


def mode_of(content: bytes) -> int:
    """Return the mode of a file: what begins like a program may be run."""
    return _RUNNABLE if content.startswith((b"#!", b"\x7fELF")) else _READABLE
