"""The user's standing rules: learning them from sessions, and every decision on them.

Rules are lines of ``knowledge/rules.md`` (``engine.rules.rulebook``); where they were stated is in the log
(``sessions``). Only the user's own words make a rule; no model is needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from engine.context.replies import BadReply
from engine.errors import AutopoiesisError, ChangeRefused
from engine.knowledge.harvest.inquiry import Asker
from engine.lifecycle.rules.book import UNDONE, last_change, revert, update
from engine.lifecycle.rules.grouping import Group, Occurrence, grouped, occurrences_of
from engine.lifecycle.rules.learning import Learned, learned
from engine.lifecycle.rules.sessions import (
    RuleLog,
    SessionRead,
    Written,
    done_before,
    existing,
    read_session,
    unread,
)
from engine.lifecycle.rules.wording import SYSTEM, open_rules, question, worded
from engine.rules.rulebook import LONGEST, PATH, Rule, Rulebook, rule_id, rules_in
from engine.store.change import ChangeCommit, commit_change
from engine.store.commit_message import commit_message
from engine.store.zone import local_day

if TYPE_CHECKING:
    from engine.costs.costs import Costs
    from engine.providers.chat import ChatProvider
    from engine.settings.model import Config, RulesSettings
    from engine.store.files import Files
    from engine.store.repository import Commit, Repository

_MAX_SOURCES = 200
_AT_ONCE = 50
"""Sessions per write to the log."""


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


def _checked(*places: str | None) -> list[str]:
    found = [place for place in places if place]
    if any(re.search(r"[\s{}]", place) for place in found):
        raise ChangeRefused("a scope cannot contain spaces or braces", where=PATH)
    return found


@dataclass(eq=False)
class Rules:
    """Learns and edits rules. Safe across processes."""

    files: Files
    repository: Callable[[], Repository]
    config: Callable[[], Config]
    clock: Callable[[], datetime]
    on_problem: Callable[[str], None]
    costs: Callable[[], Costs]
    model: Callable[[RulesSettings], ChatProvider | None] = lambda _settings: None

    def __post_init__(self) -> None:
        self.log = RuleLog(self.files, self.clock)
        # The last result of ``statements``, with the stamp of the log it was made from.
        self._cached: tuple[object, Sequence[SessionRead], Sequence[Group]] | None = None

    def book(self) -> Rulebook:
        """Reads the rules file.

        Raises:
            DocumentError, PathRefused: It cannot be read.
        """
        return rules_in(self._bytes())

    def _bytes(self) -> bytes:
        """The file; empty if there is none."""
        try:
            return self.files.read(PATH)
        except FileNotFoundError:
            return b""

    def learn(self, progress: Callable[[int], object] = lambda _read: None) -> Learning:
        """Reads new sessions and updates the rules file.

        A session that cannot be read is reported and retried next time.

        Raises:
            WriteFailed, ReadOnly: The log or the rules file could not be written.
            DocumentError, PathRefused: The rules file cannot be read.
        """
        count = 0
        read: list[SessionRead] = []
        for path, _ in unread(self.files, self.log.known()):
            try:
                read.append(read_session(self.files, path))
            except (OSError, AutopoiesisError) as error:
                self.on_problem(f"cannot read {path} for rules: {error}")
                continue
            count += 1
            progress(count)
            if len(read) >= _AT_ONCE:
                self.log.add(read)
                read = []
        self.log.add(read)
        with self.files.lock():
            known = self.log.known()
            sessions = existing(self.files, known)
            groups = grouped(sessions, known.written)
            found = Learned(Rulebook())

            def change(book: Rulebook) -> Rulebook:
                nonlocal found
                found = learned(book, groups, known.written if book.text else {}, sessions)
                for rule in found.gone:
                    self.log.note(Written(rule.id, ""))
                return found.book

            is_changed = update(self.files, change)
            # Last, because one in the log that is not in the file counts as deleted by the user.
            for name, text in found.first.items():
                self.log.note(Written(name, text))
            if not is_changed:
                return Learning(count, found)
        what = f"{len(found.new)} rules learned" if found.new else "rules repeated"
        new = {rule.id for rule in found.new}
        sources = {each.session.path for group in groups if group.id in new for each in group.occurrences}
        return Learning(count, found, self._commit(what, sessions=sorted(sources)))

    def occurrences(self, rule: Rule) -> tuple[Occurrence, ...]:
        """Every occurrence of a rule, oldest first."""
        return occurrences_of(rule, self.statements()[1])

    def statements(self) -> tuple[Sequence[SessionRead], Sequence[Group]]:
        """The existing sessions that were read, and their statements grouped by rule; read-only."""
        stamp = self.log.stamp()
        if self._cached is None or self._cached[0] != stamp:
            known = self.log.known()
            sessions = existing(self.files, known)
            self._cached = stamp, sessions, grouped(sessions, known.written)
        return self._cached[1:]

    def before(self, occurrence: Occurrence) -> str:
        """What the agent had done when a rule was stated: its last tool call, else the start of its answer;
        empty if nothing, or the transcript can no longer be read.
        """
        try:
            return done_before(self.files, occurrence.session.path, occurrence.said.line)
        except (OSError, AutopoiesisError):
            return ""

    def rule(self, name: str, book: Rulebook | None = None) -> Rule:
        """The rule with an id or an unambiguous prefix of one.

        Raises:
            ChangeRefused: There is none, or several match.
        """
        found = (book or self.book()).get(name)
        if found is None:
            raise ChangeRefused(f"no rule {name!r:.40}", where=PATH, hint="list them: autopoiesis rules")
        return found

    def accept(self, names: Iterable[str] = (), *, min_sessions: int = 0) -> Change:
        """Puts rules in force.

        Args:
            min_sessions: Also every rule stated in at least this many sessions; 0 for none.
        """
        day = self.today()

        def change(book: Rulebook) -> list[Rule]:
            wanted = [self.rule(name, book) for name in names]
            wanted += book.acceptable(min_sessions) if min_sessions else ()
            return [replace(rule, state="in force", accepted=day, by="") for rule in wanted]

        return self.change(change, "accepted")

    def turn_down(self, names: Iterable[str]) -> Change:
        """Removes rules from prompts permanently; they stay in the file."""

        def change(book: Rulebook) -> list[Rule]:
            return [replace(self.rule(name, book), state="turned down", accepted="") for name in names]

        return self.change(change, "turned down")

    def rest(self, names: Iterable[str]) -> Change:
        """Removes rules from prompts until they are stated again or accepted."""

        def change(book: Rulebook) -> list[Rule]:
            found = [self.rule(name, book) for name in names]
            return [replace(rule, state="resting", crowded=False, worded=False) for rule in found]

        return self.change(change, "left to rest")

    def reword(self, name: str, text: str) -> Change:
        """Changes the text of a rule and puts it in force."""
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
        """Limits a rule to a project, an agent, a tool or files.

        Arguments as in ``Rule``; empty for everywhere, ``None`` to leave it unchanged.

        Raises:
            ChangeRefused: One contains white space or a brace, which the line cannot hold.
        """
        places = _checked(project, agent, tool, path)

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

    def word(self) -> Change:
        """Asks the configured model to word pending rules briefly, and to sort out one-off requests, which
        rest.

        Raises:
            ChangeRefused: No model is configured, or its reply is unusable.
            CostLimit: The budget is spent.
        """
        settings, rules = self.config().rules, open_rules(self.book().rules)
        completer = self.model(settings)
        if completer is None:
            raise ChangeRefused(
                "no model is configured for wording rules",
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
            # Rules that changed while waiting for the model are left alone.
            return [found[rule.id] for rule in book.rules if rule.id in found and rule in rules]

        return self.change(change, "worded")

    def add(self, text: str, project: str = "") -> Change:
        """Adds a rule worded by the user.

        Raises:
            ChangeRefused: It already exists, is not a single line, or the project contains white space or a
                brace.
        """
        line, day = self._line(text), self.today()
        _checked(project)

        def change(book: Rulebook) -> list[Rule]:
            if any(rule.id == rule_id(line) for rule in book.rules):
                raise ChangeRefused("this rule already exists", where=PATH)
            return [Rule(rule_id(line), line, "in force", accepted=day, own=True, project=project)]

        return self.change(change, "added")

    def last_change(self) -> Commit:
        """The commit that ``undo`` would revert. Raises as ``book.last_change``."""
        return last_change(self.repository())

    def undo(self, expected: str = "") -> Change:
        """Reverts the last change of the rules file; repeated, the one before it.

        Args:
            expected: The revision the user agreed to revert; by default, whatever is the last.

        Raises:
            ChangeRefused: There is none, it is another one than expected, or the file has changed since.
            RepositoryError: There is no repository, or git failed.
        """
        changed, revision = revert(self.files, self.repository(), expected)
        return Change(changed, self._commit("undo a change of the rules", trailers=[(UNDONE, revision)]))

    def change(self, change: Callable[[Rulebook], Sequence[Rule]], what: str) -> Change:
        """Writes the rules that ``change`` returns; the commit message says ``what`` was done."""
        rules: Sequence[Rule] = ()

        def changed(book: Rulebook) -> Rulebook:
            nonlocal rules
            rules = change(book)
            return book.changed(rules)

        if not update(self.files, changed):
            return Change(tuple(rules), ChangeCommit(why="nothing new to commit"))
        if len(rules) == 1 or what == "merged":
            return Change(tuple(rules), self._commit(f"rule {what}: {rules[0].text!r:.80}"))
        return Change(tuple(rules), self._commit(f"{len(rules)} rules {what}"))

    def _commit(
        self, what: str, sessions: Sequence[str] = (), trailers: Sequence[tuple[str, str]] = ()
    ) -> ChangeCommit:
        message = commit_message("memory", what, sessions=sessions[:_MAX_SOURCES], trailers=trailers)
        paths = (PATH, *self.log.paths)
        return commit_change(self.repository, paths, message, wanted=self.config().git.auto_commit)

    def _line(self, text: str) -> str:
        line = " ".join(text.split()).replace("{#", "{ #")
        if not line or len(line) > LONGEST:
            raise ChangeRefused(f"a rule is a single line of at most {LONGEST} characters", where=PATH)
        return line

    def today(self) -> str:
        """The current day in the user's time zone."""
        return local_day(self.clock(), self.config().days.time_zone).isoformat()
