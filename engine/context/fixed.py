"""What every prompt holds: system prompt and identity (P0), memory, projects, digest and journals (P1)."""

from __future__ import annotations

from datetime import date, timedelta

from engine.config import CompilerSettings
from engine.context.budget import Candidate
from engine.context.compiled import SlotName
from engine.context.delimiters import KNOWLEDGE
from engine.context.sources import Loaded, Reader

SYSTEM = "knowledge/prompts/system.md"
IDENTITY = "knowledge/identity"
MEMORY = "knowledge/memory/MEMORY.md"
PROJECTS = "knowledge/projects/_active.md"
DIGEST = "knowledge/digest.md"
JOURNAL = "knowledge/journal"

DIGEST_KIB = 4.0
"""The digest is bounded when it is made; a hand-edited one is cut here (``knowledge-curation.md`` 3)."""

_IDENTITY_ORDER = ("SOUL.md", "USER.md", "AGENTS.md", "TOOLS.md")


def system_prompt(reader: Reader) -> list[Candidate]:
    """The system prompt preset, layer 4."""
    return _file(reader, SYSTEM, "system", 4, 0, "system", "always in the prompt")


def identity(reader: Reader) -> list[Candidate]:
    """The persona, layer 5: SOUL, USER, AGENTS, TOOLS, then whatever else is there by name."""
    paths = [path for path in reader.list(IDENTITY) if path.count("/") == 2 and path.lower().endswith(".md")]
    rank = {f"{IDENTITY}/{name}": number for number, name in enumerate(_IDENTITY_ORDER)}
    paths.sort(key=lambda path: (rank.get(path, len(rank)), path))
    found: list[Candidate] = []
    for number, path in enumerate(paths):
        found += _file(reader, path, "identity", 5, 0, "identity", "always in the prompt", number)
    return found


def over_size(candidates: list[Candidate], setting: str, kib: float) -> list[str]:
    """The line that says that texts which are never cut are larger than they were meant to be."""
    size = sum(len(candidate.text.encode("utf-8")) for candidate in candidates)
    if size <= kib * 1024:
        return []
    names = ", ".join(candidate.source for candidate in candidates)
    return [
        f"{names}: {size / 1024:.1f} KiB, over context_compiler.{setting} ({kib:g} KiB); shorten, or raise it"
    ]


def memory(reader: Reader, *, main_session: bool) -> list[Candidate]:
    """MEMORY.md, layer 6; in the main session only, because it is private."""
    if not main_session:
        return []
    return _file(reader, MEMORY, "memory", 6, 1, "memory", "always in a main session")


def is_memory(path: str) -> bool:
    """Whether a path names MEMORY.md, also on a file system that ignores case."""
    return path.lower() == MEMORY.lower()


def projects(reader: Reader) -> list[Candidate]:
    """The list of active projects, layer 6."""
    why = "always in the prompt"
    return _file(reader, PROJECTS, "projects", 6, 1, "projects", why, 1)


def digest(reader: Reader) -> list[Candidate]:
    """The knowledge digest as ``{knowledge}`` block, layer 7. No file, no block: the file is the switch."""
    loaded = reader.load(DIGEST)
    if loaded is None or not loaded.text:
        return []
    return [
        Candidate(
            label="knowledge:digest.md",
            layer=7,
            priority=1,
            slot="knowledge",
            text=loaded.text,
            why="its file exists, so it is on",
            source=DIGEST,
            order=(2,),
            first_line=loaded.first_line,
            wrap=KNOWLEDGE,
        )
    ]


def journals(reader: Reader, today: date) -> list[Candidate]:
    """The journals of today and yesterday, layer 8; today first, because it gets room first."""
    found: list[Candidate] = []
    for back, name in enumerate(("today", "yesterday")):
        path = f"{JOURNAL}/{(today - timedelta(days=back)).isoformat()}.md"
        found += _file(reader, path, "journal", 8, 1, "journal", f"{name}'s journal", 2 - back)
    return found


def settings_kib(settings: CompilerSettings) -> dict[SlotName, tuple[str, float]]:
    """By slot, the setting that caps it and its value in KiB; slots without a cap are absent."""
    return {
        "system": ("system_budget_kb", settings.system_budget_kb),
        "identity": ("identity_budget_kb", settings.identity_budget_kb),
        "memory": ("memory_budget_kb", settings.memory_budget_kb),
        "journal": ("journal_budget_kb", settings.journal_budget_kb),
        "projects": ("projects_budget_kb", settings.projects_budget_kb),
        "topics": ("topic_budget_kb", settings.topic_budget_kb),
    }


def _file(
    reader: Reader, path: str, kind: str, layer: int, priority: int, slot: SlotName, why: str, place: int = 0
) -> list[Candidate]:
    loaded: Loaded | None = reader.load(path)
    if loaded is None or not loaded.text:
        return []
    return [
        Candidate(
            label=f"{kind}:{path.rpartition('/')[2]}",
            layer=layer,
            priority=priority,
            slot=slot,
            text=loaded.text,
            why=why,
            source=path,
            order=(place,),
            first_line=loaded.first_line,
        )
    ]
