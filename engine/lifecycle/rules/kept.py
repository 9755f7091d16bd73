"""Follow-up on rules: where else they are stated, what happened since they were accepted, their benefit, and
the topics that watch for violations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import ChangeRefused, RepositoryError
from engine.lifecycle.rules.elsewhere import Elsewhere, Export, look, marked, name_of, plan
from engine.lifecycle.rules.grouping import occurrences_of
from engine.lifecycle.rules.since import DAYS, Fading, Prompts, Since, fading, since
from engine.lifecycle.rules.watched import Watcher, watcher_of
from engine.lifecycle.rules.worth import Worth, worth
from engine.rules.rulebook import PATH
from engine.store.change import commit_change
from engine.store.commit_message import commit_message
from engine.store.named_file import read_named, replace_named
from engine.transcripts.places import FOLDER

if TYPE_CHECKING:
    from engine.conversations.conversations import Conversations
    from engine.history.history import History
    from engine.injections.injections import Injections
    from engine.lifecycle.rules.grouping import Occurrence
    from engine.lifecycle.rules.rules import Rules


@dataclass(eq=False)
class KeptRules:
    """Follows up on rules. Safe across processes.

    Args:
        edited: Called with the path of each topic written.
    """

    rules: Rules
    conversations: Callable[[], Conversations]
    injections: Callable[[], Injections]
    history: Callable[[], History]
    edited: Callable[[str], None]

    def since(self) -> Mapping[str, Since]:
        """What happened to accepted rules that were stated again, by id."""
        again = [rule for rule in self.rules.book().rules if rule.accepted and rule.last > rule.accepted]
        if not again:
            return {}
        _, groups = self.rules.statements()
        prompts = Prompts(self.injections().log.every(), self.conversations().read)
        found = {rule.id: since(rule, occurrences_of(rule, groups), prompts) for rule in again}
        return {name: each for name, each in found.items() if each.told}

    def authors_of(self, occurrences: Iterable[Occurrence]) -> tuple[str, ...]:
        """Who stated a rule each time: the author of the commit that added the transcript. Empty if it is not
        committed yet, or if all transcripts have the same author.
        """
        try:
            authors = self.history().authors(FOLDER)
        except RepositoryError:
            authors = {}
        is_shared = len(set(authors.values())) > 1
        return tuple(authors.get(each.session.path, "") if is_shared else "" for each in occurrences)

    def fading(self, days: int = DAYS) -> Fading:
        """Rules in prompts that were not needed for some days; ``Rules.rest`` removes them from prompts."""
        recorded = self.injections().log.every()
        return fading(self.rules.book().rules, recorded, date.fromisoformat(self.rules.today()), days)

    def worth(self) -> Worth:
        """How often accepted rules were repeated before and since, and what rules cost in prompts."""
        sessions, groups = self.rules.statements()
        recorded = self.injections().log.every()
        return worth(self.rules.book().rules, lambda rule: occurrences_of(rule, groups), sessions, recorded)

    def known_elsewhere(self, given: Sequence[Path] = ()) -> Elsewhere:
        """Finds and marks rules that are also in agents' own files: those in projects of sessions, and the
        ``given`` ones. Raises as ``elsewhere.look``.
        """
        book = self.rules.book()
        found = look(self.rules.files.workspace, book.rules, given, self.rules.on_problem)
        places, read = {place.id: place.path for place in found.found}, set(map(name_of, found.read))
        lost = {rule.id for rule in book.rules if rule.known in read}
        change = self.rules.change(lambda book: marked(book, places, lost), "looked for elsewhere")
        return replace(found, commit=change.commit)

    def export(
        self, names: Iterable[str], to: Path, *, apply: bool = False, expected: str | None = None
    ) -> Export:
        """Exports rules to a section of a file, which may be outside the workspace.

        Args:
            names: If empty, every accepted rule that the file does not state yet.
            apply: Write the file, and mark the rules in it as known there.
            expected: The diff the user agreed to; by default, whatever it is now.

        Raises:
            ChangeRefused: A rule is not in prompts, the file's section is broken, or the diff is another one
                than expected.
            PathRefused, DocumentError, WriteFailed, ReadOnly: It cannot be read or written.
        """
        book, file = self.rules.book(), read_named(to)
        made = plan(self.rules.files.workspace, file, book, [self.rules.rule(name, book) for name in names])
        if not apply:
            return made
        self.rules.files.refuse_read_only(PATH)
        if expected not in (None, made.diff):
            raise ChangeRefused("the rules or the file have changed since they were shown", where=str(to))
        if made.data != file.data:
            replace_named(file, made.data)
        ids = [*(place.id for place in made.known), *(rule.id for rule in made.rules)]
        places = dict.fromkeys(ids, made.path)
        change = self.rules.change(lambda book: marked(book, places, made.taken_out), "exported")
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
        rule = self.rules.rule(name)
        made = watcher_of(rule, pattern, self.rules.files.workspace)
        if not apply:
            return made
        data = made.text.encode("utf-8", "replace")
        is_new = self.rules.files.create(made.path, data)
        if not is_new and self.rules.files.read(made.path) != data:
            raise ChangeRefused("already exists", where=made.path, hint="edit it, or delete it first")
        self.edited(made.path)
        message = commit_message("maintenance", f"an output trigger for the rule {rule.text!r:.60}")
        wanted = self.rules.config().git.auto_commit
        commit = commit_change(self.rules.repository, [made.path], message, wanted=wanted)
        return replace(made, is_written=is_new, commit=commit)
