"""The commands that worked in a project, told to whom asks how to run its tests or checks.

They are a record of what the agent ran, read from the transcripts' tool calls when it is asked for, and not
knowledge: nothing says that they are right, so nothing of it is kept and no review is skipped. What anyone
may have planted is left out: a command with a word of its own (a script's name, a path, a value) counts only
in sessions in which the agent had read no text from outside, no document and nothing pasted before. The name
of a package is no such word: with it a package manager runs a script of the project itself, or nothing.

A command for one package of the project counts for all that were run likewise, since which package was worked
on says nothing of how its tests are run.
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
from engine.knowledge.commands import is_plain, kind_of, package_in, succeeded
from engine.provenance.tools import brings_outside, reads_document
from engine.redaction.detect import redact
from engine.startup.records import dataclass
from engine.transcripts.brief import count
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
"""Sessions in which a command must have worked; if none did, one does for the plainest commands."""
_MOST_PACKAGES = 3
"""Packages named beside that in a command."""
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

    command: str  # for packages, the one that worked most often
    packages: tuple[str, ...]  # those that it worked for, most often first; empty if it is for the project
    times: int
    sessions: int
    day: str  # of the latest of these sessions, as its transcript is filed: UTC, ISO 8601


def answer(
    files: Files, projects: Projects, kinds: Collection[str], project: Collection[str], own: str = ""
) -> tuple[Candidate, ...]:
    """The commands of some kinds as a part of a prompt, layer 10; none if there is nothing to tell.

    Args:
        kinds: As ``engine.knowledge.commands.kinds_asked`` finds them.
        project: The names of the project asked about.
        own: The transcript of the running session, which is left out.
    """
    found = ran(files, projects, kinds, project, own)
    if not found:
        return ()
    lines = (
        f"- `{each.command}`: {count(each.times, 'time')} in {count(each.sessions, 'session')}"
        f", last on {each.day}{_others(each)}"
        for each in found
    )
    text = "\n".join((_INTRO, *lines))
    why = "the message asks how to run this, and these commands worked"
    return (Candidate("journal:commands", 10, 3, "journal", outside(text), why, order=(-3,)),)


def ran(
    files: Files, projects: Projects, kinds: Collection[str], project: Collection[str], own: str = ""
) -> list[Ran]:
    """The commands of some kinds that worked in the latest sessions of a project: those for all of it before
    those for a package, most often first.
    """
    times: dict[tuple[str, bool], list[Counter[str]]] = {}
    days: dict[tuple[str, bool], str] = {}
    left = _BYTES
    for path in _sessions(files, projects, project, own):
        try:
            data = files.read(files.workspace.relative(path), limit=left)
        except (OSError, AutopoiesisError):
            continue
        left -= len(data)
        worked: dict[tuple[str, bool], Counter[str]] = {}
        for command, runs in _worked(parse(data, path.name).turns, kinds).items():
            whole, package = package_in(command)
            worked.setdefault((whole, bool(package)), Counter())[command] += runs
        for key, counts in worked.items():
            times.setdefault(key, []).append(counts)
            days.setdefault(key, "-".join(path.parts[-4:-1]))
    often = {key for key, counts in times.items() if len(counts) >= LEAST_SESSIONS}
    found = [
        _ran(sum(counts, Counter()), len(counts), days[key])
        for key, counts in times.items()
        if key in often or (not often and is_plain(key[0]))
    ]
    return sorted(found, key=lambda each: (bool(each.packages), -each.times))[:MOST]


def _ran(counts: Counter[str], sessions: int, day: str) -> Ran:
    ranked = [command for command, _ in counts.most_common()]
    packages = tuple(dict.fromkeys(filter(None, (package_in(command)[1] for command in ranked))))
    return Ran(ranked[0], packages, counts.total(), sessions, day)


def _others(ran: Ran) -> str:
    """The packages for which a command worked, beside that in it."""
    named = ", ".join(f"`{each}`" for each in ran.packages[1 : 1 + _MOST_PACKAGES])
    more = len(ran.packages) - 1 - _MOST_PACKAGES
    return f", also for {named}{f' and {more} more' if more > 0 else ''}" if named else ""


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
        for command in succeeded(tool, every=True):
            whole = package_in(command)[0]
            if kind_of(whole) in kinds and (is_plain(whole) or number < own()):
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
