"""The probes of a workspace: edited, run and recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from engine.context.delimiters import one_line
from engine.errors import AutopoiesisError, Problem
from engine.probes import file, places
from engine.probes.file import MIN_BUDGET, PROBES_PATH, ProbeFile
from engine.probes.log import Earlier, ProbeLog
from engine.probes.model import Comparison, Expectation, Probe, Run
from engine.probes.run import ProbedEngine, Progress, run
from engine.store.change import commit_change
from engine.store.commit_message import commit_message
from engine.store.paths import shown

if TYPE_CHECKING:
    from engine.context.revisions import Opened
    from engine.settings.model import Config
    from engine.store.files import Files
    from engine.store.repository import Repository

_HINT = "see: autopoiesis probe list"
_SUBJECT = 36
"""Maximum characters of a question in a commit subject."""


@dataclass(frozen=True, slots=True)
class Report:
    """A run, its comparison with the previous one, and the entries that could not be run."""

    run: Run
    comparison: Comparison
    problems: tuple[Problem, ...] = ()  # in ``probes.yaml``
    notes: tuple[str, ...] = ()  # what could not be read of a past state, one line each


@dataclass(frozen=True, slots=True)
class ProbeChange:
    """A probe that was added or removed."""

    probe: Probe
    commit: str  # object name; empty if there is none
    why: str  # why there is no commit
    odd: tuple[str, ...] = ()  # warnings about an added probe, one clause each


class Probes:
    """The probes of a workspace. Thread-safe.

    ``repository`` gives the commit a run belongs to, and receives the changes.
    """

    def __init__(
        self,
        files: Files,
        repository: Callable[[], Repository],
        config: Callable[[], Config],
        clock: Callable[[], datetime],
    ) -> None:
        self._files = files
        self._repository = repository
        self._config = config
        self._clock = clock
        self._log = ProbeLog(files, clock)

    def read(self) -> ProbeFile:
        """The probes and the problems in their file; see ``file.read``."""
        return file.read(self._files)

    def find(self, name: str) -> Probe:
        """The probe with an id or a unique prefix of it.

        Raises:
            AutopoiesisError: None or several match.
        """
        probes = self.read().probes
        found = [probe for probe in probes if probe.id == name]
        found = found or [probe for probe in probes if name and probe.id.startswith(name)]
        if not found:
            raise AutopoiesisError(f"no probe {shown(name)}", where=PROBES_PATH, hint=_HINT)
        if len(found) > 1:
            what = f"{len(found)} probes match {shown(name)}"
            raise AutopoiesisError(what, where=PROBES_PATH, hint="give more of the id")
        return found[0]

    def add(
        self,
        question: str,
        expect: Sequence[Expectation],
        *,
        budget: int | None = None,
        note: str = "",
        force: bool = False,
    ) -> ProbeChange:
        """Adds a probe at the end of the file and commits the file.

        Args:
            budget: Tokens for prompt and reply reserve.
            force: Accept files and lines that do not exist.

        Raises:
            AutopoiesisError: Question or evidence is empty, a file or line does not exist, or the question is
                already there.
            DocumentError: The file cannot be read or edited.
            WriteFailed, ReadOnly: The file was not changed.
        """
        question = question.strip()
        if not question:
            raise AutopoiesisError("a probe needs a question")
        if not expect:
            raise AutopoiesisError("a probe needs expected evidence", hint="give it with --expect")
        if budget is not None and budget < MIN_BUDGET:
            hint = f"use at least {MIN_BUDGET} tokens"
            raise AutopoiesisError(f"{budget} is not a valid budget", hint=hint)
        odd = [(each, why) for each in dict.fromkeys(expect) if (why := places.missing(self._files, each))]
        refused = next((why for each, why in odd if each.path), "")
        if refused and not force:
            raise AutopoiesisError(refused, hint="correct it, use text:… for a text, or add --force")
        added: list[Probe] = []

        def change(data: bytes | None) -> bytes:
            known = file.parse(data or b"")
            same = next((probe for probe in known.probes if probe.question == question), None)
            if same is not None:
                raise AutopoiesisError(
                    f"already has this question, as {same.id}",
                    where=f"{PROBES_PATH}:{same.line}",
                    hint="add the evidence there, or remove it first",
                )
            taken = frozenset(probe.id for probe in known.probes)
            probe = Probe(
                file.id_of(question, taken), question, tuple(dict.fromkeys(expect)), budget, note.strip()
            )
            added[:] = [probe]
            return file.with_entry(data or b"", file.entry_of(probe))

        self._files.update(PROBES_PATH, change)
        return self._commit("add", added[0], tuple(why for _, why in odd))

    def remove(self, name: str) -> ProbeChange:
        """Removes a probe, by its id or a unique prefix, and commits the file.

        Raises:
            AutopoiesisError: As ``find``.
            DocumentError: The file cannot be read or edited.
            WriteFailed, ReadOnly: The file was not changed.
        """
        with self._files.lock():
            probe = self.find(name)
            self._files.update(PROBES_PATH, lambda data: file.without_entry(data or b"", probe))
        return self._commit("remove", probe)

    def latest(self, probes: Iterable[Probe]) -> dict[str, Earlier]:
        """The last recorded result of each probe that has one, by id."""
        return self._log.latest(probe.id for probe in probes)

    def run(
        self,
        engine: ProbedEngine,
        names: Sequence[str] = (),
        *,
        budget: int | None = None,
        record: bool = True,
        progress: Progress | None = None,
    ) -> Report:
        """Runs probes and compares them with earlier results.

        Args:
            names: Ids or unique prefixes; all probes by default.
            budget: Tokens for every prompt, instead of the probes' own and the workspace's.
            record: Append the results to the log, unless the workspace is read-only.

        Raises:
            AutopoiesisError: As ``find``.
            WriteFailed: The results were not recorded.
        """
        known = self.read()
        results = run(engine, self._named(known, names), budget=budget, progress=progress)
        commit = self._repository().revision() or ""
        done = Run.of(self._clock().isoformat(), commit, results)
        comparison = self._log.compare(done, budget)
        if record and results and not self._files.read_only:
            self._log.record(done, budget)
        return Report(done, comparison, known.problems)

    def recall(
        self,
        past: Opened,
        names: Sequence[str] = (),
        *,
        budget: int | None = None,
        progress: Progress | None = None,
    ) -> Report:
        """Runs the current probes against a past state of the memory.

        Nothing is recorded or compared: the log is a series of the current state over time. ``names``,
        ``budget`` and ``progress`` are as for ``run``.

        Raises:
            AutopoiesisError: As ``find``.
        """
        known = self.read()
        results = run(past.engine, self._named(known, names), budget=budget, progress=progress)
        done = Run.of(self._clock().isoformat(), past.commit.revision, results)
        return Report(done, Comparison(), known.problems, past.problems)

    def _named(self, known: ProbeFile, names: Sequence[str]) -> tuple[Probe, ...]:
        return tuple(dict.fromkeys(self.find(name) for name in names)) if names else known.probes

    def _commit(self, what: str, probe: Probe, odd: tuple[str, ...] = ()) -> ProbeChange:
        message = commit_message(
            "maintenance", f"probe {what} {probe.id}: {one_line(probe.question, _SUBJECT)}"
        )
        wanted = self._config().git.auto_commit
        done = commit_change(self._repository, [PROBES_PATH], message, wanted=wanted)
        return ProbeChange(probe, done.revision, done.why, odd)
