"""Runs extractors with the effective settings (spec 8.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, ExtractionRefused
from engine.knowledge.harvest.inquiry import Asker
from engine.lifecycle.extraction.extractor import Extractor, extractors_named
from engine.lifecycle.extraction.log import ExtractionLog
from engine.lifecycle.extraction.reading import SYSTEM
from engine.lifecycle.extraction.run import Report, Runner, Survey
from engine.store.change import commit_change
from engine.transcripts.places import find_session

if TYPE_CHECKING:
    from engine.costs.costs import Costs
    from engine.lifecycle.recaps.recaps import Recaps
    from engine.providers.chat import ChatProvider
    from engine.settings.model import Config, ExtractionSettings
    from engine.store.files import Files
    from engine.store.repository import Repository


@dataclass(eq=False)
class Extraction:
    """Extracts knowledge from the sessions of a workspace. ``model`` returns ``None`` if none is set."""

    files: Files
    repository: Callable[[], Repository]
    config: Callable[[], Config]
    costs: Callable[[], Costs]
    clock: Callable[[], datetime]
    on_problem: Callable[[str], None]
    recaps: Callable[[], Recaps]
    model: Callable[[ExtractionSettings], ChatProvider | None] = lambda _settings: None
    _hashed: dict[str, tuple[tuple[int, ...], str]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._log = ExtractionLog(self.files, self.clock)

    def extractors(self, names: Sequence[str] = ()) -> tuple[Extractor, ...]:
        """The extractors in the settings, or the named ones among them.

        Raises:
            ConfigError: No such extractor.
            ExtractionRefused: It is not in the settings.
        """
        wanted = self.config().extraction.extractors
        for name in names:
            if name not in wanted:
                raise ExtractionRefused(
                    f"extractor {name!r:.60} is not enabled",
                    where="extraction.extractors",
                    hint=f"choose from {', '.join(wanted)}, or add it there",
                )
        return extractors_named(tuple(name for name in wanted if not names or name in names))

    def runner(
        self,
        names: Sequence[str] = (),
        *,
        target: Files | None = None,
        repository: Callable[[], Repository] | None = None,
        since: str = "",
        patient: bool = False,
    ) -> Runner:
        """A runner with the effective settings; see ``Runner``.

        Args:
            names: Extractors; by default all in the settings.
            target: Where to write knowledge; by default the workspace itself.
            repository: The repository of ``target``.
            since: As ``Runner.since``.
            patient: As ``Runner.patient``.

        Raises:
            ConfigError, ExtractionRefused: As ``extractors``.
        """
        config, found = self.config(), self.extractors(names)
        completer = self.model(config.extraction)
        asker = None
        if completer is not None:
            spending = self.costs().account("extract", completer)
            asker = Asker(completer, config.extraction, SYSTEM, "extraction.max_tokens", spending)
        where = repository or self.repository
        recaps = replace(self.recaps(), source=self.files, target=target or self.files, repository=where)
        return Runner(
            self.files,
            target or self.files,
            found,
            lambda paths, message: commit_change(where, paths, message, wanted=self.config().git.auto_commit),
            self.clock,
            self.on_problem,
            recaps,
            asker,
            config.days.time_zone,
            since,
            patient,
            self._log if target is None else None,
            self._hashed,
        )

    def log(self) -> ExtractionLog:
        """The record of extractions."""
        return self._log

    def path_of(self, name: str) -> str:
        """The path of a session, from its id or path.

        Raises:
            ExtractionRefused: No such session.
        """
        found = find_session(self.files.workspace, name)
        if found is not None:
            return found
        path = name.removeprefix("./")
        if "/" in path and self.files.workspace.holds(path):
            return path
        raise ExtractionRefused(f"no session {name!r:.80}", hint="list them: autopoiesis session list")

    def price_of(self, survey: Survey, *, batched: bool = False) -> float | None:
        """Estimated cost of a run's input in US dollars; ``None`` if no price is known."""
        completer = self.model(self.config().extraction)
        if completer is None or not survey.tokens:
            return 0.0
        price = self.costs().prices.price(completer.model, elsewhere=bool(completer.address))
        share = self.costs().batch_share if batched else 1.0
        return None if price is None else share * survey.tokens * price.input / 1e6

    def session_ended(self, path: str) -> Report | None:
        """Writes the recap of a session that has just ended, and extracts it, as the settings say.

        Errors are reported, not raised; the next run retries the session.
        """
        self.recaps().write_wanted([path])
        if self.config().lifecycle.extraction_trigger != "on_session_end":
            return None
        try:
            return self.runner().run([path])
        except AutopoiesisError as error:
            self.on_problem(f"{path} was not extracted: {error}")
            return None
