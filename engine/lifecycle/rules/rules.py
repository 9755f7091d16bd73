"""The person's standing rules as a face uses them: what was said, what counts, and every decision about it.

The rules are lines of ``knowledge/rules.md`` (``engine.rules.rulebook``); what was said where is in the log
(``sessions``). Nothing but the person's own words makes a rule, and no model is needed.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from engine.context.replies import BadReply
from engine.errors import AutopoiesisError, ChangeRefused
from engine.knowledge.harvest.inquiry import Asker
from engine.lifecycle.rules.grouping import Group, Told, grouped, told_of
from engine.lifecycle.rules.learning import Learned, learned
from engine.lifecycle.rules.sessions import (
    RuleLog,
    SessionRead,
    Written,
    done_before,
    read_session,
    there,
    unread,
)
from engine.lifecycle.rules.wording import SYSTEM, open_rules, question, worded
from engine.rules.rulebook import LONGEST, PATH, Rule, Rulebook, bytes_of, rule_id, rules_in
from engine.store.change import ChangeCommit, commit_change
from engine.store.commit_message import commit_message
from engine.store.zone import local_day

if TYPE_CHECKING:
    from engine.costs.costs import Costs
    from engine.providers.chat import ChatProvider
    from engine.settings.model import Config, RulesSettings
    from engine.store.files import Files
    from engine.store.repository import Commit, Repository

_UNDONE = "Undoes"
_LOOKED_BACK = 200
_AT_ONCE = 50
"""Sessions that are recorded together."""


@dataclass(frozen=True, slots=True)
class Learning:
    """What came of reading sessions for rules."""

    sessions: int  # that were read
    learned: Learned
    commit: ChangeCommit = field(default_factory=ChangeCommit)


@dataclass(frozen=True, slots=True)
class Change:
    """What a decision of the person changed."""

    rules: tuple[Rule, ...]  # as they are now
    commit: ChangeCommit


@dataclass(eq=False)
class Rules:
    """Learns rules and keeps them. Safe to use from several processes."""

    files: Files
    repository: Callable[[], Repository]
    config: Callable[[], Config]
    clock: Callable[[], datetime]
    on_problem: Callable[[str], None]
    costs: Callable[[], Costs]
    model: Callable[[RulesSettings], ChatProvider | None] = lambda _settings: None

    def __post_init__(self) -> None:
        self.log = RuleLog(self.files, self.clock)
        # What ``heard`` gave last, behind the stamp of the log that it was made of.
        self._heard: tuple[object, Sequence[SessionRead], Sequence[Group]] | None = None

    def book(self) -> Rulebook:
        """The rules as the file has them.

        Raises:
            DocumentError, PathRefused: It cannot be read.
        """
        return rules_in(self._bytes())

    def _bytes(self) -> bytes:
        """The file; nothing where there is none."""
        try:
            return self.files.read(PATH)
        except FileNotFoundError:
            return b""

    def learn(self, progress: Callable[[int], object] = lambda _read: None) -> Learning:
        """Reads the sessions that were not read yet, and takes what they say of rules into the book.

        A session that cannot be read is told as a problem and tried again next time.

        Raises:
            WriteFailed, ReadOnly: The log or the book could not be written.
            DocumentError, PathRefused: The book cannot be read.
        """
        count = 0
        read: list[SessionRead] = []
        for path, _ in unread(self.files, self.log.known()):
            try:
                read.append(read_session(self.files, path))
            except (OSError, AutopoiesisError) as error:
                self.on_problem(f"{path} was not read for rules: {error}")
                continue
            count += 1
            progress(count)
            if len(read) >= _AT_ONCE:
                self.log.add(read)
                read = []
        self.log.add(read)
        with self.files.lock():
            known = self.log.known()
            book, sessions = self.book(), there(self.files, known)
            groups = grouped(sessions, known.written)
            found = learned(book, groups, known.written if book.text else {}, sessions)
            for name, text in found.first.items():
                self.log.note(Written(name, text))
            for rule in found.gone:
                self.log.note(Written(rule.id, ""))
            if found.book.rules == book.rules:
                return Learning(count, found)
            self._write(found.book)
        what = f"{len(found.new)} rules learned" if found.new else "what was said again of rules"
        taught = {each.session.path for group in groups if group.id in found.first for each in group.told}
        return Learning(count, found, self._commit(what, sessions=sorted(taught)))

    def told(self, rule: Rule) -> tuple[Told, ...]:
        """Every time that a rule was said, oldest first."""
        return told_of(rule, self.heard()[1])

    def heard(self) -> tuple[Sequence[SessionRead], Sequence[Group]]:
        """The sessions that were read and are there, and what was said in them by rule; not to be changed."""
        stamp = self.log.stamp()
        if self._heard is None or self._heard[0] != stamp:
            known = self.log.known()
            sessions = there(self.files, known)
            self._heard = stamp, sessions, grouped(sessions, known.written)
        return self._heard[1:]

    def before(self, told: Told) -> str:
        """What the agent had done when a rule was said: its last tool call, else how its answer began; empty
        where it had done nothing, or the transcript cannot be read any more.
        """
        try:
            return done_before(self.files, told.session.path, told.said.line)
        except (OSError, AutopoiesisError):
            return ""

    def rule(self, name: str, book: Rulebook | None = None) -> Rule:
        """The rule with an id, or with one that begins so.

        Raises:
            ChangeRefused: There is none, or several begin so.
        """
        found = (book or self.book()).get(name)
        if found is None:
            raise ChangeRefused(
                f"there is no rule {name!r:.40}", where=PATH, hint="list them: autopoiesis rules"
            )
        return found

    def accept(self, names: Iterable[str] = (), *, told: int = 0) -> Change:
        """Puts rules in force.

        Args:
            told: Also every rule that was said in so many sessions or more; 0 for none.
        """
        day = self.today()

        def change(book: Rulebook) -> list[Rule]:
            wanted = [self.rule(name, book) for name in names]
            wanted += book.acceptable(told) if told else ()
            return [replace(rule, state="in force", accepted=day, by="") for rule in wanted]

        return self.change(change, "accepted")

    def turn_down(self, names: Iterable[str]) -> Change:
        """Takes rules out of prompts for good; they stay in the file."""

        def change(book: Rulebook) -> list[Rule]:
            return [replace(self.rule(name, book), state="turned down", accepted="") for name in names]

        return self.change(change, "turned down")

    def rest(self, names: Iterable[str]) -> Change:
        """Takes rules out of prompts until they are said again, or accepted."""

        def change(book: Rulebook) -> list[Rule]:
            found = [self.rule(name, book) for name in names]
            return [replace(rule, state="resting", crowded=False, worded=False) for rule in found]

        return self.change(change, "left to rest")

    def reword(self, name: str, text: str) -> Change:
        """Says a rule in other words, and puts it in force."""
        line, day = self._line(text), self.today()

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
        """Has a rule hold in one project, for one agent, or for some tool or files alone.

        All are as in ``Rule``; empty for everywhere, ``None`` to leave it as it is.

        Raises:
            ChangeRefused: A blank or a brace is in one: the line could not hold it.
        """
        places = [place for place in (project, agent, tool, path) if place]
        if any(re.search(r"[\s{}]", place) for place in places):
            raise ChangeRefused("a place has neither blanks nor braces", where=PATH)

        def change(book: Rulebook) -> list[Rule]:
            rule = self.rule(name, book)
            return [
                replace(
                    rule,
                    project=rule.project if project is None else project,
                    agent=rule.agent if agent is None else agent,
                    tool=rule.tool if tool is None else tool,
                    path=rule.path if path is None else path,
                    own=True,
                )
            ]

        where = " ".join(places)
        return self.change(change, f"narrowed to {where}" if where else "made to hold everywhere")

    def merge(self, name: str, into: str) -> Change:
        """Makes two rules one: what was said of either counts for the second."""

        def change(book: Rulebook) -> list[Rule]:
            rule, kept = self.rule(name, book), self.rule(into, book)
            if rule.id == kept.id:
                raise ChangeRefused(f"{name} and {into} are one rule", where=PATH)
            also = tuple(dict.fromkeys((*kept.also, rule.id, *rule.also)))
            told = {each.session.path for one in (rule, kept) for each in self.told(one)}
            last = max(rule.last, kept.last)
            return [
                replace(kept, also=also, told=len(told), last=last),
                replace(rule, state="replaced", by=kept.id),
            ]

        return self.change(change, "merged")

    def word(self) -> Change:
        """Has the model that is set word the rules that wait, and tell them from requests, which then rest.

        Raises:
            ChangeRefused: No model is set, or its reply could not be used.
            CostLimit: The budget is spent.
        """
        settings, rules = self.config().rules, open_rules(self.book().rules)
        completer = self.model(settings)
        if completer is None:
            raise ChangeRefused(
                "no model is set to word rules",
                where="rules.provider",
                hint="autopoiesis config set rules.provider …",
            )
        if not rules:
            return Change((), ChangeCommit(why="nothing new to commit"))
        spending = self.costs().account("rules", completer)
        try:
            answer = Asker(completer, settings, SYSTEM, "rules.max_tokens", spending).answer(
                question(rules), ""
            )
            if answer.completed is None:
                raise ChangeRefused(answer.error, where="rules.provider")
            if answer.completed.cut:
                raise BadReply("the reply was cut off at the token limit; raise rules.max_tokens")
            found = {rule.id: rule for rule in worded(rules, answer.completed.text)}
        except BadReply as bad:
            raise ChangeRefused(str(bad), where="rules.provider") from bad

        def change(book: Rulebook) -> list[Rule]:
            # One that was changed while the model was asked stays as it is.
            return [found[rule.id] for rule in book.rules if rule.id in found and rule in rules]

        return self.change(change, "worded")

    def add(self, text: str, project: str = "") -> Change:
        """Adds a rule that the person gives.

        Raises:
            ChangeRefused: It stands there already, or is no line.
        """
        line, day = self._line(text), self.today()

        def change(book: Rulebook) -> list[Rule]:
            if any(rule.id == rule_id(line) for rule in book.rules):
                raise ChangeRefused("this rule stands there already", where=PATH)
            return [Rule(rule_id(line), line, "in force", accepted=day, own=True, project=project)]

        return self.change(change, "added")

    def last_change(self) -> Commit:
        """What ``undo`` would take back.

        Raises:
            ChangeRefused: There is nothing.
            RepositoryError: There is no repository, or git failed.
        """
        undone = set[str]()
        for commit in self.repository().log(_LOOKED_BACK, path=PATH):
            before = [
                line.removeprefix(f"{_UNDONE}: ")
                for line in commit.body.split("\n")
                if line.startswith(f"{_UNDONE}: ")
            ]
            undone.update(before)
            if not before and commit.revision not in undone:
                return commit
        raise ChangeRefused("no change of the rules stands in the history", where=PATH)

    def undo(self) -> Change:
        """Takes the last change of the book back; again: the one before it.

        Raises:
            ChangeRefused: There is none, or the file was changed since.
            RepositoryError: There is no repository, or git failed.
        """
        repository, commit = self.repository(), self.last_change()
        with self.files.lock():
            text = self._bytes()
            if text != repository.show(commit.revision, PATH):
                raise ChangeRefused(
                    "was changed since the last commit",
                    where=PATH,
                    hint=f"commit it first: autopoiesis commit {PATH}",
                )
            data = b""
            with contextlib.suppress(AutopoiesisError, FileNotFoundError):
                data = repository.show(f"{commit.revision}^", PATH)
            was, now = rules_in(text), rules_in(data)
            self.files.replace(PATH, data or bytes_of(Rulebook()))
        old = {rule.id: rule for rule in was.rules}
        changed = tuple(rule for rule in now.rules if old.get(rule.id) != rule)
        return Change(changed, self._commit("rules as they were", trailers=[(_UNDONE, commit.revision)]))

    def change(self, change: Callable[[Rulebook], Sequence[Rule]], what: str) -> Change:
        """Puts the rules that ``change`` makes of the book into it; the commit says ``what`` was done."""
        with self.files.lock():
            book = self.book()
            rules = change(book)
            changed = book.changed(rules)
            if changed.rules != book.rules:
                self._write(changed)
        if changed.rules == book.rules:
            return Change(tuple(rules), ChangeCommit(why="nothing new to commit"))
        if len(rules) == 1 or what == "merged":
            return Change(tuple(rules), self._commit(f"rule {what}: {rules[0].text!r:.80}"))
        return Change(tuple(rules), self._commit(f"{len(rules)} rules {what}"))

    def _write(self, book: Rulebook) -> None:
        self.files.replace(PATH, bytes_of(book))

    def _commit(
        self, what: str, sessions: Sequence[str] = (), trailers: Sequence[tuple[str, str]] = ()
    ) -> ChangeCommit:
        message = commit_message("memory", what, sessions=sessions[:_LOOKED_BACK], trailers=trailers)
        paths = (PATH, *self.log.paths)
        return commit_change(self.repository, paths, message, wanted=self.config().git.auto_commit)

    def _line(self, text: str) -> str:
        line = " ".join(text.split()).replace("{#", "{ #")
        if not line or len(line) > LONGEST:
            raise ChangeRefused(f"a rule is one line of at most {LONGEST} characters", where=PATH)
        return line

    def today(self) -> str:
        """The day where the person is."""
        return local_day(self.clock(), self.config().days.time_zone).isoformat()
