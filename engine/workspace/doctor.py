"""Checks a workspace and this machine, and suggests fixes."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from engine.errors import AutopoiesisError, Problem
from engine.history import UNDOING
from engine.redaction.commits import HINT as SECRET_HINT
from engine.redaction.commits import NAME_HINT, CommitCheck
from engine.settings import trust
from engine.settings.file import CONFIG_FILE, load
from engine.settings.model import Config
from engine.store import documents, programs
from engine.store.comparison import Comparison
from engine.store.conflict_copies import is_used
from engine.store.crypt import is_encrypted
from engine.store.files import Files
from engine.store.paths import Workspace, category_of, shown
from engine.store.repository import Repository
from engine.store.schema import validate
from engine.store.zone import local_day
from engine.transcripts.places import FOLDER as TRANSCRIPTS
from engine.workspace.finding import Finding, Level
from engine.workspace.git_state import git_findings
from engine.workspace.names_state import name_findings
from engine.workspace.project_state import project_findings
from engine.workspace.search_state import search_findings
from engine.workspace.sharing_state import encrypts, sharing_findings

_SHOWN_LINKS = 20

KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY"}


def examine(root: Path, *, staged: bool = False, every: bool = False) -> tuple[Finding, ...]:
    """Checks a workspace.

    Args:
        staged: Check only the staged versions of files.
        every: Also read the transcripts that are as they were committed, which a commit has checked.

    Returns:
        Findings in a fixed order; with ``staged``, only problems.

    Raises:
        WorkspaceError: The folder is not a workspace.
    """
    workspace = Workspace.open(root)
    files = Files(workspace)
    repository = Repository(workspace, guard=CommitCheck(files.read), private=lambda: encrypts(files))
    if staged:
        index = _index_of_commit(repository)
        compared = Comparison(repository.git, repository.has_commits, staged=True, index=index)
        paths = compared.added()
        texts = (path for path in paths if path.endswith(".md"))
        versions = {path: data for path in texts if (data := compared.show(path)) is not None}
        found = (
            *_documents(list(versions), versions.get),
            *_staged_topics(workspace, versions),
            *_staged_presets(files, repository, paths),
            *_staged_secrets(files, compared, paths),
            *_raw(files, repository, compared),
        )
        return tuple(dict.fromkeys(found))
    kept = frozenset() if every else _committed_transcripts(repository)
    return (
        Finding("ok", f"workspace {workspace.root}"),
        *_config(files),
        *git_findings(repository),
        *_hooks(files, repository),
        *_raw(files, repository, Comparison(repository.git, has_commits=repository.has_commits)),
        *_documents(_documents_without(workspace, kept), files.read, len(kept)),
        *_topics(workspace, files),
        *_presets(files, repository),
        *_entries(files, repository),
        *_knowledge(workspace, files, repository),
        *project_findings(files),
        *name_findings(workspace),
        *_prompt(files),
        *search_findings(workspace, files),
        *_prices(),
        *sharing_findings(files, repository),
        *_links(workspace),
        *_secrets(files, kept),
        *_machine(workspace),
    )


def _config(files: Files) -> Iterator[Finding]:
    try:
        written, odd = load(files.read(CONFIG_FILE))
    except (AutopoiesisError, OSError) as error:
        yield Finding("error", str(error))
        return
    found = trust.status(files.workspace.root, written)
    config, ignored = trust.effective(found, written)
    yield Finding(
        "ok",
        f"{CONFIG_FILE}: budget {config.context_compiler.token_budget} tokens, gate {config.gate.provider}",
    )
    yield from map(Finding.of, (*odd, *ignored))
    if found.acts and found.applies:
        by_all = os.environ.get(trust.VARIABLE) == "all"
        reason = f"like all workspaces, by {trust.VARIABLE}" if by_all else "by you"
        named = ", ".join(act.name for act in found.acts)
        yield Finding("ok", f"trusted {reason}: {named}", "see what it allows: autopoiesis trust --show")
    if not config.capture.redact:
        yield Finding(
            "warning",
            "capture.redact is off: transcripts keep keys and passwords that you type",
            "set capture.redact: true; to find existing ones: autopoiesis secrets scan",
        )
    provider = config.gate.provider
    key = KEYS.get(provider)
    if key and not os.environ.get(key) and not config.gate.base_url:
        yield Finding(
            "error",
            f"gate.provider is {provider}, but {key} is not set",
            f"export {key}, or set gate.provider: local",
        )
    if provider == "claude-code" and programs.find("claude") is None:
        yield Finding(
            "error",
            "gate.provider is claude-code, but the claude command was not found",
            "install Claude Code, or set gate.provider: local",
        )
    if config.flush.provider == "none":
        yield Finding(
            "note",
            "flush.provider is none: no notes are taken of turns that no longer fit in the prompt",
            "set flush.provider to have a model take notes; the turns stay in the transcripts",
        )


def _hooks(files: Files, repository: Repository) -> Iterator[Finding]:
    from engine.workspace.hooks import FOLDER, faults  # noqa: PLC0415 — not needed for --staged

    if not (files.workspace.root / ".git").exists() or repository.git.program() is None:
        return
    found = [Finding("warning", what, hint) for what, hint in faults(files, repository)]
    yield from found
    if not found:
        yield Finding("ok", f"hooks: {FOLDER}/ checks every commit made by hand")


def _index_of_commit(repository: Repository) -> str:
    """The index of the commit that a hook runs for, which ``git commit -a`` keeps in a separate file.

    Ignored unless it is in the repository's folder, so that the variable cannot point elsewhere.
    """
    named = os.environ.get("GIT_INDEX_FILE", "")
    path = repository.workspace.root / named
    return str(path) if named and path.resolve().parent == repository.folder.resolve() else ""


def _raw(files: Files, repository: Repository, compared: Comparison) -> Iterator[Finding]:
    """Transcripts in ``raw/`` that were changed or deleted after their session had ended."""
    from engine.transcripts.importers.existing import forbidden_change  # noqa: PLC0415 — rarely needed

    try:
        altered = compared.altered("raw")
    except AutopoiesisError:
        return  # reported by git_findings
    for path in altered:
        if not path.endswith(".md"):
            continue
        after = compared.show(path) if compared.staged else _bytes(files, path)
        what = forbidden_change(repository.show("HEAD", path), after)
        if what:
            restore = f"git restore --source=HEAD --staged --worktree -- {shlex.quote(shown(path))}"
            intended = "; if it is intended: git commit --no-verify"
            yield Finding("error", f"{shown(path)} {what}", f"restore it: {restore}{intended}")


def _bytes(files: Files, path: str) -> bytes | None:
    try:
        return files.read(path, limit=None)
    except (FileNotFoundError, AutopoiesisError):
        return None


def _settings(files: Files) -> Config | None:
    """The settings that apply; None if they cannot be read, which ``_config`` reports."""
    try:
        return trust.read(files).config
    except (AutopoiesisError, OSError):
        return None


def _prompt(files: Files) -> Iterator[Finding]:
    """Whether the fixed parts of a prompt fit its budget."""
    from engine.context.compiler import (  # noqa: PLC0415 — not needed for --staged
        CompileRequest,
        ContextCompiler,
        WorkspaceSource,
    )

    config = _settings(files) or Config()
    request = CompileRequest("", today=local_day(datetime.now(UTC), config.days.time_zone))
    try:
        compiled = ContextCompiler(WorkspaceSource(files), config.context_compiler).compile(request)
    except AutopoiesisError as error:
        yield Finding("error", f"no prompt can be compiled: {error.where}: {error.what}", error.hint)
        return
    fixed = sum(section.tokens for section in compiled.sections if section.priority == 0)
    yield Finding("ok", f"prompt: system prompt and identity take {fixed:,} of {compiled.budget:,} tokens")


def _committed_transcripts(repository: Repository) -> frozenset[str]:
    """The transcripts that are as they were committed; none without git."""
    try:
        return Comparison(repository.git, has_commits=repository.has_commits).unaltered(TRANSCRIPTS)
    except AutopoiesisError:
        return frozenset()  # reported by git_findings


def _documents_without(workspace: Workspace, kept: frozenset[str]) -> list[str]:
    """The paths of knowledge files and transcripts, except those kept."""
    found = []
    for top in (each for each in ("knowledge", TRANSCRIPTS) if workspace.holds(each)):
        for folder, _, names in os.walk(workspace.root / top):
            inside = Path(folder).relative_to(workspace.root).as_posix()
            paths = ((name, f"{inside}/{name}") for name in names if name.endswith(".md"))
            found += [path for name, path in paths if path not in kept and is_used(name)]
    return sorted(path for path in found if (workspace.root / path).is_file())


def _documents(paths: Sequence[str], read: Callable[[str], bytes | None], kept: int = 0) -> Iterator[Finding]:
    """Faults of headers; ``kept`` transcripts beside the paths were checked when they were committed."""
    wrong = checked = 0
    for path in paths:
        if not path.endswith(".md") or category_of(path) in (None, "shared", "topic"):
            continue  # topics have their own check
        try:
            data = read(path)
            if data is None or is_encrypted(data):
                continue
            document = documents.parse(data, path)
        except FileNotFoundError:
            continue
        except AutopoiesisError as error:
            yield Finding("error", str(error))
            wrong += 1
            continue
        checked += 1
        for problem in validate(document):
            wrong += 1
            yield Finding.of(problem)
    hint = ""
    if kept:
        hint = f"read the {_plural(kept, 'committed transcript')} again too: autopoiesis doctor --all"
    if not wrong and (checked or kept):
        yield Finding("ok", f"{_plural(checked, 'document')}, all headers valid", hint)


def _findings(problems: Sequence[Problem], ok: str) -> Iterator[Finding]:
    """The problems, or if there are none the text ``ok``, unless it is empty."""
    yield from map(Finding.of, problems)
    if ok and not problems:
        yield Finding("ok", ok)


def _topics(workspace: Workspace, files: Files) -> Iterator[Finding]:
    from engine.topics.check import check_topics  # noqa: PLC0415 — probes every pattern; not needed for --staged

    return _findings(check_topics(workspace, files), "topics: all triggers, patterns and subscriptions valid")


def _presets(files: Files, repository: Repository) -> Iterator[Finding]:
    from engine.context.presets import Presets, check_presets  # noqa: PLC0415 — rarely needed for --staged

    presets = Presets(files, lambda: repository, Config)
    count = len(presets.names())
    ok = f"{_plural(count, 'preset')}: all listed files and lines exist" if count else ""
    return _findings(check_presets(presets, files), ok)


def _plural(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count} {what}s"


def _staged_topics(workspace: Workspace, versions: Mapping[str, bytes]) -> Iterator[Finding]:
    if any(path.startswith("topics/") for path in versions):
        from engine.topics.check import check_versions  # noqa: PLC0415 — imports the patterns

        yield from map(Finding.of, check_versions(versions, workspace))


def _staged_secrets(files: Files, compared: Comparison, paths: list[str]) -> Iterator[Finding]:
    check = CommitCheck(files.read)
    for path in paths:
        for line, what in check.refusals(path, compared.show(path) or b"", partial(compared.before, path)):
            yield Finding(
                "error",
                f"{shown(path)}{f':{line}' if line else ''}: {what}",
                SECRET_HINT if line else NAME_HINT,
            )


def _secrets(files: Files, kept: frozenset[str]) -> Iterator[Finding]:
    from engine.workspace.secret_scan import FoundSecret, scan_files  # noqa: PLC0415 — not needed for --staged

    found = [each for each in scan_files(files, kept) if isinstance(each, FoundSecret)]
    if found:
        first = f"{shown(found[0].path)}:{found[0].line} contains a possible {found[0].kind}"
        more = f", and there are {len(found) - 1} more" if len(found) > 1 else ""
        yield Finding("warning", f"{first}{more}", "list all: autopoiesis secrets scan --history")


def _staged_presets(files: Files, repository: Repository, paths: list[str]) -> Iterator[Finding]:
    from engine.context.preset import FOLDER  # noqa: PLC0415 — rarely needed for --staged

    staged = [path for path in paths if path.startswith(f"{FOLDER}/")]
    if not staged:
        return
    from engine.context.presets import Presets, check_presets  # noqa: PLC0415 — rarely needed for --staged

    presets = Presets(files, lambda: repository, Config)
    yield from map(Finding.of, check_presets(presets, files, only=staged))


def _prices() -> Iterator[Finding]:
    from engine.providers import pricing  # noqa: PLC0415 — not needed for --staged

    path = pricing.own_file()
    ok = f"{path}: your prices, all lines valid" if path.exists() else ""
    return _findings(pricing.PriceTable.load(path).problems, ok)


def _entries(files: Files, repository: Repository) -> Iterator[Finding]:
    from engine.knowledge.knowledge_entries import KnowledgeEntries  # noqa: PLC0415 — not needed for --staged

    entries = KnowledgeEntries(files, lambda: repository, lambda: datetime.now(UTC))
    problems = entries.problems()
    if problems:
        worst: Level = "error" if any(problem.severity == "error" for problem in problems) else "warning"
        count = _plural(len(problems), "problem")
        yield Finding(worst, f"knowledge entries and skills: {count}", "see: autopoiesis knowledge check")


def _knowledge(workspace: Workspace, files: Files, repository: Repository) -> Iterator[Finding]:
    from engine.knowledge.harvest.classify import count_unharvested  # noqa: PLC0415 — not needed for --staged
    from engine.knowledge.harvest.run import JOURNALS  # noqa: PLC0415 — not needed for --staged
    from engine.knowledge.ledger import Ledger  # noqa: PLC0415 — not needed for --staged
    from engine.knowledge.review import ReviewQueue  # noqa: PLC0415 — not needed for --staged
    from engine.knowledge.verify import missing  # noqa: PLC0415 — not needed for --staged

    try:
        found = Ledger(files, repository).entries()
    except AutopoiesisError as error:
        yield Finding("error", f"{error.where}: {error.what}", error.hint)
        return
    gone = missing(found, files, repository)
    if gone:
        places = ", ".join(dict.fromkeys(line.path for line in gone))
        yield Finding(
            "note",
            f"{_plural(len(gone), 'harvested line')} no longer in {places}",
            "if an editor overwrote them, restore them from git; see: autopoiesis ledger verify",
        )
    for folder, what, command in ((JOURNALS, "a harvest", "harvest --apply"), (UNDOING, "an undo", "commit")):
        if workspace.holds(folder) and any((workspace.root / folder).glob("*.json")):
            yield Finding("warning", f"{what} was interrupted", f"to finish it: autopoiesis {command}")
    waiting = len(ReviewQueue(files, lambda: datetime.now(UTC)).waiting())
    if waiting:
        yield Finding("note", f"{_plural(waiting, 'item')} pending review", "see: autopoiesis review list")
    try:
        left = count_unharvested(files, found, trust.read(files).config.harvest.provider)
    except (AutopoiesisError, OSError):
        left = 0
    if left:
        hint = "harvest them: autopoiesis harvest --transcripts"
        yield Finding("note", f"{_plural(left, 'transcript')} not harvested", hint)
    if found and not gone:
        yield Finding("ok", f"ledger: {_plural(len(found), 'conversation')}, all harvested lines present")


def _links(workspace: Workspace) -> Iterator[Finding]:
    """Symlinks that lead out of the workspace or replace a cache."""
    from engine.store.strays import strays  # noqa: PLC0415 — not needed for --staged

    found = list(strays(workspace))
    yield from map(Finding.of, found[:_SHOWN_LINKS])
    if len(found) > _SHOWN_LINKS:
        yield Finding("warning", f"{len(found) - _SHOWN_LINKS:,} more symlinks of this kind")
    if not found:
        yield Finding("ok", "links: none lead out of the workspace")


def _machine(workspace: Workspace) -> Iterator[Finding]:
    if os.access(workspace.root, os.W_OK):
        free = shutil.disk_usage(workspace.root).free
        level: Level = "ok" if free > 256 * 1024 * 1024 else "warning"
        yield Finding(level, f"disk: {free // (1024 * 1024):,} MB free")
    else:
        yield Finding("warning", "the workspace is read-only: nothing is saved")
