"""The person's standing rules: learning them from sessions, and every decision on them.

Rules are lines of ``knowledge/rules.md`` (``engine.rules.rulebook``); where they were said is kept by
``engine.rules.reading``. Only the person's own words make a rule; no model is needed.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, ChangeRefused, RepositoryError
from engine.redaction.detect import secrets_in
from engine.rules.learning import Groups, Learned, Occurrence, grouped, learned, occurrences_of
from engine.rules.reading import Known, RuleLog, SessionRead, Written, done_before, read_session, sizes
from engine.rules.rulebook import LONGEST, PATH, Rule, Rulebook, bytes_of, rule_id, rules_in
from engine.rules.subject import relation
from engine.store.change import ChangeCommit, commit_change, commit_message
from engine.store.named_file import read_named, replace_named
from engine.store.zone import local_day
from engine.transcripts.days import iso, moment
from engine.transcripts.places import FOLDER

if TYPE_CHECKING:
    from datetime import datetime

    from engine.rules.agent_files import Elsewhere, Export
    from engine.rules.watch import Watcher
    from engine.store.files import Files
    from engine.store.repository import Commit, Repository

_MAX_SOURCES = 200
_ATTEMPTS = 3
"""Times that learning starts again because another process has recorded sessions meanwhile."""
_LOOKED_BACK = 200
_REQUEST, _REQUEST_HOLDS = "scratch/forget-rule", timedelta(minutes=15)
_UNDONE = "Undoes"
"""The trailer that names the commit an undo reverts."""


@dataclass(frozen=True, slots=True)
class Learning:
    """Result of reading sessions for rules."""

    sessions: int  # number read
    learned: Learned
    commit: ChangeCommit = field(default_factory=ChangeCommit)


@dataclass(frozen=True, slots=True)
class Change:
    """Result of a decision."""

    rules: tuple[Rule, ...]  # in their new state
    commit: ChangeCommit


@dataclass(eq=False)
class Rules:
    """Learns and edits rules. Safe across processes.

    Args:
        zone: Returns the name of the person's time zone; empty for the machine's.
        auto_commit: Returns whether changes are committed.
        edited: Called with the path of each topic written.
        authors: Returns the author of each transcript by path, as committed.
    """

    files: Files
    repository: Callable[[], Repository]
    clock: Callable[[], datetime]
    zone: Callable[[], str]
    auto_commit: Callable[[], bool]
    on_problem: Callable[[str], None]
    edited: Callable[[str], None] = lambda _path: None
    authors: Callable[[str], Mapping[str, str]] = lambda _folder: {}

    def __post_init__(self) -> None:
        self.log = RuleLog(self.files, self.clock)
        # The last result of ``groups``, with the stamp of the log it was made from.
        self._cached: tuple[object, Groups] | None = None

    def book(self) -> Rulebook:
        """Reads the rules file.

        Raises:
            DocumentError, PathRefused: It cannot be read.
        """
        try:
            return rules_in(self.files.read(PATH))
        except FileNotFoundError:
            return rules_in(b"")

    def learn(self, progress: Callable[[int], object] = lambda _read: None) -> Learning:
        """Reads new sessions and updates the rules file. Without new sessions it only looks at their sizes.

        A session that cannot be read is reported and retried next time.

        Raises:
            WriteFailed, ReadOnly: The log or the rules file could not be written.
            DocumentError, PathRefused: The rules file cannot be read.
        """
        for attempt in range(_ATTEMPTS):
            present = sizes(self.files.workspace)
            # Whoever deletes the file starts over with the same sessions.
            is_deleted = bool(self.log.paths) and not (self.files.workspace.root / PATH).exists()
            if present and not is_deleted and self.log.sizes() == present:
                return Learning(0, Learned(self.book()))
            known = self.log.known()
            read = self._read(known, present, progress)
            groups, new, is_anew = self._grouped(known, present, read)
            # Read and compared without the lock; only the result is written under it.
            with self.files.lock():
                if self.log.stamp() != known.stamp and attempt < _ATTEMPTS - 1:
                    continue
                found, is_changed = self._write(known, groups, new, is_anew=is_anew)
            if not is_changed:
                return Learning(len(read), found)
            what = f"{len(found.new)} rules learned" if found.new else "rules repeated"
            names = {rule.id for rule in found.new}
            sources = {
                each.session.path for group in groups if group.id in names for each in group.occurrences
            }
            return Learning(len(read), found, self._commit(what, sessions=sorted(sources)))
        raise AssertionError("unreachable")

    def unread(self) -> int:
        """The number of new or grown sessions."""
        known = self.log.sizes()
        return sum(known.get(path) != size for path, size in sizes(self.files.workspace).items())

    def _read(
        self, known: Known, present: Mapping[str, int], progress: Callable[[int], object]
    ) -> list[SessionRead]:
        """The new and the grown sessions."""
        read: list[SessionRead] = []
        for path, size in present.items():
            before = known.sessions.get(path)
            if before is not None and before.size == size:
                continue
            try:
                found = read_session(self.files, path, self.zone())
            except (OSError, AutopoiesisError) as error:
                self.on_problem(f"cannot read {path} for rules: {error}")
                continue
            if before is not None:
                placed = {(each.line, each.text): each for each in before.said}
                said = tuple(placed.get((each.line, each.text), each) for each in found.said)
                found = replace(found, said=said)
            read.append(found)
            progress(len(read))
        return read

    def _grouped(
        self, known: Known, present: Mapping[str, int], read: Sequence[SessionRead]
    ) -> tuple[Groups, list[SessionRead], bool]:
        """The rules of all sessions, the sessions to record, and whether they are all of them: if one that is
        new was said before one that is known, the order in which the later word holds is another.
        """
        old = {path: each for path, each in known.sessions.items() if path in present}
        changed = {each.path: each for each in read}
        is_anew = bool(old) and min(changed, default="~") < max(old, default="")
        every = [each for _, each in sorted((old | changed).items())]
        if is_anew:
            every = [
                replace(each, said=tuple(replace(said, group="", over=(), ends=False) for said in each.said))
                for each in every
            ]
        groups, placed = grouped(every, self._seeds(known))
        new = placed if is_anew else [each for each in placed if each.path in changed]
        return groups, new, is_anew or len(old) < len(known.sessions)

    def _seeds(self, known: Known) -> dict[str, str]:
        """The wordings with which rules keep their ids."""
        with contextlib.suppress(AutopoiesisError):
            return dict(known.written) | {rule.id: rule.text for rule in self.book().rules if rule.own}
        return dict(known.written)

    def _write(
        self, known: Known, groups: Groups, new: Sequence[SessionRead], *, is_anew: bool
    ) -> tuple[Learned, bool]:
        """Updates the file and records sessions; returns whether the file changed."""
        found = Learned(Rulebook())

        def change(book: Rulebook) -> Rulebook:
            nonlocal found
            found = learned(book, groups, known.written if book.text else {})
            for rule in found.gone:
                self.log.note(Written(rule.id, ""))
            return found.book

        is_changed = self._update(change)
        # After the file, because a rule in the log that is not in the file counts as deleted by the person,
        # and a recorded session is not read again.
        for name, text in found.first.items():
            self.log.note(Written(name, text))
        if is_anew:
            rest = {each.path: each for each in new}
            present = sizes(self.files.workspace)
            kept = [rest.get(path) or known.sessions.get(path) for path in present]
            self.log.add([each for each in kept if each is not None], anew=True)
        else:
            self.log.add(new)
        return found, is_changed

    def occurrences(self, rule: Rule) -> tuple[Occurrence, ...]:
        """Each time a rule was said, replaced or ended, oldest first."""
        return occurrences_of(rule, self.groups())

    def groups(self) -> Groups:
        """The rules of the sessions that were read; read-only."""
        stamp = self.log.stamp()
        if self._cached is None or self._cached[0] != stamp:
            known = self.log.known()
            root = self.files.workspace.root
            every = [each for path, each in sorted(known.sessions.items()) if (root / path).is_file()]
            self._cached = stamp, grouped(every, self._seeds(known))[0]
        return self._cached[1]

    def before(self, occurrence: Occurrence) -> str:
        """What the agent had done when a rule was said: its last tool call, else the start of its answer;
        empty if nothing, or the transcript can no longer be read.
        """
        try:
            return done_before(self.files, occurrence.session.path, occurrence.said.line)
        except (OSError, AutopoiesisError):
            return ""

    def authors_of(self, occurrences: Iterable[Occurrence]) -> tuple[str, ...]:
        """Who said a rule each time: the author of the commit that added the transcript. Empty if it is not
        committed yet, or if all transcripts have the same author.
        """
        found: Mapping[str, str] = {}
        with contextlib.suppress(RepositoryError):
            found = self.authors(FOLDER)
        is_shared = len(set(found.values())) > 1
        return tuple(found.get(each.session.path, "") if is_shared else "" for each in occurrences)

    def rule(self, name: str, book: Rulebook | None = None) -> Rule:
        """The rule with an id or an unambiguous prefix of one.

        Raises:
            ChangeRefused: There is none, or several match.
        """
        found = (book or self.book()).get(name)
        if found is None:
            raise ChangeRefused(f"no rule {name!r:.40}", where=PATH, hint="list them: autopoiesis rules")
        return found

    def meant(self, text: str) -> Rule | None:
        """The rule in force that a text means, by its id, its words or what it is about; ``None`` if it is
        not clear.
        """
        book = self.book()
        found = book.get(text.strip().strip("#`'\"."))
        if found is not None:
            return found
        rules = [rule for rule in book.rules if rule.counts]
        same = [rule for rule in rules if relation(text, rule.text) in ("same", "ends", "replaces")]
        return same[0] if len(same) == 1 else None

    def note_request(self) -> None:
        """Records that the person has asked to forget a rule, without saying clearly which.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        self.files.replace(_REQUEST, iso(self.clock()).encode())

    def is_requested(self) -> bool:
        """Whether the person asked for that some minutes ago at most."""
        with contextlib.suppress(OSError, AutopoiesisError):
            at = moment(self.files.read(_REQUEST).decode("ascii", "replace"))
            return at is not None and timedelta() <= self.clock() - at < _REQUEST_HOLDS
        return False

    def accept(self, names: Iterable[str] = (), *, min_sessions: int = 0) -> Change:
        """Puts rules in force.

        Args:
            min_sessions: Also every rule that was said in at least this many sessions; 0 for none.
        """
        day = self.today()

        def change(book: Rulebook) -> list[Rule]:
            wanted = [self.rule(name, book) for name in names]
            wanted += book.acceptable(min_sessions) if min_sessions else ()
            return [replace(rule, state="in force", accepted=day, by="", ended="") for rule in wanted]

        return self.change(change, "accepted")

    def turn_down(self, names: Iterable[str]) -> Change:
        """Removes rules from prompts permanently; they stay in the file."""

        def change(book: Rulebook) -> list[Rule]:
            return [replace(self.rule(name, book), state="turned down", accepted="") for name in names]

        return self.change(change, "turned down")

    def rest(self, names: Iterable[str]) -> Change:
        """Removes rules from prompts until they are said again or accepted."""

        def change(book: Rulebook) -> list[Rule]:
            return [replace(self.rule(name, book), state="resting") for name in names]

        return self.change(change, "left to rest")

    def reword(self, name: str, text: str) -> Change:
        """Changes the text of a rule and puts it in force."""
        line, day = _line(text), self.today()

        def change(book: Rulebook) -> list[Rule]:
            rule = self.rule(name, book)
            return [replace(rule, text=line, own=True, state="in force", accepted=rule.accepted or day)]

        return self.change(change, "reworded")

    def narrow(
        self,
        name: str,
        *,
        project: str | None = None,
        agent: str | None = None,
        tool: str | None = None,
        path: str | None = None,
    ) -> Change:
        """Limits a rule to a project, an agent, a tool or files.

        Arguments as in ``Rule``; empty for everywhere, ``None`` to leave it unchanged.

        Raises:
            ChangeRefused: One contains white space or a brace, which the line cannot hold.
        """
        wanted = {"project": project, "agent": agent, "tool": tool, "path": path}
        given = {key: value for key, value in wanted.items() if value is not None}
        places = _checked(*given.values())

        def change(book: Rulebook) -> list[Rule]:
            return [replace(self.rule(name, book), own=True, **given)]  # type: ignore[arg-type]

        where = " ".join(places)
        return self.change(change, f"narrowed to {where}" if where else "widened to everywhere")

    def merge(self, name: str, into: str) -> Change:
        """Merges a rule into another, with its occurrences.

        Raises:
            ChangeRefused: They are the same, or the other one is itself replaced.
        """

        def change(book: Rulebook) -> list[Rule]:
            rule, kept = self.rule(name, book), self.rule(into, book)
            if rule.id == kept.id:
                raise ChangeRefused(f"{name} and {into} are the same rule", where=PATH)
            if kept.state == "replaced":
                hint = f"accept it first: autopoiesis rules accept {kept.id}"
                raise ChangeRefused(f"the rule {kept.id} is replaced", where=PATH, hint=hint)
            also = tuple(dict.fromkeys((*kept.also, rule.id, *rule.also)))
            sessions = {each.session.path for one in (rule, kept) for each in self.occurrences(one)}
            last = max(rule.last, kept.last)
            return [
                replace(kept, also=also, told=len(sessions), last=last),
                replace(rule, state="replaced", by=kept.id, also=()),
            ]

        return self.change(change, "merged")

    def add(self, text: str, project: str = "") -> Change:
        """Adds a rule worded by the person.

        Raises:
            ChangeRefused: It already exists, is not a single line, or the project contains white space or a
                brace.
        """
        line, day = _line(text), self.today()
        _checked(project)

        def change(book: Rulebook) -> list[Rule]:
            if any(rule.id == rule_id(line) for rule in book.rules):
                raise ChangeRefused("this rule already exists", where=PATH)
            return [Rule(rule_id(line), line, "in force", accepted=day, own=True, project=project)]

        return self.change(change, "added")

    def known_elsewhere(self, given: Sequence[Path] = ()) -> Elsewhere:
        """Finds and marks rules that are also in agents' own files: those in projects of sessions, and the
        ``given`` ones. Raises as ``agent_files.look``.
        """
        from engine.rules import agent_files  # noqa: PLC0415 — hooks do without

        book = self.book()
        found = agent_files.look(self.files.workspace, book.rules, given, self.on_problem)
        places = {place.id: place.path for place in found.found}
        read = set(map(agent_files.name_of, found.read))
        lost = {rule.id for rule in book.rules if rule.known in read}
        change = self.change(lambda book: agent_files.marked(book, places, lost), "looked for elsewhere")
        return replace(found, commit=change.commit)

    def export(
        self, names: Iterable[str], to: Path, *, apply: bool = False, expected: str | None = None
    ) -> Export:
        """Exports rules to a section of a file, which may be outside the workspace.

        Args:
            names: If empty, every accepted rule that the file does not state yet.
            apply: Write the file, and mark the rules in it as known there.
            expected: The diff the person agreed to; by default, whatever it is now.

        Raises:
            ChangeRefused: A rule is not in force, the file's section is broken, or the diff is another one
            than
                expected.
            PathRefused, DocumentError, WriteFailed, ReadOnly: It cannot be read or written.
        """
        from engine.rules import agent_files  # noqa: PLC0415 — hooks do without

        book, file = self.book(), read_named(to)
        made = agent_files.plan(self.files.workspace, file, book, [self.rule(name, book) for name in names])
        if not apply:
            return made
        self.files.refuse_read_only(PATH)
        if expected not in (None, made.diff):
            raise ChangeRefused("the rules or the file have changed since they were shown", where=str(to))
        if made.data != file.data:
            replace_named(file, made.data)
        ids = [*(place.id for place in made.known), *(rule.id for rule in made.rules)]
        places = dict.fromkeys(ids, made.path)
        change = self.change(lambda book: agent_files.marked(book, places, made.taken_out), "exported")
        return replace(made, is_written=made.data != file.data, commit=change.commit)

    def watch(self, name: str, pattern: str = "", *, apply: bool = False) -> Watcher:
        """A topic that watches what agents write and run for violations of a rule.

        Args:
            pattern: Matches a violation; derived from the rule's text if empty.
            apply: Write the topic.

        Raises:
            ChangeRefused: No pattern can be derived, the given one is unusable, or the topic already exists
                with other content.
            WriteFailed, ReadOnly: It was not written.
        """
        from engine.rules.watch import watcher_of  # noqa: PLC0415 — hooks do without

        rule = self.rule(name)
        made = watcher_of(rule, pattern, self.files.workspace)
        if not apply:
            return made
        data = made.text.encode("utf-8", "replace")
        is_new = self.files.create(made.path, data)
        if not is_new and self.files.read(made.path) != data:
            raise ChangeRefused("already exists", where=made.path, hint="edit it, or delete it first")
        self.edited(made.path)
        message = commit_message("maintenance", f"an output trigger for the rule {rule.text!r:.60}")
        commit = commit_change(self.repository, [made.path], message, wanted=self.auto_commit())
        return replace(made, is_written=is_new, commit=commit)

    def last_change(self) -> Commit:
        """The last commit of the rules that was not reverted, which ``undo`` would revert.

        Raises:
            ChangeRefused: There is none.
            RepositoryError: There is no repository, or git failed.
        """
        undone = set[str]()
        for commit in self.repository().log(_LOOKED_BACK, path=PATH):
            lead = f"{_UNDONE}: "
            before = [line.removeprefix(lead) for line in commit.body.split("\n") if line.startswith(lead)]
            undone.update(before)
            if not before and commit.revision not in undone:
                return commit
        raise ChangeRefused("no change of the rules to undo", where=PATH)

    def undo(self, expected: str = "") -> Change:
        """Reverts the last change of the rules file; repeated, the one before it.

        Args:
            expected: The revision the person agreed to revert; by default, whatever is the last.

        Raises:
            ChangeRefused: There is none, it is another one than expected, or the file has changed since.
            RepositoryError: There is no repository, or git failed.
            WriteFailed, ReadOnly: It could not be written.
        """
        repository, last = self.repository(), self.last_change()
        if expected not in ("", last.revision):
            raise ChangeRefused(f"the last change is another one by now: {last.subject}", where=PATH)
        made, data = repository.show(last.revision, PATH), b""
        with contextlib.suppress(AutopoiesisError, FileNotFoundError):
            data = repository.show(f"{last.revision}^", PATH)

        def restored(text: bytes | None) -> bytes:
            if text != made:
                hint = f"commit them first: autopoiesis commit {PATH}"
                raise ChangeRefused("has uncommitted changes", where=PATH, hint=hint)
            return data or bytes_of(Rulebook())

        self.files.update(PATH, restored)
        old = {rule.id: rule for rule in rules_in(made).rules}
        changed = tuple(rule for rule in rules_in(data).rules if old.get(rule.id) != rule)
        return Change(
            changed, self._commit("undo a change of the rules", trailers=[(_UNDONE, last.revision)])
        )

    def change(self, change: Callable[[Rulebook], Sequence[Rule]], what: str) -> Change:
        """Writes the rules that ``change`` returns; the commit message says ``what`` was done."""
        rules: Sequence[Rule] = ()

        def changed(book: Rulebook) -> Rulebook:
            nonlocal rules
            rules = change(book)
            return book.changed(rules)

        if not self._update(changed):
            return Change(tuple(rules), ChangeCommit(why="nothing new to commit"))
        if len(rules) == 1 or what == "merged":
            return Change(tuple(rules), self._commit(f"rule {what}: {rules[0].text!r:.80}"))
        return Change(tuple(rules), self._commit(f"{len(rules)} rules {what}"))

    def _update(self, change: Callable[[Rulebook], Rulebook]) -> bool:
        """Changes the file; returns whether the rules differ. If an editor saves it in the meantime,
        ``change`` is called again with what was saved.
        """
        is_changed = False

        def changed(data: bytes | None) -> bytes | None:
            nonlocal is_changed
            book = rules_in(data or b"")
            new = change(book)
            is_changed = new.rules != book.rules
            return bytes_of(new) if is_changed else data

        self.files.update(PATH, changed)
        return is_changed

    def _commit(
        self, what: str, sessions: Sequence[str] = (), trailers: Sequence[tuple[str, str]] = ()
    ) -> ChangeCommit:
        message = commit_message("memory", what, sessions=sessions[:_MAX_SOURCES], trailers=trailers)
        return commit_change(self.repository, (PATH, *self.log.paths), message, wanted=self.auto_commit())

    def today(self) -> str:
        """The current day in the person's time zone."""
        return local_day(self.clock(), self.zone()).isoformat()


def _line(text: str) -> str:
    line = " ".join(text.split()).replace("{#", "{ #")
    if not line or len(line) > LONGEST:
        raise ChangeRefused(f"a rule is a single line of at most {LONGEST} characters", where=PATH)
    if secrets_in(line):
        raise ChangeRefused(
            "the rule contains what looks like a secret",
            where=PATH,
            hint="say where it is instead: no rule could be committed beside it",
        )
    return line


def _checked(*places: str) -> list[str]:
    found = [place for place in places if place]
    if any(re.search(r"[\s{}]", place) for place in found):
        raise ChangeRefused("a scope cannot contain spaces or braces", where=PATH)
    return found
