"""Rebuilds knowledge from all sessions on a branch, without touching the workspace (spec 8.7, design 3.8)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from engine.context.sources import MEMORY
from engine.errors import ChangeRefused, ConfigError, RepositoryError
from engine.history import snapshots
from engine.knowledge.digest import Digest
from engine.knowledge.file_changes import carry_out
from engine.knowledge.harvest.reading import safe_name
from engine.knowledge.item import normalised
from engine.knowledge.pages import without_day
from engine.knowledge.review import ReviewQueue
from engine.lifecycle.condensing.weeks import journals_of, kept_in, promotion, week_of
from engine.lifecycle.extraction.run import Report as Read
from engine.lifecycle.extraction.run import Result
from engine.lifecycle.reconstruction.bench import PREFIX, Bench, Order, State
from engine.lifecycle.retention.retention import journal_day
from engine.store.change import ChangeCommit, commit_message
from engine.store.faults import reach
from engine.store.paths import shown
from engine.store.repository import commit_of
from engine.store.revisions import ENVIRONMENT

if TYPE_CHECKING:
    from engine.knowledge.category_files import Entry
    from engine.lifecycle.extraction.run import Extraction, Runner, Survey
    from engine.lifecycle.reconstruction.comparison import Comparison
    from engine.lifecycle.reconstruction.merging import Merging
    from engine.settings.trust import EffectiveSettings
    from engine.store.files import Files
    from engine.store.repository import Repository

_HEADS = "refs/heads/"
_TAKES = "commit-tree and update-ref"


@dataclass(frozen=True, slots=True)
class Request:
    """The parameters of a reconstruction."""

    name: str  # of the branch, with or without ``extract/``
    extractors: tuple[str, ...] = ()  # by default all in the settings
    provider: str = ""  # instead of ``extraction.provider``
    model: str = ""  # likewise

    @property
    def plain(self) -> str:
        """The name without ``extract/``."""
        return self.name.removeprefix(PREFIX)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a reconstruction would do and cost."""

    branch: str
    base: str  # full object name of the commit it builds on
    extractors: tuple[str, ...]
    survey: Survey
    usd: float | None  # approximate cost of the input; ``None`` if no price is known
    is_begun: bool  # an earlier run can be resumed; the rest of this estimate ignores that


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a reconstruction."""

    branch: str
    base: str
    commit: str  # full object name; empty if it was not completed
    tag: str
    files: tuple[str, ...]  # changed on the branch
    read: Read | None  # ``None`` if everything was read before
    held: int  # items that need review, and so are not on the branch
    left: tuple[str, ...] = ()  # entries without room in MEMORY.md, one line each


@dataclass(eq=False)
class Reconstruction:
    """Rebuilds the knowledge of a workspace. Safe across processes."""

    files: Files
    repository: Callable[[], Repository]
    extraction: Callable[[], Extraction]
    settings: Callable[[], EffectiveSettings]
    clock: Callable[[], datetime]
    on_problem: Callable[[str], None]

    def estimate(self, request: Request) -> Estimate:
        """What it would do.

        Raises:
            ConfigError, ExtractionRefused: No such extractor, or a model without a provider.
            RepositoryError: The name is invalid or taken, or there is no commit to build on.
            ChangeRefused: A model would be used in an untrusted workspace.
        """
        extraction, runner = self._runner(request)
        bench = self._bench(request)
        state = bench.state()
        base = state.base if state else self._head()
        if state is None:
            self._refuse_name(request.plain)
        survey = runner.survey()
        names = tuple(each.name for each in runner.extractors)
        usd = extraction.price_of(survey)
        return Estimate(PREFIX + request.plain, base, names, survey, usd, state is not None)

    def run(
        self,
        request: Request,
        on_result: Callable[[Result, int, int], None] = lambda _result, _done, _all: None,
        *,
        partial: bool = False,
        start_over: bool = False,
    ) -> Report:
        """Runs or resumes a reconstruction.

        Args:
            partial: Complete it even if some sessions cannot be read.
            start_over: Ignore an earlier unfinished run.

        Raises:
            As ``estimate``; WriteFailed: A file was not written. The same call resumes.
        """
        self.files.refuse_read_only(".git")
        bench = self._bench(request)
        with bench.held():
            return self._run(request, bench, on_result, partial=partial, start_over=start_over)

    # Comparing and merging.

    def compare(self, left: str, right: str) -> Comparison:
        """Compares two branches, with or without ``extract/``, or revisions; see ``comparison.compare``."""
        from engine.lifecycle.reconstruction import comparison  # noqa: PLC0415 — loaded on demand

        repository, zone = self.repository(), self.extraction().config().days.time_zone
        sides = [comparison.side_of(repository, each, self.clock(), zone) for each in (left, right)]
        return comparison.compare(repository, *sides)

    @property
    def merging(self) -> Merging:
        """The part that merges branches."""
        from engine.lifecycle.reconstruction.merging import Merging  # noqa: PLC0415 — likewise

        return Merging(self.files, self.repository)

    def _run(
        self,
        request: Request,
        bench: Bench,
        on_result: Callable[[Result, int, int], None],
        *,
        partial: bool,
        start_over: bool,
    ) -> Report:
        _, survey = self._runner(request)
        order = _order(request, survey)
        state = None if start_over else bench.state()
        if state is not None and state.order != order:
            raise ChangeRefused(
                f"{PREFIX}{shown(request.plain)} was started with other extractors or another model",
                hint="use those, or start over: --anew",
            )
        if state is None:
            bench.discard()  # leftovers of a completed run
            self._refuse_name(request.plain)
            begun = self.clock().astimezone(UTC).isoformat(timespec="microseconds")
            state = State(order, self._head(), begun)
            bench.lay_out(self.repository().git, state, self._removal(survey, request))
        read: Read | None = None
        left: list[str] = []
        if not state.commit:
            _, runner = self._runner(request, bench)
            read = runner.run((), on_result)
            failed = [each for each in read.results if each.outcome in ("failed", "changed")]
            if read.stopped or (failed and not partial):
                return Report(PREFIX + request.plain, state.base, "", "", (), read, _held(runner))
            self._put_back(request, bench, state, runner)
            left = self._condense(bench, state)
            state = replace(state, commit=self._commit(request, bench, state, runner))
            bench.keep(state)
        tag = self._create_branch(request.plain, state)
        _, runner = self._runner(request, bench)
        files = tuple(bench.changes(self.repository().git, state.base))
        report = Report(
            PREFIX + request.plain, state.base, state.commit, tag, files, read, _held(runner), tuple(left)
        )
        bench.discard()
        return report

    # Setup.

    def _bench(self, request: Request) -> Bench:
        snapshots.check_name(request.plain)
        return Bench.of(self.files.workspace.root, request.plain)

    def _runner(self, request: Request, bench: Bench | None = None) -> tuple[Extraction, Runner]:
        """The runner that reads sessions into the bench; without one, the runner for a survey."""
        extraction = self.extraction()
        config = extraction.config()
        settings = config.extraction
        changes: dict[str, Any] = {"provider": request.provider} if request.provider else {}
        if request.model:
            changes["model"] = request.model
        elif request.provider and request.provider != settings.provider:
            changes["model"] = ""
        wanted = replace(config, extraction=replace(settings, **changes))
        self._refuse_untrusted(request, wanted.extraction.provider)
        if request.model and wanted.extraction.provider == "none":
            raise ConfigError("a model needs a provider", where="extraction.provider", hint="add: --provider")
        extraction = replace(extraction, config=lambda: wanted)
        # Without a bench, ignore earlier records, since everything is read again.
        since = self.clock().astimezone(UTC).isoformat(timespec="microseconds") if bench is None else ""
        target = None if bench is None else bench.files
        runner = extraction.runner(request.extractors, target=target, since=since)
        # No commits by the runner: the branch gets a single one.
        return extraction, replace(runner, commit=lambda _paths, _message: ChangeCommit(why=_TAKES))

    def _refuse_untrusted(self, request: Request, provider: str) -> None:
        trust = self.settings().trust
        if trust.applies or request.provider == "none":
            return
        ignored = any(act.name == "extraction.provider" for act in trust.acts)
        if provider != "none" or ignored or request.model:
            raise ChangeRefused(
                "a model would read every session, but the workspace is not trusted",
                where=str(trust.root),
                hint="see what it asks for: autopoiesis trust --show; or use no model: --provider none",
            )

    def _head(self) -> str:
        repository = self.repository()
        state = repository.state(count=False)
        if state.kind in ("none", "no-git", "no-identity", "broken"):
            raise RepositoryError(state.why, where=str(repository.workspace.root), hint=state.hint)
        found = repository.revision()
        if found is None:
            raise RepositoryError("no commits yet", where=str(repository.workspace.root))
        return found

    def _refuse_name(self, name: str) -> None:
        git = self.repository().git
        taken = [f"{_HEADS}{PREFIX}{name}", f"{_HEADS}{PREFIX[:-1]}", f"refs/tags/memory/{PREFIX}{name}"]
        for reference in taken:
            if commit_of(git, reference, ENVIRONMENT) is not None:
                raise RepositoryError(
                    f"{reference.split('/', 2)[2]} already exists",
                    where=str(git.root),
                    hint="choose another name, or remove it with git branch -D or git tag -d",
                )

    def _removal(self, survey: Runner, request: Request) -> Callable[[Entry], bool]:
        """A test for entries to remove: those from sessions and extractors of this run, unless the user has
        accepted them.
        """
        sessions = {safe_name(each.path) for each in survey.survey(sized=False).due}
        accepted = {
            (normalised(each.text or each.item.text), each.origin.name)
            for each in ReviewQueue(self.files, self.clock).all()
            if each.verdict == "accepted"
        }
        chosen = {each.name for each in survey.extractors}
        is_all = not request.extractors or chosen >= {each.name for each in self.extraction().extractors()}
        lines = {
            item.line
            for record in (() if is_all else self.extraction().log().all())
            if record.by.extractor in chosen
            for item in record.items
        }

        def is_removed(entry: Entry) -> bool:
            if entry.source not in sessions or not (is_all or entry.raw in lines):
                return False
            return (normalised(without_day(entry.text)), entry.source) not in accepted

        return is_removed

    # Results.

    def _put_back(self, request: Request, bench: Bench, state: State, runner: Runner) -> None:
        """Restores the lines of sessions that could not be read: nothing replaces them."""
        found: dict[str, set[str]] = {}
        for record in runner.log.all():
            if record.status == "extracted":
                found.setdefault(safe_name(record.path), set()).add(record.by.extractor)
        wanted = {each.name for each in runner.extractors}
        read = {name for name, extractors in found.items() if extractors >= wanted}
        is_removed = self._removal(self._runner(request)[1], request)
        bench.put_back(self.repository().git, state.base, is_removed, lambda entry: entry.source not in read)

    def _condense(self, bench: Bench, state: State) -> list[str]:
        """Adds the rebuilt journals to MEMORY.md, week by week, without a model; returns what had no room."""
        files, cap = bench.files, self.extraction().config().lifecycle.memory_line_cap
        begun = datetime.fromisoformat(state.begun)
        changed = bench.changes(self.repository().git, state.base)
        days = [day for path, data in changed.items() if data is not None and (day := journal_day(path))]
        left: list[str] = []
        for week in dict.fromkeys(week_of(day) for day in sorted(days)):
            memory = files.find(MEMORY) or b""
            change, more = promotion(memory, kept_in(journals_of(files, week)), cap, begun)
            left += more
            if change is not None:
                with files.lock():
                    carry_out(files, change, self.on_problem)
        Digest(files).follow(self.on_problem)
        return left

    def _commit(self, request: Request, bench: Bench, state: State, runner: Runner) -> str:
        repository = self.repository()
        records = runner.log.all()
        sessions = {record.path for record in records if record.status == "extracted"}
        failed = {record.path for record in records} - sessions
        trailers = [("Base", state.base), *(("Extractor", each) for each in state.order.extractors)]
        if state.order.provider:
            trailers.append(("Model", f"{state.order.provider} {state.order.model}"))
        trailers.append(("Sessions", f"{len(sessions)}"))
        if failed:
            trailers.append(("Failed", f"{len(failed)}"))
        message = commit_message("extract", f"regenerated knowledge with {request.plain}", trailers=trailers)
        return repository.commit_beside(bench.changes(repository.git, state.base), state.base, message)

    def _create_branch(self, name: str, state: State) -> str:
        """Creates branch and tag, unless a killed run already did; returns the tag."""
        git = self.repository().git
        there = commit_of(git, f"{_HEADS}{PREFIX}{name}", ENVIRONMENT)
        if there is None:
            reach("commit:reference")
            git.run(
                "update-ref", "-m", f"reconstructed as {name}", f"{_HEADS}{PREFIX}{name}", state.commit,
                "0" * len(state.commit), reading=False,
            )  # fmt: skip
        elif there != state.commit:
            raise RepositoryError(
                f"{PREFIX}{name} was created in the meantime, at {there[:8]}",
                where=str(git.root),
                hint="rename it with git branch -m and run the same command again",
            )
        return snapshots.create(git, "extract", name, state.commit)


def _order(request: Request, runner: Runner) -> Order:
    model = None if runner.asker is None else runner.asker.completer
    return Order(
        request.plain,
        tuple(f"{each.name} {each.version}" for each in runner.extractors),
        model.name if model else "",
        model.model if model else "",
    )


def _held(runner: Runner) -> int:
    return len({name for record in runner.log.all() for name in record.held})
