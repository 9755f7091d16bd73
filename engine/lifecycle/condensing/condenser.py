"""Condenses days, weeks and months (spec 8.4, 10.3). Every write starts as a proposal (design 3.12).

Each function returns proposals for the current files; ``apply`` carries them out, ``submit`` adds them to the
review queue. Called again after that, it proposes nothing. If a model fails, the work is done without one,
and the proposal gives the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import TYPE_CHECKING

from engine.context.replies import BadReply
from engine.context.sources import MEMORY
from engine.errors import AutopoiesisError
from engine.knowledge.inventory import take_inventory
from engine.knowledge.item import Item
from engine.knowledge.proposed import WHY, why_held
from engine.knowledge.session_notes import projects
from engine.lifecycle.condensing import guards, prompt
from engine.lifecycle.condensing.days import Bullet, bullets_of, journal_change, path_of
from engine.lifecycle.condensing.months import duplicates, quiet_projects, recent_texts
from engine.lifecycle.condensing.sessions import Session, sessions_of
from engine.lifecycle.condensing.weeks import journals_of, kept_in, promotion, summary_of, week_of
from engine.lifecycle.proposals import Outcome, Proposal, apply, shown, submit
from engine.lifecycle.retention.eviction import last_changes
from engine.lifecycle.retention.memory import WARN_AT
from engine.lifecycle.retention.places import journal_day
from engine.provenance.spoken import voices_of
from engine.redaction.detect import secrets_in
from engine.store.zone import local_day

if TYPE_CHECKING:
    from engine.conversations.conversations import Conversations
    from engine.knowledge.file_changes import FileChange
    from engine.knowledge.knowledge import Knowledge
    from engine.lifecycle.recaps.recaps import Recaps, Written
    from engine.lifecycle.retention.retention import Retention
    from engine.providers.chat import ChatProvider, ChatReply
    from engine.settings.model import CondensingSettings


@dataclass(eq=False)
class Condenser:
    """Condenses the memory of a workspace. Safe across processes.

    ``completer`` returns ``None`` if no model is to be used.
    """

    knowledge: Knowledge
    conversations: Conversations
    retention: Retention
    recaps: Callable[[], Recaps]
    completer: Callable[[CondensingSettings], ChatProvider | None]

    @property
    def today(self) -> date:
        """The current day in the configured time zone."""
        return local_day(self.knowledge.clock(), self._zone)

    @property
    def _zone(self) -> str:
        return self.knowledge.config().days.time_zone

    @property
    def _settings(self) -> CondensingSettings:
        return self.knowledge.config().condensing

    def daily(self, day: date | None = None, *, ask: bool = True, since: datetime | None = None) -> Proposal:
        """Proposes lines missing from the journal of a day, by default today.

        Args:
            ask: Use a model, if the settings name one.
            since: The day is already condensed up to this time; only later messages are read by a model, and
                lines the user has removed since do not return.
        """
        day = day or self.today
        files = self.knowledge.files
        blank = Proposal(f"journal-{day}", f"journal of {day}")
        if ask and self._settings.provider != "none":
            sessions = list(sessions_of(self.conversations, day, self._zone, since))
            drafted = self._drafted(blank, sessions, day) if sessions else blank
            if sessions and not drafted.refused:
                return drafted
            blank = replace(blank, refused=drafted.refused)  # continue without a model
        bullets, left = bullets_of(files, day, projects(files.workspace)) if since is None else ([], [])
        change = journal_change(files, day, bullets, ())
        return shown(files, replace(blank, change=change, left=tuple(left)))

    def recap(self, day: date | None = None) -> Written:
        """Writes the recaps of a day's sessions to its journal, by default today's."""
        found = sessions_of(self.conversations, day or self.today, self._zone)
        return self.recaps().write_wanted([session.path for session in found])

    def continued(self, day: date, since: datetime) -> bool:
        """True if there are messages of a day after a time."""
        return next(sessions_of(self.conversations, day, self._zone, since), None) is not None

    def weekly(self, week: str = "", *, ask: bool = True) -> Proposal:
        """Proposes changes to MEMORY.md from the journals of an ISO week, ``2026-W24``; by default this week.

        Args:
            ask: As for ``daily``.

        Raises:
            ConfigError: Invalid week.
            DocumentError: MEMORY.md cannot be edited.
        """
        week = week or week_of(self.today)
        blank = Proposal(f"memory-{week}", summary_of(week))
        files, cap = self.knowledge.files, self._cap
        journals, data = journals_of(files, week), self._memory()
        if not journals:
            return replace(blank, left=(f"no journal of {week}",))
        if ask and self._settings.provider != "none" and data:
            texts = [each.decode("utf-8", "replace") for _, each in journals]
            question = prompt.weekly(journals, data.decode("utf-8", "replace"), week, cap)
            found = self._rewritten(blank, data, question, "\n".join(texts))
            if not found.refused:
                return found
            blank = replace(blank, refused=found.refused)
        change, left = promotion(data, kept_in(journals), cap, self.knowledge.clock())
        return shown(files, replace(blank, change=change, left=tuple(left)))

    def monthly(self, day: date | None = None) -> tuple[Proposal, ...]:
        """Proposals from all knowledge: shorten MEMORY.md, merge duplicate lines about projects and people,
        move idle projects off the active list, archive old journals.

        Args:
            day: The reference day for idle projects; by default today.
        """
        day, files, knowledge = day or self.today, self.knowledge.files, self.knowledge
        inventory = take_inventory(files.workspace, ["knowledge"])
        journals = sorted(path for path in inventory.files if journal_day(path) is not None)
        found = [self.memory()]
        people = self.retention.specific(("knowledge/projects/", "knowledge/people/"))
        shared = [entry for entry in people if not entry.path.rpartition("/")[2].startswith("_")]
        found += duplicates(files, shared, day.year)
        found += quiet_projects(
            files,
            last_changes(knowledge.repository, inventory),
            lambda since: recent_texts(files, journals, sorted(self.conversations.sizes()), since),
            day,
            self._settings.idle_project_days,
        )
        found = [each if each.diff or each.refused else shown(files, each) for each in found]
        return (*found, self.retention.old_journals())

    def memory(self) -> Proposal:
        """Shortens MEMORY.md if it is near or above its cap."""
        plan = self.retention.memory(self.knowledge.clock())
        data = self._memory()
        if self._settings.provider == "none" or not (plan.is_over or plan.is_near):
            return self.retention.memory_proposal(plan)
        blank = Proposal("memory-cap", f"MEMORY.md from {plan.lines} to at most {self._cap} lines")
        needless = [f"{each.line}: {each.why}" for each in plan.going]
        wanted = int(WARN_AT * self._cap)
        text = data.decode("utf-8", "replace")
        found = self._rewritten(
            blank, data, prompt.shorter(text, plan.lines, self._cap, wanted, needless), ""
        )
        if not found.refused:
            return found
        return replace(self.retention.memory_proposal(plan), refused=found.refused)

    def apply(self, proposals: Iterable[Proposal], number: int | None = None) -> list[Outcome]:
        """Applies proposals, each as one commit; those that may come from an outsider are submitted instead.

        Args:
            number: Confirmed number of files to move, needed if there are many.

        Raises:
            ChangeRefused: Too many files would move; nothing was done.
            WriteFailed, ReadOnly: One was not completed; a rerun finishes it.
        """
        chosen = list(proposals)
        self.retention.refuse_too_many(chosen, number)
        return apply(self.knowledge, chosen)

    def submit(self, proposals: Iterable[Proposal]) -> list[Outcome]:
        """Adds proposals to the review queue."""
        return submit(self.knowledge, proposals)

    # With a model.

    def _drafted(self, blank: Proposal, sessions: Sequence[Session], day: date) -> Proposal:
        """A journal worded by a model."""
        files, path = self.knowledge.files, path_of(day, self.knowledge.files)
        try:
            journal = files.read(path).decode("utf-8", "replace")
        except FileNotFoundError:
            journal = ""
        completed, error = self._ask(prompt.daily(sessions, journal, day))
        if completed is None:
            return replace(blank, refused=error)
        blank = replace(blank, model=completed.model)
        try:
            bullets = prompt.read_journal(completed.text, cut=completed.cut)
        except BadReply as refused:
            return replace(blank, refused=str(refused))
        change = journal_change(files, day, bullets, [session.id for session in sessions if session.id])
        return shown(files, replace(blank, change=change, why=_doubt(bullets, sessions, path)))

    def _rewritten(self, blank: Proposal, data: bytes, question: str, known: str) -> Proposal:
        """MEMORY.md worded by a model, if it passes the guards."""
        if secrets_in(data.decode("utf-8", "replace")):
            return replace(blank, refused="MEMORY.md contains what looks like a secret: not sent to a model")
        completed, error = self._ask(question)
        if completed is None:
            return replace(blank, refused=error)
        blank = replace(blank, model=completed.model)
        change: FileChange
        try:
            change, why = guards.rewrite(
                data,
                completed.text,
                cut=completed.cut,
                cap=self._cap,
                now=self.knowledge.clock(),
                known=known,
            )
        except BadReply as refused:
            return replace(blank, refused=str(refused))
        return shown(self.knowledge.files, replace(blank, change=change, why=why))

    def _ask(self, text: str) -> tuple[ChatReply | None, str]:
        """A model's reply, or the reason why there is none."""
        from engine.providers.asking import Question  # noqa: PLC0415 — imports asyncio; often not needed

        settings = self._settings
        completer = self.completer(settings)
        if completer is None:
            return None, f"condensing.provider {settings.provider} has no model"
        account = self.knowledge.costs().account("condense", completer)
        try:
            account.allow()
        except AutopoiesisError as error:
            return None, str(error)
        question = Question(
            completer, prompt.SYSTEM, text, max_tokens=settings.max_tokens, deadline_s=settings.deadline_s
        )
        answer = question.answer()
        if answer.completed is not None:
            account.spent(answer.completed)
        return answer.completed, answer.error

    @property
    def _cap(self) -> int:
        return self.knowledge.config().lifecycle.memory_line_cap

    def _memory(self) -> bytes:
        try:
            return self.knowledge.files.read(MEMORY)
        except FileNotFoundError:
            return b""


def _doubt(bullets: Sequence[Bullet], sessions: Sequence[Session], path: str) -> str:
    """Why journal lines worded by a model need review; ``WHY["upkeep"]`` if none is doubtful."""
    voices = voices_of(turn for session in sessions for turn in session.turns)
    for bullet in bullets:
        for text in (bullet.text, bullet.topic):
            doubt = why_held(Item("notes", text, path, "agent"), voices)
            if doubt is not None:
                return doubt.reason
    return WHY["upkeep"]
