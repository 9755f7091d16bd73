"""The catalogs of knowledge entries and skills (``knowledge-entries.md``): name, description and place.

The body of an entry stays on disk until it is read; the prompt only says that it exists. An entry may be an
index over entries nested below it; those are left to the index.
"""

from __future__ import annotations

from engine.context.budget import Candidate
from engine.context.delimiters import one_line, outside
from engine.context.sources import Reader
from engine.store.paths import shown

CATALOG_KIB = 2.0
"""Cap of each catalog: a prompt that lists hundreds of entries explains none of them."""

_DESCRIPTION_CHARACTERS = 240


def entries(reader: Reader) -> list[Candidate]:
    """The catalog of private knowledge entries, layer 7."""
    paths = [path for path in reader.list("knowledge") if not path.startswith("knowledge/archive/")]
    intro = "Knowledge entries; read the file named when one applies:"
    return _catalog(reader, paths, "KNOWLEDGE.md", "catalog:knowledge", intro, 0)


def skills(reader: Reader) -> list[Candidate]:
    """The catalog of skills, layer 7."""
    paths = [path for shelf in (".library/intrinsic", ".library/custom") for path in reader.list(shelf)]
    intro = "Skills, reusable procedures; read the file named when one applies:"
    return _catalog(reader, paths, "SKILL.md", "catalog:skills", intro, 1)


def _catalog(
    reader: Reader, paths: list[str], marker_file: str, label: str, intro: str, place: int
) -> list[Candidate]:
    lines: list[str] = []
    for path in _outermost([path for path in paths if path.endswith(f"/{marker_file}")]):
        loaded = reader.load(path)
        if loaded is None:
            continue
        name, description = loaded.header.get("name"), loaded.header.get("description")
        if not isinstance(name, str) or not name.strip():
            name = path.split("/")[-2]
        if not isinstance(description, str) or not description.strip():
            reader.problems.append(f"{shown(path)}: has no description; add one to its header")
            description = "(no description)"
        entry = f"{one_line(name, 80)}: {one_line(description, _DESCRIPTION_CHARACTERS)}"
        lines.append(f"- {outside(entry)} ({outside(shown(path))})")
    if not lines:
        return []
    noun = "entry" if len(lines) == 1 else "entries"
    return [
        Candidate(
            label=label,
            layer=7,
            priority=1,
            slot="knowledge",
            text="\n".join((intro, *lines)),
            why=f"{len(lines)} {noun}: name, description and location of each",
            order=(place,),
        )
    ]


def _outermost(paths: list[str]) -> list[str]:
    """The entries that lie in no other entry's folder."""
    folders = {path.rpartition("/")[0] for path in paths}

    def nested(path: str) -> bool:
        parts = path.split("/")[:-2]
        return any("/".join(parts[:end]) in folders for end in range(1, len(parts) + 1))

    return [path for path in paths if not nested(path)]
