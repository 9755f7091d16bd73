"""Makes playbooks, tries them on the past, and keeps what agents propose until the person decides."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, TopicError
from engine.playbooks.draft import EMPTY, Draft, problems_of, read_draft, stamped, text_of
from engine.playbooks.past import MOST_MESSAGES, PastRow, Progress, Replay, asked, replays, silent
from engine.playbooks.wording import MAX_TOKENS, SYSTEM, parse_reply, prompt_of, utterance_question
from engine.store.change import ChangeCommit, commit_change, commit_message
from engine.store.paths import shown

if TYPE_CHECKING:
    from engine.activation.decisions import DecisionLog
    from engine.activation.trace import Message, Trace
    from engine.conversations.conversations import Conversations
    from engine.costs.costs import Costs
    from engine.pipeline.labels import Labels
    from engine.playbooks.foreign import Found
    from engine.playbooks.suggest import Suggestion
    from engine.providers.chat import ChatProvider, Usage
    from engine.settings.model import Config
    from engine.store.files import Files
    from engine.store.repository import Repository
    from engine.topics.library import TopicLibrary

PROPOSED = "topics/.proposed"
"""Holds what agents propose; hidden folders are no topics."""
MAX_PROPOSED = 20
FORM = "scratch/new-playbook.md"
"""A draft while a person fills it in."""

_LARGEST = 64 * 1024


@dataclass(frozen=True, slots=True)
class Quote:
    """What it would take to have a model write the ways to ask."""

    provider: str
    model: str
    usd: float | None  # at most; ``None`` if the price is unknown


@dataclass(frozen=True, slots=True)
class Utterances:
    """What a model wrote."""

    examples: tuple[str, ...]
    model: str
    usd: float | None


@dataclass(frozen=True, slots=True)
class Made:
    """A playbook that was written."""

    name: str
    path: str
    commit: ChangeCommit


@dataclass(eq=False)
class Playbooks:
    """Makes playbooks. Safe to use from several threads.

    ``models`` gives the configured models, the preferred one first. ``process`` traces a message without
    logging or explaining it or asking anybody. ``unlearnt`` is ``Tuning.unlearnt``.
    ``edited`` is called with the path of a topic's file that was written.
    """

    files: Files
    library: TopicLibrary
    conversations: Conversations
    log: DecisionLog
    labels: Callable[[], Labels]
    repository: Callable[[], Repository]
    config: Callable[[], Config]
    costs: Callable[[], Costs]
    models: Callable[[Config], Iterable[ChatProvider | None]]
    process: Callable[[Message], Trace]
    unlearnt: Callable[[], Mapping[tuple[str, str], bool]]
    edited: Callable[[str], None]

    # Making

    def quote(self, draft: Draft) -> Quote | None:
        """The model that can write ways to ask, and its price; ``None`` if none is configured."""
        provider = self._model()
        if provider is None:
            return None
        usage = _usage(draft)
        return Quote(
            provider.name, provider.model, self.costs().account("playbook", provider).price_of(usage)
        )

    def utterances(self, draft: Draft) -> Utterances:
        """Asks the configured model once for ways to ask for a playbook.

        Raises:
            AutopoiesisError: No model is configured, the budget is spent, or it failed or replied otherwise.
        """
        provider = self._model()
        if provider is None:
            raise AutopoiesisError(
                "no model is configured",
                hint="autopoiesis config set chat.provider …, or type a few ways to ask",
            )
        account = self.costs().account("playbook", provider)
        account.allow(_usage(draft))
        answer = utterance_question(provider, draft).answer()
        if answer.completed is None:
            raise AutopoiesisError(answer.error)
        usd = account.spent(answer.completed)
        return Utterances(parse_reply(answer.completed), answer.completed.model or provider.model, usd)

    def _model(self) -> ChatProvider | None:
        return next(filter(None, self.models(self.config())), None)

    def refuse_taken(self, draft: Draft) -> None:
        """Raises ``TopicError`` if there is a topic of that name."""
        known = self.library.get(draft.name)
        if known is not None:
            raise TopicError("there is a topic of this name", where=known.path, hint="choose another title")

    def create(self, draft: Draft, *, from_form: bool = False) -> Made:
        """Writes a new playbook and commits it; ``from_form`` then removes the form it was read from.

        Raises:
            TopicError: There is a topic of that name, or the file would not be a valid topic.
            WriteFailed, ReadOnly: Nothing was written.
        """
        self.refuse_taken(draft)
        path = f"topics/{draft.name}.md"
        data = text_of(draft)
        errors = [problem for problem in problems_of(data, path) if problem.severity == "error"]
        if errors:
            raise TopicError(errors[0].what, where=path, hint=errors[0].hint)
        if not self.files.create(path, data):
            raise TopicError("there is such a file already", where=path, hint="choose another title")
        if from_form:
            self.close_form()
        return self._done([path], f"new playbook {draft.name}", draft.name)

    def _done(self, paths: list[str], message: str, name: str = "") -> Made:
        for path in paths:
            if not path.startswith(PROPOSED):
                self.edited(path)
        commit = commit_change(
            self.repository,
            paths,
            commit_message("memory", message),
            wanted=self.config().git.auto_commit,
        )
        return Made(name, paths[0], commit)

    # The form that is filled in in an editor

    def open_form(self, draft: Draft | None = None) -> str:
        """Writes a draft, or an empty form unless one is there already, and returns the file's path."""
        if draft is not None or not self.files.workspace.root.joinpath(FORM).is_file():
            draft = draft or EMPTY
            steps = draft.instructions or EMPTY.instructions
            self.files.replace(FORM, text_of(replace(draft, instructions=steps)))
        return FORM

    def read_form(self) -> Draft:
        """The draft in the form, which stays until ``close_form``.

        Raises:
            TopicError: As ``read_draft``, or a topic has its name.
        """
        try:
            draft = read_draft(self.files.read(FORM, limit=_LARGEST))
            self.refuse_taken(draft)
        except TopicError as error:
            raise TopicError(error.what, hint=f"what you wrote is kept in {FORM}") from error
        return draft

    def close_form(self) -> None:
        """Removes the form, if there is one."""
        with contextlib.suppress(FileNotFoundError):
            self.files.remove(FORM)

    # What agents propose

    def propose(self, draft: Draft, agent: str) -> Made:
        """Keeps an agent's draft until the person decides.

        Raises:
            TopicError: There is a topic of that name, or too many proposals wait.
            WriteFailed, ReadOnly: Nothing was written.
        """
        self.refuse_taken(draft)
        path = f"{PROPOSED}/{draft.name}.md"
        with self.files.lock():
            known = self._proposed()
            if draft.name not in known and len(known) >= MAX_PROPOSED:
                raise TopicError(
                    f"{MAX_PROPOSED} proposed playbooks already wait",
                    hint="the user decides: autopoiesis topics suggest",
                )
            self.files.replace(path, text_of(draft, proposed_by=agent))
        return self._done([path], f"{agent} proposed the playbook {draft.name}", draft.name)

    def proposed(self) -> list[Draft]:
        """The drafts of agents that wait."""
        return [self.proposal(name) for name in self._proposed()]

    def proposal(self, name: str) -> Draft:
        """A draft that waits.

        Raises:
            TopicError: There is none of that name, or its file is broken.
        """
        if name not in self._proposed():
            raise TopicError(f"no proposed playbook {shown(name)}", hint="see: autopoiesis topics suggest")
        return read_draft(self.files.read(f"{PROPOSED}/{name}.md", limit=_LARGEST))

    def accept(self, name: str) -> Made:
        """Writes a proposed playbook to ``topics/``; raises as ``proposal`` and ``create``."""
        made = self.create(self.proposal(name))
        self.files.remove(f"{PROPOSED}/{name}.md")
        return replace(made, commit=self._done([f"{PROPOSED}/{name}.md"], f"accept playbook {name}").commit)

    def reject(self, name: str) -> Made:
        """Removes a proposed playbook; git keeps it. Raises as ``proposal``."""
        self.proposal(name)
        self.files.remove(f"{PROPOSED}/{name}.md")
        return self._done([f"{PROPOSED}/{name}.md"], f"reject playbook {name}", name)

    def _proposed(self) -> list[str]:
        folder = self.files.workspace.root / PROPOSED
        return sorted(each.stem for each in folder.glob("*.md")) if folder.is_dir() else []

    # The past

    def replay_all(
        self, progress: Progress = silent, topics: Iterable[str] = (), *, most: int = MOST_MESSAGES
    ) -> dict[str, Replay]:
        """Plays what the person typed in the past to some playbooks; by default to all."""
        messages, left_out = asked(self.conversations, most)
        names = tuple(topics) or tuple(topic.name for topic in self.library.topics)
        return replays(
            names, messages, self.process, self.log, progress, left_out=left_out, unlearnt=self.unlearnt
        )

    def label(self, found: Replay, row: PastRow, useful: bool | None) -> Replay:
        """Labels a past message, in the decision log; tier 2 learns from it at the next ``Labels.learn``.

        Raises:
            AutopoiesisError: The message is gone.
            WriteFailed, ReadOnly: The label was not recorded.
        """
        self.label_row(found.topic, row, useful)
        return found.labelled_as(row.id, useful)

    def label_row(self, topic: str, row: PastRow, useful: bool | None) -> None:
        """As ``label``, without the list."""
        self.labels().label(row.key, topic, useful, learn=False)

    def suggest(self, progress: Progress = silent, *, sessions: int = 3) -> list[Suggestion]:
        """What the person asks for again and again, in at least some sessions, and no playbook covers."""
        from engine.playbooks.suggest import suggestions  # noqa: PLC0415 — imports scikit-learn

        messages, _ = asked(self.conversations, again=True)
        names = [topic.name for topic in self.library.topics]
        return suggestions(messages, self.process, names, progress, sessions=sessions)

    # Other agents' files

    def import_found(self, found: Iterable[Found]) -> list[Made]:
        """Writes playbooks read from other agents' files; those that are new or changed.

        Raises:
            WriteFailed, ReadOnly: Those before it were written.
        """
        made = []
        for each in found:
            if each.state not in ("new", "changed"):
                continue
            path = f"topics/{each.draft.name}.md"
            self.files.replace(path, stamped(each.draft))
            made.append(Made(each.draft.name, path, ChangeCommit()))
        if not made:
            return []
        what = f"import {len(made)} playbook{'' if len(made) == 1 else 's'}"
        commit = self._done([each.path for each in made], what).commit
        return [replace(each, commit=commit) for each in made]


def _usage(draft: Draft) -> Usage:
    from engine.context.tokens import count  # noqa: PLC0415 — only to state a price
    from engine.providers.chat import Usage  # noqa: PLC0415 — likewise

    return Usage(input_tokens=count(SYSTEM) + count(prompt_of(draft)), output_tokens=MAX_TOKENS)
