"""Writes the recap of each session to the journal of its day and project (spec 2.2, 8.3).

A session is split into its local days; work past midnight belongs to the day on which it began. A recap is
written again when its session goes on, unless a person has changed it. Writing twice changes nothing. What
``engine.lifecycle.recaps.wording`` has a model say stands in the same place, until the session goes on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from engine.context.quoting import bare
from engine.context.recaps import JOURNALS, SECTION, SLIGHT, Recap, recaps_in, section_of
from engine.errors import AutopoiesisError, DocumentError, PathRefused
from engine.knowledge.category_files import refuse_broken
from engine.store.change import ChangeCommit, commit_change, commit_message
from engine.store.header import locate
from engine.store.markdown import sections
from engine.store.paths import valid_session_id
from engine.store.zone import local_time
from engine.transcripts.days import following, moment
from engine.transcripts.format import parse
from engine.transcripts.importers.state import PROMPTS_FIELD
from engine.transcripts.places import AUTHOR_FIELD, head_fields, read_head, session_files
from engine.transcripts.projects import project_of
from engine.transcripts.turn import MEMORY, QUOTED, Turn

if TYPE_CHECKING:
    from pathlib import Path

    from engine.lifecycle.recaps.wording import Wording
    from engine.settings.model import Config
    from engine.store.files import Files
    from engine.store.repository import Repository

_PAUSE = timedelta(hours=4)
"""Pause after which the work of the next local day is a day of its own."""
_SETTLED = timedelta(minutes=10)
"""Time after its last turn from which a session counts as ended."""
_LOOKED_AT = 6
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OF_THE_PERSON = ("Asked: ", "Then asked: ", SLIGHT)
"""Begin the lines of what the person said."""
_NAMED_SESSIONS = 20
"""Sessions up to which a commit names each."""


@dataclass(frozen=True, slots=True)
class Written:
    """The result of writing recaps."""

    recaps: tuple[Recap, ...] = ()  # new or changed
    commit: ChangeCommit = field(default_factory=ChangeCommit)


@dataclass(eq=False)
class Recaps:
    """Writes recaps. Safe across processes.

    Args:
        source: Files with the sessions.
        target: Files with the journals.
    """

    source: Files
    target: Files
    repository: Callable[[], Repository]
    config: Callable[[], Config]
    clock: Callable[[], datetime]
    on_problem: Callable[[str], None]

    def of_session(self, path: str) -> list[Recap]:
        """The recaps of a session, by day; empty if it is trivial. Nothing is written.

        Raises:
            FileNotFoundError, PathRefused, DocumentError: As ``Files.read``.
        """
        return list(self._recaps(path))

    def write(
        self,
        paths: Iterable[str],
        on_read: Callable[[int], None] = lambda _number: None,
        wording: Wording | None = None,
    ) -> Written:
        """Writes the recaps of sessions, in one commit; reports sessions and journals that cannot be read.

        Args:
            paths: Transcripts, workspace-relative.
            on_read: Called with the number of sessions read.
            wording: Has a model word them.

        Raises:
            WriteFailed, ReadOnly: A journal could not be written; the next call writes the rest.
        """
        found: dict[str, list[Recap]] = {}
        named: dict[str, str] = {}
        for number, path in enumerate(dict.fromkeys(paths), 1):
            try:
                for recap in self._recaps(path, wording):
                    found.setdefault(self._journal(recap.day), []).append(recap)
                    named[recap.session] = path
            except (AutopoiesisError, FileNotFoundError) as error:
                self.on_problem(f"{path} has no recap: {error}")
            on_read(number)
        if not found:
            return Written()
        written: list[Recap] = []
        with self.target.lock():
            self.commit_left(found)
            for journal, recaps in sorted(found.items()):
                try:
                    written += self._put(journal, recaps)
                except (DocumentError, PathRefused) as error:
                    self.on_problem(f"no recap was written: {error}")
            if not written:
                return Written()
            sessions = [named[each] for each in dict.fromkeys(recap.session for recap in written)]
            noun = "session" if len(sessions) == 1 else "sessions"
            shown = sessions if len(sessions) <= _NAMED_SESSIONS else ()
            message = commit_message("memory", f"recap of {len(sessions):,} {noun}", sessions=shown)
            return Written(tuple(written), self._commit(found, message))

    def write_wanted(
        self, paths: Iterable[str], on_read: Callable[[int], None] = lambda _number: None
    ) -> Written:
        """As ``write``, if ``lifecycle.recaps`` is on; errors are reported, not raised."""
        if not self.config().lifecycle.recaps or self.target.read_only:
            return Written()
        try:
            return self.write(paths, on_read)
        except AutopoiesisError as error:
            self.on_problem(f"recaps were not written: {error}")
            return Written()

    def forget(self, sessions: Iterable[str]) -> ChangeCommit:
        """Removes the recaps of sessions from the journals, except those that a person has changed.

        Raises:
            WriteFailed, ReadOnly: A journal could not be written; a repeated call removes the rest.
        """
        names = frozenset(filter(None, sessions))
        changed: list[str] = []
        with self.target.lock():
            for folder in JOURNALS:
                for place in sorted((self.target.workspace.root / folder).glob("????-??-??.md")):
                    journal = self.target.workspace.relative(place)
                    before = self.target.read(journal)
                    after = self.target.update(journal, partial(_without, names, journal))
                    changed += [journal] if after != before else []
            message = commit_message("memory", "recaps of sessions that were taken back")
            wanted = bool(changed) and self.config().git.auto_commit
            return commit_change(self.repository, changed, message, wanted=wanted)

    def catch_up(self, session_id: str) -> Written:
        """As ``write_wanted``, for the latest sessions whose end no agent has announced, such as one in a
        closed terminal. One that was written to in the last minutes is still running.

        ``session_id``: a session to leave out.
        """
        files = islice(session_files(self.source.workspace), _LOOKED_AT)
        paths = [path for path in files if f"-{session_id}-" not in path.name and self._is_missing(path)]
        return self.write_wanted(map(self.source.workspace.relative, paths))

    def missing(self, paths: Iterable[str]) -> list[str]:
        """Those of some sessions that have ended without a recap written since; trivial ones too."""
        return [path for path in paths if self._is_missing(self.source.workspace.root / path)]

    def _is_missing(self, path: Path) -> bool:
        """Whether a session has ended, and no journal with its recap has been written since."""
        try:
            written = path.stat().st_mtime
            at = datetime.fromtimestamp(written, UTC)
        except (OSError, ValueError, OverflowError):
            return False
        head = head_fields(read_head(path), ("session_id", "ended"))
        ended = moment(head["ended"])
        if ended is None and self.clock() - at < _SETTLED:
            return False
        day = local_time(ended or at, self.config().days.time_zone).date()
        for journal in map(self._journal, (day.isoformat(), (day - timedelta(days=1)).isoformat())):
            with contextlib.suppress(OSError, AutopoiesisError):
                is_newer = (self.target.workspace.root / journal).stat().st_mtime >= written
                if is_newer and f"<!-- {head['session_id']} ".encode() in self.target.read(journal):
                    return False
        return True

    def commit_left(self, journals: Iterable[str] = ()) -> None:
        """Commits what has changed in journals, by default in all: edits of a person, which must not be part
        of our commit, and recaps whose commit failed.
        """
        if not self.config().git.auto_commit:
            return
        try:
            changed = set(self.repository().changed(*JOURNALS))
        except AutopoiesisError:
            return  # the commit reports it
        edited = sorted(changed & set(journals or changed))
        if edited:
            self._commit(edited, commit_message("memory", "journal as edited"))

    def _commit(self, journals: Iterable[str], message: str) -> ChangeCommit:
        there = [path for path in journals if (self.target.workspace.root / path).is_file()]
        return commit_change(self.repository, there, message, wanted=self.config().git.auto_commit)

    def _journal(self, day: str) -> str:
        """The journal of a day; the archived one if it was archived."""
        current, archived = (f"{folder}/{day}.md" for folder in JOURNALS)
        return archived if (self.target.workspace.root / archived).is_file() else current

    def _recaps(self, path: str, wording: Wording | None = None) -> Iterator[Recap]:
        from engine.lifecycle.recaps.lines import lines_of  # noqa: PLC0415 — few hooks write a recap
        from engine.provenance.outputs import with_outputs  # noqa: PLC0415 — likewise

        transcript = parse(self.source.read(path, limit=None), path)
        name = transcript.session_id
        if not valid_session_id(name) or transcript.header.get(AUTHOR_FIELD):
            return  # what another person did is not what the user did
        prompts_only = PROMPTS_FIELD in transcript.header
        project = project_of(self.source.workspace.resolve(path))
        spoken = [(bare(turn), at) for turn, at in self._times(transcript.turns, transcript.started)]
        turns = [turn for turn, _ in spoken]
        days = list(_days([at for _, at in spoken]))

        def recaps(heard: Sequence[Turn]) -> Iterator[tuple[Recap, int, int]]:
            for first, last in days:
                lines = lines_of(turns[first:last], heard[:last], prompts_only=prompts_only)
                if lines:
                    begin, end = spoken[first][1], spoken[last - 1][1]
                    day = begin.date().isoformat()
                    yield Recap(day, project, f"{begin:%H:%M}", f"{end:%H:%M}", name, lines), first, last

        told: set[str] = set()
        heard: Sequence[Turn] = turns
        while True:
            found = list(recaps(heard))
            new = _said_in(recap for recap, _, _ in found) - told
            told |= new
            judged = with_outputs(turns, transcript.header, told) if new else turns
            if judged is turns:
                break
            heard = judged
        for recap, first, last in found:
            if wording is not None and not recap.is_slight:
                whole = with_outputs(turns, transcript.header)[:last]
                worded = wording.of(recap.lines, turns[first:last], whole, first + 1)
                recap = replace(recap, lines=worded, worded=True) if worded else recap
            yield recap

    def _times(self, turns: Sequence[Turn], started: str) -> Iterator[tuple[Turn, datetime]]:
        """The turns in which someone speaks or acts, with their local time."""
        at, zone = moment(started) or _EPOCH, self.config().days.time_zone
        for turn in turns:
            at = following(at, turn.time, turn.day)
            if turn.kind not in (MEMORY, QUOTED):
                yield turn, local_time(at, zone)

    def _put(self, journal: str, recaps: Sequence[Recap]) -> list[Recap]:
        """Puts recaps into a journal; returns those that were new or changed."""
        done: list[Recap] = []
        removed = self._removed(journal, recaps)

        def change(data: bytes | None) -> bytes | None:
            done.clear()
            for recap in (each for each in recaps if each.session not in removed):
                after = with_recap(data or b"", recap, journal)
                if after != (data or b""):
                    done.append(recap)
                    data = after
            return data

        self.target.update(journal, change)
        return done

    def _removed(self, journal: str, recaps: Sequence[Recap]) -> set[str]:
        """The sessions among a few whose recap a person has removed from a journal: its history has it."""
        try:
            data = self.target.read(journal)
            missing = [each.session for each in recaps if f"<!-- {each.session} ".encode() not in data]
            if len(missing) > _NAMED_SESSIONS:
                return set()  # an import
            git = self.repository().git
            command = ("log", "-1", "--format=%h", "-F")
            return {
                name for name in missing
                if git.run(*command, f"-S<!-- {name} ", paths=[journal]).output.strip()
            }  # fmt: skip
        except (FileNotFoundError, AutopoiesisError):
            return set()


def _said_in(recaps: Iterable[Recap]) -> set[str]:
    """What an agent says in some recaps."""
    lines = (line for recap in recaps for line in recap.lines if not line.startswith(_OF_THE_PERSON))
    return {line.partition(": ")[2] for line in lines}


def _days(times: Sequence[datetime]) -> Iterator[tuple[int, int]]:
    """The ranges of turns that belong to one day each."""
    first = 0
    for at in range(1, len(times)):
        if times[at].date() != times[first].date() and times[at] - times[at - 1] >= _PAUSE:
            yield first, at
            first = at
    if times:
        yield first, len(times)


def with_recap(data: bytes, recap: Recap, journal: str) -> bytes:
    """A journal with a recap, which replaces an earlier one of the session unless a person has changed it, or
    a model worded it and the session has not gone on.

    ``data`` is empty for a new journal.

    Raises:
        DocumentError: The journal cannot be edited.
    """
    if not data.strip():
        head = f"---\ntype: journal\ndate: {recap.day}\n---\n\n## {recap.day}\n"
        return f"{head}\n### {section_of(recap.project)}\n\n{recap.text}\n".encode()
    refuse_broken(data, journal)
    start = locate(data).body
    newline = "\r\n" if b"\r\n" in data else "\n"
    text = data[start:].decode("utf-8").replace("\r\n", "\n")
    lines = text.split("\n")
    known = recaps_in(f"\n{text}", journal, 0)
    old = next((each for each in known if each.session == recap.session), None)
    if old is None:
        _insert(lines, text, recap, known)
    elif _is_ours(old) and not (_is_worded(old) and not recap.worded and old.end == recap.end):
        lines[old.first - 1 : old.last] = recap.text.split("\n")
    return data[:start] + "\n".join(lines).replace("\n", newline).encode()


def _is_worded(recap: Recap) -> bool:
    return replace(recap, worded=True).digest == recap.mark


def _is_ours(recap: Recap) -> bool:
    """Whether no person has changed a recap in a journal."""
    return recap.digest == recap.mark or _is_worded(recap)


def _without(sessions: frozenset[str], journal: str, data: bytes | None) -> bytes | None:
    """A journal without the recaps of sessions; ``None`` if only its headings would be left."""
    start = locate(data or b"").body
    text = (data or b"")[start:].decode("utf-8", "surrogateescape")
    lines = text.split("\n")
    gone = [
        each
        for each in recaps_in(f"\n{text}".replace("\r\n", "\n"), journal, 0)
        if each.session in sessions and _is_ours(each)
    ]
    if not gone or data is None:
        return data
    for each in reversed(gone):
        del lines[each.first - 1 : each.last + (each.last < len(lines) and not lines[each.last].strip())]
    if all(line.startswith("#") for line in lines if line.strip()):
        return None
    for at in [at for at, line in enumerate(lines) if line.startswith(f"### {SECTION}")][::-1]:
        below = next((line for line in lines[at + 1 :] if line.strip()), "## ")
        if below.startswith(("## ", "### ")):
            del lines[at : at + 2]
    return data[:start] + "\n".join(lines).encode("utf-8", "surrogateescape")


def _insert(lines: list[str], text: str, recap: Recap, known: Sequence[Recap]) -> None:
    """Inserts a new block by time below the heading of its project, which is added if it is missing."""
    title, block = section_of(recap.project), recap.text.split("\n")
    later = [each for each in known if each.project == recap.project and each.begin > recap.begin]
    if later:
        lines[later[0].first - 1 : later[0].first - 1] = [*block, ""]
        return
    heads = [each for each in sections(text, nested=True) if each.level and each.title == title]
    at = heads[-1].end_line if heads else len(lines)
    while at and not lines[at - 1].strip():
        at -= 1
    heading = [] if heads else ["", f"### {title}"]
    lines[at:at] = [*heading, "", *block]
    if at + len(heading) + 1 + len(block) == len(lines):
        lines.append("")  # a line end at the end of the file
