"""What is wrong with a workspace or with this machine, and how to mend it."""

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
from engine.redaction.commits import CURE, refusals, refuse_secrets
from engine.settings import trust
from engine.settings.file import CONFIG_FILE, load
from engine.settings.model import Config
from engine.store import documents, programs
from engine.store.comparison import Comparison
from engine.store.crypt import is_encrypted
from engine.store.files import Files
from engine.store.paths import Workspace, category_of, shown
from engine.store.repository import Repository
from engine.store.schema import validate
from engine.store.zone import local_day
from engine.workspace.finding import Finding, Level
from engine.workspace.search_state import search_findings
from engine.workspace.sharing_state import encrypts, sharing_findings

_MOST_LINKS = 20
"""Named one by one."""

KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY"}


def examine(root: Path, *, staged: bool = False) -> tuple[Finding, ...]:
    """Examines a workspace.

    Args:
        staged: Only the files that the next commit would hold, as it would hold them.

    Returns:
        Findings in a fixed order; with ``staged`` only what is wrong.

    Raises:
        WorkspaceError: The folder is not a workspace.
    """
    workspace = Workspace.open(root)
    files = Files(workspace)
    repository = Repository(workspace, guard=refuse_secrets, private=lambda: encrypts(files))
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
            *_staged_secrets(compared, paths),
            *_raw(files, repository, compared),
        )
        return tuple(dict.fromkeys(found))
    return (
        Finding("ok", f"workspace {workspace.root}"),
        *_config(files),
        *_git(repository),
        *_hooks(files, repository),
        *_raw(files, repository, Comparison(repository.git, has_commits=repository.has_commits)),
        *_documents(_all_documents(workspace), files.read),
        *_topics(workspace, files),
        *_presets(files, repository),
        *_entries(files, repository),
        *_knowledge(workspace, files, repository),
        *_prompt(files),
        *search_findings(workspace, files),
        *_prices(),
        *sharing_findings(files, repository),
        *_links(workspace),
        *_secrets(files),
        *_machine(workspace),
    )


def _config(files: Files) -> Iterator[Finding]:
    try:
        written, odd = load(files.read(CONFIG_FILE))
    except (AutopoiesisError, OSError) as error:
        yield Finding("error", str(error))
        return
    found = trust.standing(files.workspace.root, written)
    config, ignored = trust.in_force(found, written)
    yield Finding(
        "ok",
        f"{CONFIG_FILE}: budget {config.context_compiler.token_budget} tokens, gate {config.gate.provider}",
    )
    yield from map(Finding.of, (*odd, *ignored))
    if found.acts and found.counts:
        by_all = os.environ.get(trust.VARIABLE) == "all"
        why = f"as every workspace, by {trust.VARIABLE}" if by_all else "by you"
        named = ", ".join(act.name for act in found.acts)
        yield Finding("ok", f"trusted {why}: {named}", "what it does: autopoiesis trust --show")
    if not config.capture.redact:
        yield Finding(
            "warning",
            "capture.redact is off: transcripts keep keys and passwords that are typed",
            "set capture.redact: true; for what stands already: autopoiesis secrets scan",
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
            "gate.provider is claude-code, but there is no claude command",
            "install Claude Code, or set gate.provider: local",
        )
    if config.flush.provider == "none":
        yield Finding(
            "note",
            "flush.provider is none: no notes are taken of turns that no longer fit the prompt",
            "to have a model take them: flush.provider; the turns stay in the transcripts",
        )


def _git(repository: Repository) -> Iterator[Finding]:
    state = repository.state()
    if state.kind == "ok":
        yield Finding("ok", f"git: on {state.branch}, {state.dirty} files not committed")
    else:
        yield Finding(
            "warning", f"git: {state.why}", "files are still written; only history and undo are missing"
        )


def _hooks(files: Files, repository: Repository) -> Iterator[Finding]:
    """Whether the hooks are there, are ours, and can run."""
    from engine.workspace.hooks import FOLDER, faults  # noqa: PLC0415 — not needed for --staged

    if not (files.workspace.root / ".git").exists() or repository.git.program() is None:
        return
    found = [Finding("warning", what, hint) for what, hint in faults(files, repository)]
    yield from found
    if not found:
        yield Finding("ok", f"hooks: those in {FOLDER}/ check every commit made by hand")


def _index_of_commit(repository: Repository) -> str:
    """The index of the commit that a hook runs for, which ``git commit -a`` keeps beside the usual one.

    Only one of the repository's own is taken: nothing else that the variable may name is read.
    """
    named = os.environ.get("GIT_INDEX_FILE", "")
    path = repository.workspace.root / named
    return str(path) if named and path.resolve().parent == repository.folder.resolve() else ""


def _raw(files: Files, repository: Repository, compared: Comparison) -> Iterator[Finding]:
    """Transcripts in ``raw/`` that were changed or deleted though their session has ended."""
    from engine.transcripts.unchanged import fault_of  # noqa: PLC0415 — hardly ever needed

    try:
        altered = compared.altered("raw")
    except AutopoiesisError:
        return  # what is wrong with the repository is said elsewhere
    for path in altered:
        if not path.endswith(".md"):
            continue
        after = compared.show(path) if compared.staged else _bytes(files, path)
        what = fault_of(repository.show("HEAD", path), after)
        if what:
            restore = f"git restore --source=HEAD --staged --worktree -- {shlex.quote(shown(path))}"
            meant = "; if it is meant: git commit --no-verify"
            yield Finding("error", f"{shown(path)} {what}", f"take it back: {restore}{meant}")


def _bytes(files: Files, path: str) -> bytes | None:
    try:
        return files.read(path, limit=None)
    except (FileNotFoundError, AutopoiesisError):
        return None


def _settings(files: Files) -> Config | None:
    """The settings that count; ``None`` where they cannot be read, which is said elsewhere."""
    try:
        return trust.read(files).config
    except (AutopoiesisError, OSError):
        return None


def _prompt(files: Files) -> Iterator[Finding]:
    """Whether a prompt is possible at all: what stands in every one must fit its budget."""
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
        yield Finding("error", f"no prompt is possible: {error.where}: {error.what}", error.hint)
        return
    fixed = sum(section.tokens for section in compiled.sections if section.priority == 0)
    yield Finding("ok", f"prompt: system prompt and identity take {fixed:,} of {compiled.budget:,} tokens")


def _all_documents(workspace: Workspace) -> list[str]:
    found = []
    folders = (workspace.knowledge, workspace.topics, workspace.transcripts)
    for folder in (each for each in folders if workspace.holds(workspace.relative(each))):
        found += [workspace.relative(path) for path in folder.rglob("*.md") if path.is_file()]
    return sorted(found)


def _documents(paths: Sequence[str], read: Callable[[str], bytes | None]) -> Iterator[Finding]:
    wrong = checked = 0
    for path in paths:
        if not path.endswith(".md") or category_of(path) in (None, "shared"):
            continue
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
        for problem in (*document.problems, *validate(document)):
            wrong += 1
            yield Finding.of(problem)
    if not wrong and checked:
        yield Finding("ok", f"{checked} documents, every header in order")


def _told(problems: Sequence[Problem], in_order: str) -> Iterator[Finding]:
    """What is wrong, or else the line that says what is in order, where there is one."""
    yield from map(Finding.of, problems)
    if in_order and not problems:
        yield Finding("ok", in_order)


def _topics(workspace: Workspace, files: Files) -> Iterator[Finding]:
    from engine.topics.check import check_topics  # noqa: PLC0415 — probes every pattern; not needed for --staged

    return _told(check_topics(workspace, files), "topics: every trigger, pattern and subscription in order")


def _presets(files: Files, repository: Repository) -> Iterator[Finding]:
    from engine.context.preset_check import check_presets  # noqa: PLC0415 — hardly needed for --staged
    from engine.context.presets import Presets  # noqa: PLC0415 — likewise

    presets = Presets(files, lambda: repository, Config)
    count = len(presets.names())
    in_order = f"{_many(count, 'preset')}: every file and line that they list is there" if count else ""
    return _told(check_presets(presets, files), in_order)


def _many(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count} {what}s"


def _staged_topics(workspace: Workspace, versions: Mapping[str, bytes]) -> Iterator[Finding]:
    """What is wrong with those of ``topics/`` that the commit would hold."""
    if any(path.startswith("topics/") for path in versions):
        from engine.topics.check import check_versions  # noqa: PLC0415 — brings the patterns

        yield from map(Finding.of, check_versions(versions, workspace))


def _staged_secrets(compared: Comparison, paths: list[str]) -> Iterator[Finding]:
    """What looks like a secret in what the commit would add."""
    for path in paths:
        for line, what in refusals(path, compared.show(path) or b"", partial(compared.before, path)):
            yield Finding("error", f"{shown(path)}{f':{line}' if line else ''}: {what}", CURE)


def _secrets(files: Files) -> Iterator[Finding]:
    """What looks like a secret in files: one that stood in a commit already refuses no other."""
    from engine.workspace.secret_scan import Standing, scan_files  # noqa: PLC0415 — not needed for --staged

    found = [each for each in scan_files(files) if isinstance(each, Standing)]
    if found:
        first = f"{shown(found[0].path)}:{found[0].line} holds what looks like a {found[0].kind}"
        more = f", and there are {len(found) - 1} more" if len(found) > 1 else ""
        yield Finding("warning", f"{first}{more}", "see all: autopoiesis secrets scan --history")


def _staged_presets(files: Files, repository: Repository, paths: list[str]) -> Iterator[Finding]:
    """What is wrong with those of ``presets/`` that are among some files."""
    from engine.context.preset import FOLDER  # noqa: PLC0415 — hardly needed for --staged

    staged = [path for path in paths if path.startswith(f"{FOLDER}/")]
    if not staged:
        return
    from engine.context.preset_check import check_presets  # noqa: PLC0415 — hardly needed for --staged
    from engine.context.presets import Presets  # noqa: PLC0415 — likewise

    presets = Presets(files, lambda: repository, Config)
    yield from map(Finding.of, check_presets(presets, files, only=staged))


def _prices() -> Iterator[Finding]:
    """The person's own prices, where they have written some."""
    from engine.providers import pricing  # noqa: PLC0415 — not needed for --staged

    path = pricing.own_file()
    in_order = f"{path}: prices of your own, every line in order" if path.exists() else ""
    return _told(pricing.PriceTable.load(path).problems, in_order)


def _entries(files: Files, repository: Repository) -> Iterator[Finding]:
    """How many problems entries, skills and references have; each is named by its own command."""
    from engine.knowledge.knowledge_entries import KnowledgeEntries  # noqa: PLC0415 — not needed for --staged

    config = _settings(files)
    committing = config is not None and config.git.auto_commit
    entries = KnowledgeEntries(files, lambda: repository, lambda: committing, lambda: datetime.now(UTC))
    problems = entries.problems()
    if problems:
        worst: Level = "error" if any(problem.severity == "error" for problem in problems) else "warning"
        many = _many(len(problems), "problem")
        yield Finding(worst, f"knowledge entries and skills: {many}", "autopoiesis knowledge check")


def _knowledge(workspace: Workspace, files: Files, repository: Repository) -> Iterator[Finding]:
    from engine.knowledge.harvest.classify import count_unharvested  # noqa: PLC0415 — only an examination looks at all
    from engine.knowledge.harvest.settle import JOURNALS  # noqa: PLC0415 — likewise
    from engine.knowledge.ledger import Ledger  # noqa: PLC0415 — likewise
    from engine.knowledge.review import ReviewQueue  # noqa: PLC0415 — likewise
    from engine.knowledge.verify import missing  # noqa: PLC0415 — likewise

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
            f"lines that harvests wrote and that are not there any more: {len(gone)}, in {places}",
            "if an editor saved an old text over them, take them from git: autopoiesis ledger verify",
        )
    for folder, what, command in ((JOURNALS, "a harvest", "harvest --apply"), (UNDOING, "an undo", "commit")):
        if workspace.holds(folder) and any((workspace.root / folder).glob("*.json")):
            yield Finding("warning", f"{what} was interrupted", f"to finish it: autopoiesis {command}")
    waiting = len(ReviewQueue(files, lambda: datetime.now(UTC)).waiting())
    if waiting:
        yield Finding("note", f"items that wait for you: {waiting}", "see: autopoiesis review list")
    try:
        left = count_unharvested(files, found, trust.read(files).config.harvest.provider)
    except (AutopoiesisError, OSError):
        left = 0
    if left:
        hint = "read what they taught: autopoiesis harvest --transcripts"
        yield Finding("note", f"transcripts that were never harvested: {left}", hint)
    if found and not gone:
        yield Finding("ok", f"ledger: {len(found)} conversations, every line that they gave stands")


def _links(workspace: Workspace) -> Iterator[Finding]:
    """What leads out of the workspace, or stands in the place of a cache."""
    from engine.store.strays import strays  # noqa: PLC0415 — not needed for --staged

    found = list(strays(workspace))
    yield from map(Finding.of, found[:_MOST_LINKS])
    if len(found) > _MOST_LINKS:
        yield Finding("warning", f"{len(found) - _MOST_LINKS:,} more symlinks of this kind")
    if not found:
        yield Finding("ok", "links: none leads out of the workspace")


def _machine(workspace: Workspace) -> Iterator[Finding]:
    if programs.find("rg"):
        yield Finding("ok", "ripgrep: there, for searching without the index")
    else:
        yield Finding("note", "ripgrep is not installed: without the index, files are scanned instead")
    if os.access(workspace.root, os.W_OK):
        free = shutil.disk_usage(workspace.root).free
        level: Level = "ok" if free > 256 * 1024 * 1024 else "warning"
        yield Finding(level, f"disk: {free // (1024 * 1024):,} MB free")
    else:
        yield Finding("warning", "the workspace cannot be written: everything is shown, nothing is kept")
