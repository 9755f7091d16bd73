"""Finds the sessions of other programs on this machine and describes them without reading them fully."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal, get_args

from engine.errors import ImportFailed
from engine.store.authorship import other_author
from engine.transcripts.chats.last_resort import prompts_left
from engine.transcripts.chats.prompts import FILE as HISTORY
from engine.transcripts.chats.read import read_chats
from engine.transcripts.chats.specstory import begun_by_others
from engine.transcripts.importers.lines import opened
from engine.transcripts.importers.log import Kind, agent_folders, id_in_name, log_folders
from engine.transcripts.importers.run import discover
from engine.transcripts.importers.scripted import SCRIPT
from engine.transcripts.importers.session import json_in, object_of, program_in
from engine.transcripts.importers.state import KnownSessions, shown_source
from engine.transcripts.places import read_head

Agent = Literal["claude-code", "codex", "gemini", "specstory"]

AGENTS: tuple[Agent, ...] = ("claude-code", "codex", "gemini", "specstory")

ImportStatus = Literal["new", "grown", "second", "imported"]

_HEAD_BYTES = 256 * 1024
_TAIL_BYTES = 64 * 1024
_DAY = rb"(\d{4}-\d\d-\d\d)"
_STAMPS = {
    # The last is of the first versions, which give no other.
    "specstory": re.compile(
        rb"^(?:(?:_\*\*|<!-- [^\n]* Session )[^\n]*\([^)\n]*?|# [^\n]*\()" + _DAY, re.MULTILINE
    ),
    "json": re.compile(rb'"(?:timestamp|startTime|lastUpdated)"\s*:\s*"' + _DAY),
}
# The second is of Gemini CLI, in the text above the first prompt.
_CWD = re.compile(
    rb'"cwd"\s*:\s*"((?:[^"\\\n]|\\.)*)"|Workspace Directories:\**\\n\s*- ((?:[^"\\\n]|\\[^n])+)\\n'
)
_SESSION = re.compile(
    rb'"sessionId"\s*:\s*"([^"\\\n]{1,80})"|^<!-- [^\n>]{1,40} Session ([\w-]{8,80}) ', re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Found:
    """A session file on this machine."""

    agent: Agent
    path: Path
    project: str  # the project's folder; if unknown, the folder that contains the file
    size: int  # bytes
    first: str  # ISO date of its first entry, UTC; empty if it has none
    last: str  # the same for its last entry
    news: ImportStatus
    """``grown`` since its import, or now known to be the person's own; ``second`` for another file of an
    imported session; ``imported`` if completely imported."""
    sessions: int = 1  # of a history, how many sessions have these news
    is_history: bool = False  # whether it only has prompts, of sessions whose logs are gone


@dataclass(frozen=True, slots=True)
class Discovery:
    """The sessions found on this machine."""

    found: tuple[Found, ...]
    looked_in: tuple[str, ...]  # the folders searched, existing or not
    sub_agents: int  # logs of sub-agents and other programs, which are not imported
    unread: tuple[str, ...] = ()  # what was found but cannot be read, each with the reason

    @property
    def pending(self) -> tuple[Found, ...]:
        """The files an import would read."""
        return tuple(each for each in self.found if each.news != "imported")


def discover_all(
    known: KnownSessions, homes: Callable[[Agent], Path | None], here: Path, agents: Iterable[Agent] = AGENTS
) -> Discovery:
    """Find all sessions of the given agents.

    Args:
        homes: Returns the folder of an agent; ``None`` for the default one.
        here: A project folder that may contain a SpecStory history.
    """
    wanted = set(agents)
    found: list[Found | None] = []
    looked_in: list[str] = []
    prompts: list[Found] = []
    sub_agents: list[Path] = []
    projects = {here.absolute()}
    for kind in get_args(Kind):
        logs = [_describe(kind, path, known) for path in discover(kind, homes(kind))]
        sub_agents += [log.path for log in logs if log is not None and program_in(log.project)]
        logs = [log for log in logs if log is None or not program_in(log.project)]
        projects |= {Path(log.project) for log in logs if log is not None and log.project.startswith("/")}
        if kind in wanted:
            found += logs
            for home in agent_folders(kind, homes(kind)):
                prompts += _describe_history(kind, home / HISTORY, known)
            for folder in log_folders(kind, homes(kind)):
                looked_in.append(shown_source(folder))
                # Codex has no such files.
                sub_agents += [*folder.glob("*/agent-*.jsonl"), *folder.glob("*/*/subagents/*.jsonl")]
    if "gemini" in wanted:
        home = homes("gemini") or Path(os.environ.get("GEMINI_CLI_HOME") or Path.home()) / ".gemini"
        folder = home / "tmp"
        looked_in.append(shown_source(folder))
        names = _gemini_projects(home, projects)
        chats = sorted([*folder.glob("*/chats/session-*.json"), *folder.glob("*/chats/session-*.jsonl")])
        # The logs contain only what was typed, so they come after the complete sessions.
        for path in [*chats, *sorted(folder.glob("*/logs.json"))]:
            found.append(_describe("gemini", path, known, names.get(path.relative_to(folder).parts[0], "")))
        sub_agents += folder.glob("*/chats/*/*.jsonl")
    if "specstory" in wanted:
        looked_in.append(shown_source(here.absolute() / ".specstory" / "history"))
        for place in sorted(projects):
            with contextlib.suppress(OSError):
                history = place / ".specstory" / "history"
                for path in sorted(history.glob("*.md")):
                    if _session_in(read_head(path)) in begun_by_others(history):
                        sub_agents.append(path)
                    else:
                        found.append(_describe("specstory", path, known, str(place)))
    # Histories are a last resort, so they come after everything else.
    return Discovery((*filter(None, found), *prompts), tuple(looked_in), len(sub_agents), (*_unread(here),))


def _unread(here: Path) -> Iterator[str]:
    """Stores of other agents that are not read unless they are named, each with what to do."""
    for store, path in _stores(here):
        shown = shown_source(path)
        if store.how:
            yield f"{shown}: {store.program}'s store cannot be read; to import from it: {store.how}"
        else:
            yield f"{shown}: {store.program}'s store is read if you name it: autopoiesis import {shown}"


def _gemini_projects(folder: Path, projects: Iterable[Path]) -> dict[str, str]:
    """Project paths by folder name: as listed, as noted in the folder, or by the hash of a known path."""
    names = {sha256(str(project).encode()).hexdigest(): str(project) for project in projects}
    with contextlib.suppress(ImportFailed), opened(folder / "projects.json") as stream:
        listed = object_of(json_in(stream.read(_HEAD_BYTES) or b""), "projects")
        names |= {str(name): path for path, name in listed.items()}
    for note in (folder / "tmp").glob("*/.project_root"):
        noted = read_head(note).decode("utf-8", "replace").strip()
        if noted:
            names[note.parent.name] = noted
    return names


def _describe(agent: Agent, path: Path, known: KnownSessions, project: str = "") -> Found | None:
    """Describe a file from its beginning and end; ``None`` if it is empty or not a regular file.

    One that cannot be read is described without its contents, so that the import says why.
    """
    try:
        with opened(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            head = stream.read(_HEAD_BYTES) or b""
            stream.seek(max(size - _TAIL_BYTES, 0))
            tail = stream.read(_TAIL_BYTES) or b""
    except ImportFailed:
        if not path.is_file():
            return None
        return Found(agent, path, project or shown_source(path.parent), path.stat().st_size, "", "", "new")
    if not size:
        return None
    pattern = _STAMPS["specstory" if agent == "specstory" else "json"]
    days = sorted({day for part in (head, tail) for day in pattern.findall(part)})
    first, last = (days[0].decode(), days[-1].decode()) if days else ("", "")
    named = _CWD.search(head)
    if not project and named is not None:
        project = str(json_in(b'"%b"' % (named[1] or named[2] or b"")) or "")
    news = _import_status(agent, path, size, head, known)
    return Found(agent, path, project or shown_source(path.parent), size, first, last, news)


def _describe_history(kind: Kind, path: Path, known: KnownSessions) -> Iterator[Found]:
    """Describe the prompts in a history whose sessions have no log and no other transcript."""
    try:
        with opened(path) as stream:
            data = stream.read() or b""
    except ImportFailed:
        return
    left = [*prompts_left(read_chats(data, str(path)), path, known)]
    for news in dict.fromkeys(each.news for each in left):
        chats = [each.chat for each in left if each.news == news]
        times = sorted(at for chat in chats for at in (chat.started, chat.ended) if at)
        days = [f"{at:%Y-%m-%d}" for at in times] or [""]
        yield Found(
            kind, path, shown_source(path), len(data), days[0], days[-1], news, len(chats), is_history=True
        )


def _import_status(agent: Agent, path: Path, size: int, head: bytes, known: KnownSessions) -> ImportStatus:
    entries = known.sources.get(shown_source(path))
    if entries:
        is_anothers = any(entry.author not in ("", SCRIPT) for entry in entries)
        if agent == "specstory" and is_anothers and not other_author(path):
            return "grown"  # the person has named its author's address as theirs since
        return "imported" if any(entry.progress.read == size for entry in entries) else "grown"
    session_id = id_in_name(path).lower() or _session_in(head)
    return "second" if session_id in known.transcripts else "new"


def _session_in(head: bytes) -> str:
    """The id of the session whose file begins so, in lower case; empty if it names none."""
    inside = _SESSION.search(head)
    return (inside[1] or inside[2]).decode().lower() if inside else ""


def by_project(found: Iterable[Found]) -> Mapping[tuple[Agent, str], Sequence[Found]]:
    """Group the found files by agent and project, keeping their order."""
    groups: dict[tuple[Agent, str], list[Found]] = {}
    for each in found:
        groups.setdefault((each.agent, each.project), []).append(each)
    return groups


@dataclass(frozen=True, slots=True)
class _Store:
    """The store of a program."""

    program: str
    places: tuple[str, ...]  # patterns below the home folder, or below a project if they begin with ``./``
    how: str = ""  # how to export what is in it; empty if it can be imported as it is


_STORES = (
    _Store("opencode", (".local/share/opencode/opencode.db", ".local/share/opencode/storage/session")),
    _Store("Crush", ("./.crush/crush.db", "./.opencode/opencode.db")),
    _Store("Aider", ("./.aider.chat.history.md",)),
    _Store(
        "Cursor",
        (
            ".config/Cursor/User/globalStorage/state.vscdb",
            "Library/Application Support/Cursor/User/globalStorage/state.vscdb",
        ),
    ),
    _Store("Continue", (".continue/sessions",)),
    _Store("Copilot's command line", (".copilot/session-state",)),
    _Store("OpenHands", (".openhands/conversations",)),
    _Store("Kimi's command line", (".kimi/sessions",)),
    _Store("Zed", (".local/share/zed/threads",), "open a thread as Markdown, and save it"),
    _Store("Goose", (".local/share/goose/sessions/sessions.db",)),
    _Store("Windsurf", (".codeium/windsurf/cascade",), "use Download Trajectory in Cascade's menu"),
    _Store("Antigravity", (".gemini/antigravity/conversations",), "use Export in the conversation's menu"),
    _Store("Amp", (".local/share/amp/threads",), "amp threads markdown ID > FILE.md"),
)
"""Every store that is known and not found by ``autopoiesis import`` itself."""


def _stores(here: Path) -> Iterator[tuple[_Store, Path]]:
    """The stores that exist, each with its first place.

    Args:
        here: A project folder.
    """
    home = Path.home()
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    for store in _STORES:
        paths = (
            here / place[2:]
            if place.startswith("./")
            else data / place.removeprefix(".local/share/")
            if place.startswith(".local/share/")
            else home / place
            for place in store.places
        )
        existing = next((path for path in paths if path.exists()), None)
        if existing is not None:
            yield store, existing
