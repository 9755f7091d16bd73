"""The commands that worked again and again in a project, told to whom asks how to run its tests or checks.

They are a record of what the agent ran, read from the transcripts' tool calls when it is asked for, and not
knowledge: nothing says that they are right, so nothing of it is kept and no review is skipped. What anyone
may have planted is left out: a command with a word of its own (a script's name, a path, a value) counts only
in sessions in which the agent had read no text from outside, no document and nothing pasted before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import islice
from typing import TYPE_CHECKING

from engine.context.budget import Candidate
from engine.context.delimiters import outside
from engine.errors import AutopoiesisError
from engine.knowledge.commands import is_plain, kind_of, succeeded
from engine.provenance.tools import brings_outside, reads_document
from engine.redaction.detect import redact
from engine.startup.records import dataclass
from engine.transcripts.format import parse
from engine.transcripts.places import AUTHOR_FIELD, head_fields, read_head, session_files
from engine.transcripts.typed import lines_of

if TYPE_CHECKING:
    from pathlib import Path

    from engine.store.files import Files
    from engine.transcripts.projects import Projects
    from engine.transcripts.turn import Turn

MOST = 3
"""Commands told."""
LEAST_SESSIONS = 2
"""Sessions in which a command must have worked."""
_SESSIONS = 40
"""The latest sessions of the project that are read."""
_LOOKED_AT = 400
"""The latest sessions of all projects among which those are looked for."""
_BYTES = 16 * 1024 * 1024
"""Of all transcripts that are read, in about a second: a hook waits for it."""
_INTRO = "In earlier sessions the agent ran, without an error (a record, not an instruction):"


@dataclass(frozen=True, slots=True)
class Ran:
    """A command, and how often it worked."""

    command: str
    times: int
    sessions: int
    day: str  # of the latest of these sessions, as its transcript is filed: UTC, ISO 8601


def answer(
    files: Files, projects: Projects, kinds: Collection[str], project: Collection[str], own: str = ""
) -> tuple[Candidate, ...]:
    """The commands of some kinds as a part of a prompt, layer 10; none if there is nothing to tell.

    Args:
        kinds: As ``engine.knowledge.asked.kinds_asked`` finds them.
        project: The names of the project asked about.
        own: The transcript of the running session, which is left out.
    """
    found = ran(files, projects, kinds, project, own)
    if not found:
        return ()
    lines = (
        f"- `{each.command}`: {each.times} times in {each.sessions} sessions, last on {each.day}"
        for each in found
    )
    text = "\n".join((_INTRO, *lines))
    why = "the message asks how to run this, and these commands worked again and again"
    return (Candidate("journal:commands", 10, 3, "journal", outside(text), why, order=(-3,)),)


def ran(
    files: Files, projects: Projects, kinds: Collection[str], project: Collection[str], own: str = ""
) -> list[Ran]:
    """The commands of some kinds that worked in the latest sessions of a project, most often first."""
    times: dict[str, list[int]] = {}
    days: dict[str, str] = {}
    left = _BYTES
    for path in _sessions(files, projects, project, own):
        try:
            data = files.read(files.workspace.relative(path), limit=left)
        except (OSError, AutopoiesisError):
            continue
        left -= len(data)
        for command, count in _worked(parse(data, path.name).turns, kinds).items():
            times.setdefault(command, []).append(count)
            days.setdefault(command, "-".join(path.parts[-4:-1]))
    found = [
        Ran(command, sum(counts), len(counts), days[command])
        for command, counts in times.items()
        if len(counts) >= LEAST_SESSIONS
    ]
    return sorted(found, key=lambda each: -each.times)[:MOST]


def _sessions(files: Files, projects: Projects, project: Collection[str], own: str) -> Iterator[Path]:
    """The latest sessions of a project, apart from those of other people."""
    paths = islice(session_files(files.workspace), _LOOKED_AT)
    return islice(
        (
            path
            for path in paths
            if not set(projects.names_of(path)).isdisjoint(project)
            and not head_fields(read_head(path), (AUTHOR_FIELD,))[AUTHOR_FIELD]
            and files.workspace.relative(path) != own
        ),
        _SESSIONS,
    )


def _worked(turns: Sequence[Turn], kinds: Collection[str]) -> Counter[str]:
    """How often each command of these kinds ended well in a session, if it may be told."""
    return Counter(command for command in _told(turns, kinds) if not redact(command)[1])


def _told(turns: Sequence[Turn], kinds: Collection[str]) -> Iterator[str]:
    """The commands that ended well, except those that may stem from what was read before."""
    own = cache(partial(_calls_before_outside, turns))
    for number, tool in enumerate(tool for turn in turns for tool in turn.tools):
        for command in succeeded(tool):
            if kind_of(command) in kinds and (is_plain(command) or number < own()):
                yield command


def _calls_before_outside(turns: Iterable[Turn]) -> int:
    """The number of calls before the first text that anyone may have written."""
    number = 0
    for turn in turns:
        if turn.role == "system" or (turn.role == "user" and any(line.why for line in lines_of(turn.text))):
            break
        for tool in turn.tools:
            if brings_outside(tool) or reads_document(tool):
                return number
            number += 1
    return number
