"""Fixed parts of a prompt: system prompt and identity (P0), memory, projects, digest and journals (P1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from engine.context.budget import Candidate, Cap, Piece
from engine.context.compiled import SlotName
from engine.context.delimiters import FILE_NOTES, KNOWLEDGE, one_line, outside
from engine.context.recaps import at_start, others_in
from engine.context.sources import MEMORY, ParsedFiles, Reader

if TYPE_CHECKING:
    from engine.context.request import CompileRequest

SYSTEM = "knowledge/prompts/system.md"
IDENTITY = "knowledge/identity"
_PROJECTS = "knowledge/projects"
COMMANDS = "commands.md"
"""File of the commands that work in a project, in its folder."""
PROJECTS = f"{_PROJECTS}/_active.md"
DIGEST = "knowledge/digest.md"
JOURNAL = "knowledge/journal"

DIGEST_MAX_BYTES = 4096
DIGEST_KIB = DIGEST_MAX_BYTES / 1024
"""The digest is bounded when it is written; a hand-edited one is cut here (``knowledge-curation.md`` 3)."""

FILE_NOTES_KIB = 2.0
"""Cap of all file notes in one prompt."""

_STARTER = Path(__file__).parents[1] / "starter" / "workspace"
_IDENTITY_ORDER = ("SOUL.md", "USER.md", "AGENTS.md", "TOOLS.md")


def system_prompt(reader: Reader) -> list[Candidate]:
    """The system prompt preset, layer 4."""
    return _file(reader, SYSTEM, "system", 4, 0, "system", "always in the prompt")


def identity(reader: Reader) -> list[Candidate]:
    """The persona, layer 5: SOUL, USER, AGENTS, TOOLS, then other files by name."""
    paths = [path for path in reader.list(IDENTITY) if path.count("/") == 2 and path.lower().endswith(".md")]
    rank = {f"{IDENTITY}/{name}": number for number, name in enumerate(_IDENTITY_ORDER)}
    paths.sort(key=lambda path: (rank.get(path, len(rank)), path))
    found: list[Candidate] = []
    for number, path in enumerate(paths):
        found += _file(reader, path, "identity", 5, 0, "identity", "always in the prompt", (number,))
    return found


def over_size(pieces: Sequence[Piece], caps: Iterable[Cap]) -> list[str]:
    """Problems of texts that exceed their caps but are never cut."""
    size = sum(len(piece.section.text.encode("utf-8")) for piece in pieces)
    tokens = sum(piece.tokens for piece in pieces)
    names = ", ".join(piece.section.source or piece.section.label for piece in pieces)
    found: list[str] = []
    for cap in caps:
        is_over = (tokens if cap.unit == "tokens" else size) > cap.total
        shown = f"{tokens:,} tokens" if cap.unit == "tokens" else f"{size / 1024:.1f} KiB"
        if is_over:
            found.append(f"{names}: {shown}, over {cap}; shorten them or raise the cap")
    return found


def memory(reader: Reader, *, main_session: bool) -> list[Candidate]:
    """MEMORY.md, layer 6; only in the main session, because it is private."""
    if not main_session:
        return []
    return _file(reader, MEMORY, "memory", 6, 1, "memory", "always in a main session")


def project_context(reader: Reader, project: Sequence[str]) -> list[Candidate]:
    """USER.md, and the commands and the context of the project, under each of its names, layer 6, for an
    agent with its own prompt.
    """
    found = _file(reader, f"{IDENTITY}/USER.md", "identity", 6, 1, "projects", "about the person")
    found += project_commands(reader, project, 6)
    for number, name in enumerate(project):
        path = f"{_PROJECTS}/{name}/context.md"
        found += _file(reader, path, "project", 6, 1, "projects", "the current project", (1, 0, number))
    return found


def project_commands(reader: Reader, project: Sequence[str], layer: int = 8) -> list[Candidate]:
    """The commands that work in the project, under each of its names. In a whole prompt they belong to layer
    8, because the stable prefix is the same in all projects.
    """
    why = "commands that work in the current project"
    paths = (f"{_PROJECTS}/{name}/{COMMANDS}" for name in project)
    return [found for path in paths for found in _file(reader, path, "project", layer, 1, "projects", why)]


def projects(reader: Reader) -> list[Candidate]:
    """The list of active projects, layer 6."""
    return _file(reader, PROJECTS, "projects", 6, 1, "projects", "always in the prompt", (1,))


def digest(reader: Reader) -> list[Candidate]:
    """The knowledge digest as a ``{knowledge}`` block, layer 7, if its file exists."""
    why = "on, because its file exists"
    return _file(reader, DIGEST, "knowledge", 7, 1, "knowledge", why, (2,), KNOWLEDGE)


def file_notes(reader: Reader, paths: Sequence[str]) -> list[Candidate]:
    """The notes of files used in the conversation as ``{file-knowledge}`` blocks, layer 10.

    These files change during a conversation, so in the stable prefix every new one would invalidate the
    cache.
    """
    found: list[Candidate] = []
    why = "the conversation uses this file"
    for place, path in enumerate(paths):
        found += _file(reader, path, "file-knowledge", 10, 3, "knowledge", why, (-1, place), FILE_NOTES)
    return found


def discussion(today: date, session_id: str, turn: int) -> Candidate:
    """The date, and the session with the number of the turn from 1 if it is known, layer 8."""
    session = one_line(session_id, 80)
    text = f"Today is {today.isoformat()}."
    if session:
        text += f" Session {session}, turn {turn}."
    return Candidate(
        label="discussion",
        layer=8,
        priority=1,
        slot="history",
        text=outside(text),
        why="date and session",
        # After the journals, since the turn number always changes and ends what can be cached.
        order=(3,),
    )


def journals(reader: Reader, request: CompileRequest) -> list[Candidate]:
    """The last sessions of the project, and the journals of today and yesterday without recaps, layer 8;
    today's gets room first.
    """
    found = at_start(reader, request.project, request.session_id)
    for back, name in enumerate(("today", "yesterday")):
        path = f"{JOURNAL}/{(request.today - timedelta(days=back)).isoformat()}.md"
        for whole in _file(reader, path, "journal", 8, 1, "journal", f"{name}'s journal", (2 - back,)):
            pieces = others_in(whole.text, path, whole.first_line)
            if pieces == [(whole.first_line, whole.text)]:
                found.append(whole)
                continue
            for first, text in pieces:
                lines = f"{first}-{first + text.count(chr(10))}"
                order = (2 - back, first)
                found.append(replace(whole, text=text, first_line=first, lines=lines, order=order))
    return found


def _file(
    reader: Reader,
    path: str,
    kind: str,
    layer: int,
    priority: int,
    slot: SlotName,
    why: str,
    order: tuple[int, ...] = (0,),
    wrap: tuple[str, str] = ("", ""),
) -> list[Candidate]:
    """A file as a candidate; none if it is missing, empty or unchanged from the starter workspace."""
    loaded = reader.load(path)
    if loaded is None or not loaded.text:
        return []
    if is_untouched(reader, path):
        reader.untouched.append(path)
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
            order=order,
            first_line=loaded.first_line,
            wrap=wrap,
        )
    ]


def is_untouched(reader: Reader, path: str) -> bool:
    """Whether a file is as the starter workspace has it: a template rather than a memory."""
    starter = starter_text(path) if path != SYSTEM else None
    loaded = reader.load(path) if starter is not None else None
    return loaded is not None and loaded.text == starter


@lru_cache(maxsize=64)
def starter_text(path: str) -> str | None:
    """The starter text of a workspace file, if it has one; unchanged it stays out of prompts."""
    try:
        data = _STARTER.joinpath(*path.split("/")).read_bytes()
    except (OSError, ValueError):
        return None
    return ParsedFiles().get(path, data)[0].text
