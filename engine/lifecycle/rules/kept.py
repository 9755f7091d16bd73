"""Follow-up on rules: where else they are stated, what happened since they were accepted, what they were
worth, and the topics that watch for violations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import ChangeRefused, RepositoryError
from engine.lifecycle.rules.elsewhere import Elsewhere, Export, look, marked, name_of, plan
from engine.lifecycle.rules.grouping import told_of
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
    from engine.lifecycle.rules.grouping import Told
    from engine.lifecycle.rules.rules import Rules


@dataclass(eq=False)
class KeptRules:
    """Follows up on rules. Safe to use from several processes.

    Args:
        edited: Called with the path of a topic that was written.
    """

    rules: Rules
    conversations: Callable[[], Conversations]
    injections: Callable[[], Injections]
    history: Callable[[], History]
    edited: Callable[[str], None]

    def since(self) -> Mapping[str, Since]:
        """For accepted rules that were said again since, by id."""
        again = [rule for rule in self.rules.book().rules if rule.accepted and rule.last > rule.accepted]
        if not again:
            return {}
        _, groups = self.rules.heard()
        prompts = Prompts(self.injections().log.every(), self.conversations().read)
        found = {rule.id: since(rule, told_of(rule, groups), prompts) for rule in again}
        return {name: each for name, each in found.items() if each.told}

    def said_by(self, told: Iterable[Told]) -> tuple[str, ...]:
        """Who said a rule each time: the author of the commit that added the transcript. Empty where it is in
        no commit yet, or the memory holds transcripts of one author alone.
        """
        try:
            authors = self.history().authors(FOLDER)
        except RepositoryError:
            authors = {}
        is_shared = len(set(authors.values())) > 1
        return tuple(authors.get(each.session.path, "") if is_shared else "" for each in told)

    def fading(self, days: int = DAYS) -> Fading:
        """Rules that count and that nobody needed in so many days; ``Rules.rest`` takes them out."""
        recorded = self.injections().log.every()
        return fading(self.rules.book().rules, recorded, date.fromisoformat(self.rules.today()), days)

    def worth(self) -> Worth:
        """How often accepted rules were repeated before and since, and what rules cost in prompts."""
        sessions, groups = self.rules.heard()
        recorded = self.injections().log.every()
        return worth(self.rules.book().rules, lambda rule: told_of(rule, groups), sessions, recorded)

    def known_elsewhere(self, given: Sequence[Path] = ()) -> Elsewhere:
        """Looks which rules stand in the agents' own files of the projects in which sessions were held, and
        in files given by hand, and marks them so. Raises as ``look`` in ``elsewhere``.
        """
        book = self.rules.book()
        found = look(self.rules.files.workspace, book.rules, given, self.rules.on_problem)
        places, read = {place.id: place.path for place in found.found}, set(map(name_of, found.read))
        lost = {rule.id for rule in book.rules if rule.known in read}
        change = self.rules.change(lambda book: marked(book, places, lost), "looked for elsewhere")
        return replace(found, commit=change.commit)

    def export(self, names: Iterable[str], to: Path, *, apply: bool = False) -> Export:
        """Puts rules into a section of a file, which may lie outside the workspace.

        Args:
            names: None for every accepted rule that the file does not say yet.
            apply: Write the file, and mark in the book what stands in it.

        Raises:
            ChangeRefused: A rule does not count, or the file's section is broken.
            PathRefused, DocumentError, WriteFailed, ReadOnly: It cannot be read or written.
        """
        book, file = self.rules.book(), read_named(to)
        made = plan(file, book, [self.rules.rule(name, book) for name in names])
        if not apply:
            return made
        self.rules.files.refuse_read_only(PATH)
        if made.data != file.data:
            replace_named(file, made.data)
        ids = [*(place.id for place in made.known), *(rule.id for rule in made.rules)]
        places = dict.fromkeys(ids, made.path)
        change = self.rules.change(lambda book: marked(book, places, made.taken_out), "exported")
        return replace(made, is_written=made.data != file.data, commit=change.commit)

    def watch(self, name: str, pattern: str = "", *, apply: bool = False) -> Watcher:
        """A topic that watches what agents write and run for what breaks a rule.

        Args:
            pattern: What breaking it looks like, where its words do not tell.
            apply: Write the topic.

        Raises:
            ChangeRefused: Nothing of it can be seen, the pattern cannot be used, or the topic is there in
                another form.
            WriteFailed, ReadOnly: It was not written.
        """
        rule = self.rules.rule(name)
        made = watcher_of(rule, pattern, self.rules.files.workspace)
        if not apply:
            return made
        data = made.text.encode("utf-8", "replace")
        is_new = self.rules.files.create(made.path, data)
        if not is_new and self.rules.files.read(made.path) != data:
            raise ChangeRefused("is there already", where=made.path, hint="edit it, or delete it first")
        self.edited(made.path)
        message = commit_message("maintenance", f"an output trigger for the rule {rule.text!r:.60}")
        wanted = self.rules.config().git.auto_commit
        commit = commit_change(self.rules.repository, [made.path], message, wanted=wanted)
        return replace(made, is_written=is_new, commit=commit)
