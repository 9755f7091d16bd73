"""All parts of an open workspace: those behind a prompt and those that maintain the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.basics.parts import BasicParts
from engine.basics.parts import Clock as Clock
from engine.basics.parts import part as part
from engine.basics.parts import utc_now as utc_now
from engine.errors import AutopoiesisError
from engine.history import UNDOING
from engine.store.change import commit_message
from engine.sync import JOURNAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.activation.tuning.tuning import Tuning
    from engine.commits.commits import Commits
    from engine.context.presets import Presets
    from engine.events import EngineEvent
    from engine.history.history import History
    from engine.knowledge.knowledge_entries import KnowledgeEntries
    from engine.lifecycle.condensing.condenser import Condenser
    from engine.lifecycle.extraction.run import Extraction
    from engine.lifecycle.recaps.recaps import Recaps
    from engine.lifecycle.reconstruction.reconstruction import Reconstruction
    from engine.lifecycle.retention.retention import Retention
    from engine.playbooks.playbooks import Playbooks
    from engine.probes.probes import Probes
    from engine.rules.rules import Rules
    from engine.settings.editing import Configuration
    from engine.sharing.private import Private
    from engine.sharing.shared import Sharing
    from engine.signals.signals import Signals
    from engine.sync.sync import Sync


class Parts(BasicParts):
    """The parts of an engine."""

    def recover(self) -> None:
        """Finishes an interrupted undo or merge before its changes are mistaken for a person's; reports
        failures."""
        try:
            self.finish()
        except (AutopoiesisError, OSError) as error:
            self.report_error(f"an interrupted undo or merge cannot be finished now: {error}")

    def finish(self) -> None:
        """As ``recover``, but raises.

        Raises:
            RepositoryError, WriteFailed: It cannot be finished now.
        """
        if self.files.read_only:
            return
        if self.workspace.root.joinpath(JOURNAL).exists():
            from engine.sync.arrival import resume  # noqa: PLC0415 — only after an interruption

            resume(self.files, self.repository, commit_message("maintenance", "finish a merge"))
        if any(self.workspace.root.joinpath(UNDOING).glob("*.json")):
            self.history.undoing.recover()

    def publish(self, event: EngineEvent) -> None:
        """Publishes an event to all subscribers."""
        raise RuntimeError(str(event))

    @part
    def signals(self) -> Signals:
        """Due schedules and webhooks, delivered to agents."""
        from engine.signals.signals import Signals  # noqa: PLC0415 — only if an event arrives

        return Signals(self, self.publish)

    @part
    def sync(self) -> Sync:
        """Synchronises this memory with the person's other machines."""
        from engine.commits.gathering import fit  # noqa: PLC0415 — only for a sync
        from engine.settings.trust import read  # noqa: PLC0415 — likewise
        from engine.sync.model import Uncommitted  # noqa: PLC0415 — likewise
        from engine.sync.sync import Sync  # noqa: PLC0415 — likewise

        def chosen(paths: Sequence[str]) -> tuple[list[str], list[Uncommitted]]:
            changes, left = fit(self.files, self.repository, paths)
            return [each.path for each in changes], [Uncommitted(each.path, each.why) for each in left]

        return Sync(self.files, self.repository, lambda: read(self.files), self.clock, chosen)

    @part
    def sharing(self) -> Sharing:
        """Shared knowledge of others, each in its own repository."""
        from engine.settings.trust import read  # noqa: PLC0415 — only for fetching
        from engine.sharing.shared import Sharing  # noqa: PLC0415 — likewise

        return Sharing(
            self.files,
            self.repository,
            lambda: read(self.files),
            lambda *new: self.configuration.change(*new),
        )

    @part
    def private(self) -> Private:
        """Encrypted files in the repository."""
        from engine.sharing.private import Private  # noqa: PLC0415 — only if encryption is used

        return Private(
            self.files,
            self.repository,
            lambda: self.config.git.private,
            lambda *new: self.configuration.change(*new),
        )

    @part
    def commits(self) -> Commits:
        """Commits changes by people and agents."""
        from engine.commits.commits import Commits  # noqa: PLC0415 — only for commits
        from engine.providers.select import completer_for  # noqa: PLC0415 — likewise

        return Commits(self, completer_for, lambda: self.costs, self.report_error, self.finish)

    @part
    def history(self) -> History:
        """The memory's history, attribution and undo."""
        from engine.history.history import History  # noqa: PLC0415 — only for history

        return History(
            self.files,
            self.repository,
            lambda: self.knowledge,
            lambda: self.config.days.time_zone,
            self.clock,
            self.report_error,
        )

    @part
    def recaps(self) -> Recaps:
        """What each session was about, in the journals."""
        from engine.lifecycle.recaps.recaps import Recaps  # noqa: PLC0415 — only when a session ends

        return Recaps(
            self.files,
            self.files,
            lambda: self.repository,
            lambda: self.config,
            self.clock,
            self.report_error,
        )

    @part
    def extraction(self) -> Extraction:
        """Extracts knowledge from sessions."""
        from engine.lifecycle.extraction.run import Extraction  # noqa: PLC0415 — only for extraction
        from engine.providers.select import completer_for  # noqa: PLC0415 — likewise

        return Extraction(
            self.files,
            lambda: self.repository,
            lambda: self.config,
            lambda: self.costs,
            self.clock,
            self.report_error,
            lambda: self.recaps,
            model=completer_for,
        )

    @part
    def reconstruction(self) -> Reconstruction:
        """Rebuilds knowledge on branches, compares them and adopts them."""
        from engine.lifecycle.reconstruction.reconstruction import Reconstruction  # noqa: PLC0415 — only on request
        from engine.settings.trust import read  # noqa: PLC0415 — likewise

        return Reconstruction(
            self.files,
            lambda: self.repository,
            lambda: self.extraction,
            lambda: read(self.files),
            self.clock,
            self.report_error,
        )

    @part
    def retention(self) -> Retention:
        """Prunes, archives and restores."""
        from engine.lifecycle.retention.retention import Retention  # noqa: PLC0415 — only for pruning

        return Retention(self.knowledge, lambda: self.injections.references())

    @part
    def rules(self) -> Rules:
        """The person's standing rules."""
        from engine.rules.rules import Rules  # noqa: PLC0415 — only if rules are learned or shown

        return Rules(
            self.files,
            lambda: self.repository,
            self.clock,
            lambda: self.config.days.time_zone,
            lambda: self.config.git.auto_commit,
            self.report_error,
            self.edited,
            lambda folder: self.history.authors(folder),
        )

    @part
    def condenser(self) -> Condenser:
        """Condenses days into journals, weeks into MEMORY.md, months into proposals."""
        from engine.lifecycle.condensing.condenser import Condenser  # noqa: PLC0415 — only on request
        from engine.providers.select import completer_for  # noqa: PLC0415 — likewise

        return Condenser(self.knowledge, self.conversations, self.retention, completer_for)

    @part
    def probes(self) -> Probes:
        """The person's own regression suite."""
        from engine.probes.probes import Probes  # noqa: PLC0415 — only for probes

        return Probes(self.files, lambda: self.repository, lambda: self.config, self.clock)

    @part
    def playbooks(self) -> Playbooks:
        """Makes playbooks and tries them on the past."""
        from engine.playbooks.playbooks import Playbooks  # noqa: PLC0415 — only on request
        from engine.providers.select import completer_for  # noqa: PLC0415 — likewise

        return Playbooks(
            self.files,
            self.library,
            self.conversations,
            self.decision_log,
            lambda: self.labels,
            lambda: self.repository,
            lambda: self.config,
            lambda: self.costs,
            lambda config: [
                completer_for(config.chat),
                completer_for(config.harvest),
                completer_for(config.gate),
            ],
            lambda message: self.pipeline.process(message, record=False, ask=False, explained=False),
            lambda: self.tuning.unlearnt(),
            self.edited,
        )

    @part
    def tuning(self) -> Tuning:
        """Tunes topics from logged decisions."""
        from engine.activation.tuning.tuning import Tuning  # noqa: PLC0415 — only for tuning

        return Tuning(
            self.files,
            self.decision_log,
            self.library,
            self.repository,
            lambda: self.config,
            lambda: self.pipeline,
            edited=self.edited,
        )

    @part
    def configuration(self) -> Configuration:
        """Describes the settings and edits them in their file."""
        from engine.settings.editing import Configuration  # noqa: PLC0415 — only if settings are changed or shown

        return Configuration(self.files, lambda: self.repository, lambda: self.config, self.reload_config)

    @part
    def knowledge_entries(self) -> KnowledgeEntries:
        """Private knowledge entries and skills: their catalog, references and footprint."""
        from engine.knowledge.knowledge_entries import KnowledgeEntries  # noqa: PLC0415 — only on request

        return KnowledgeEntries(self.files, lambda: self.repository, self.clock)

    @part
    def presets(self) -> Presets:
        """Named sets of files for the prompt, and which are active."""
        from engine.context.presets import Presets  # noqa: PLC0415 — compiling does not need it

        return Presets(self.files, lambda: self.repository, lambda: self.config)
