"""Creates a workspace (design 2): folders, settings, git with its hooks, and optionally the sample."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import Problem, RepositoryError, WorkspaceError
from engine.redaction.commits import CommitCheck
from engine.settings import file as config_file
from engine.settings import trust
from engine.store.change import commit_message
from engine.store.descriptors import open_folder
from engine.store.files import Files, reported
from engine.store.git_folder import inner
from engine.store.paths import Workspace
from engine.store.repository import Repository
from engine.transcripts.format import parse
from engine.transcripts.replay import human_pace, replay
from engine.workspace import hooks
from engine.workspace.sharing_state import encrypts

if TYPE_CHECKING:
    from engine.workspace.sample_past import Past

SAMPLE_LAST_DAY = date(2026, 6, 12)
"""The last day in the sample's files."""

FOLDERS = (
    "raw/conversations", "conversations", "knowledge/identity", "knowledge/memory", "knowledge/journal",
    "knowledge/projects", "knowledge/people", "knowledge/procedures", "knowledge/reference",
    "knowledge/files", "knowledge/prompts", "topics", "presets", "archive", "attachments", "logs", "scratch",
)  # fmt: skip

_ISO_DATE = re.compile(r"(?<![0-9])2026-0[5-7]-[0-3][0-9](?![0-9])")
_PATH_DATE = re.compile(r"(?<![0-9])2026/0[5-7]/[0-3][0-9](?![0-9])")


@dataclass
class InitialiseReport:
    """What was created, in sentences, and what went wrong."""

    root: Path
    lines: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


_SAMPLE_IDENTITY = {"user.name": "Sample", "user.email": "sample@example.org"}
"""Who commits to a sample if git does not know the user."""


def initialise(root: Path, *, sample: bool = False, today: date | None = None) -> InitialiseReport:
    """Creates a workspace; existing files are kept.

    Args:
        sample: Add the sample workspace, with its dates moved so that its last day is ``today``.
        today: The sample's last day; by default today, or yesterday if the sample's last hours would be in
            the future.

    Raises:
        WorkspaceError: The folder cannot be created, or a sample was requested in one that is not empty.
        WriteFailed: A file could not be written.
    """
    root = root.expanduser().absolute()
    is_new = not (root / config_file.CONFIG_FILE).exists()
    if sample and root.exists() and any(root.iterdir()):
        raise WorkspaceError(
            "the folder is not empty", where=str(root), hint="use an empty folder for the sample"
        )
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkspaceError(f"cannot create the folder ({error.strerror})", where=str(root)) from error
    workspace = Workspace(root.resolve())
    files = Files(workspace)
    report = InitialiseReport(workspace.root)
    with reported(str(root)):
        for parts in [workspace.resolve(folder).relative_to(workspace.root).parts for folder in FOLDERS]:
            with open_folder(workspace.root, parts, create=True):
                pass

    repository = Repository(workspace, guard=CommitCheck(files.read), private=lambda: encrypts(files))
    state = repository.state()
    if state.kind == "none":
        repository.init()
        state = repository.state()
        report.lines.append("a git repository, so that every change can be inspected and undone")
    if sample and state.kind == "no-identity":
        for name, value in _SAMPLE_IDENTITY.items():
            repository.git.run("config", "--local", name, value, reading=False)
        state = repository.state()

    # The sample's last day ends at 07:31 UTC; nothing in it may be in the future.
    shift = (today or (datetime.now(UTC) - timedelta(hours=7, minutes=31)).date()) - SAMPLE_LAST_DAY
    if sample:
        created = [
            files.create(shift_dates(path, shift), _shifted(source.read_bytes(), shift))
            for path, source in _tree("sample/workspace")
        ]
        report.lines.append(f"the sample: {sum(created)} files, a month of an agent's work")
    # The sample has its own memories; it needs only the starter files for git.
    created = [
        files.create(path, source.read_bytes())
        for path, source in _tree("starter/workspace")
        if not sample or path.startswith(".")
    ]
    if any(created):
        report.lines.append(f"{sum(created)} starter files")
    if (workspace.root / ".git").exists():
        lines, problems = hooks.install(files, repository)
        report.lines.extend(lines)
        report.problems.extend(problems)

    past = _past(files, shift) if sample else None
    if state.kind == "ok":
        _commit(files, repository, past, shift, report)
    else:
        report.problems.append(
            Problem(".git", 0, f"nothing was committed: {state.why}", hint=state.hint, severity="warning")
        )
    if is_new:
        trust.trust(workspace.root, config_file.read(files)[0])
    report.lines.insert(0, f"created a workspace in {workspace.root}")
    return report


def renew_hooks(root: Path) -> InitialiseReport:
    """Reinstalls the hooks of a workspace, to be run by this interpreter; no other file changes.

    Raises:
        WorkspaceError: The folder is not a workspace, or not a git repository.
        WriteFailed: A file could not be written.
    """
    workspace = Workspace.open(root)
    report = InitialiseReport(workspace.root)
    if not (workspace.root / ".git").exists():
        raise WorkspaceError("not a git repository, so there are no hooks", where=str(workspace.root))
    lines, report.problems = hooks.install(Files(workspace), Repository(workspace))
    if not report.problems:
        report.lines = lines or [f"git hooks in {hooks.FOLDER}/ are up to date"]
        report.lines.append(f"commits made by hand are checked by {sys.executable or 'autopoiesis on PATH'}")
    return report


def _tree(folder: str) -> Iterator[tuple[str, Traversable]]:
    """Every file in a folder of package data, with its relative path, sorted."""

    def walk(node: Traversable, above: str) -> Iterator[tuple[str, Traversable]]:
        for child in sorted(node.iterdir(), key=lambda item: item.name):
            if child.name == "__pycache__":
                continue
            # Under its real name, a .gitignore would take effect in the package itself.
            hidden = child.name.startswith("dot-")
            path = f"{above}.{child.name[4:]}" if hidden else f"{above}{child.name}"
            if child.is_dir():
                yield from walk(child, f"{path}/")
            else:
                yield path, child

    node = resources.files("engine")
    for part in folder.split("/"):
        node = node / part
    return walk(node, "")


def _shifted(data: bytes, shift: timedelta) -> bytes:
    return shift_dates(data.decode("utf-8"), shift).encode("utf-8")


def shift_dates(text: str, shift: timedelta) -> str:
    """Moves every date of the sample, ``YYYY-MM-DD`` or ``YYYY/MM/DD``, by whole days."""
    if not shift:
        return text

    def iso(match: re.Match[str]) -> str:
        return (date.fromisoformat(match.group()) + shift).isoformat()

    def path(match: re.Match[str]) -> str:
        return (date.fromisoformat(match.group().replace("/", "-")) + shift).strftime("%Y/%m/%d")

    return _PATH_DATE.sub(path, _ISO_DATE.sub(iso, text))


def replay_sample(files: Files, stop: threading.Event, speed: float = 1.0) -> None:
    """Replays the sample's recorded conversation into ``conversations/``, until done or ``stop`` is set.

    A speed of 1 is a human pace.
    """
    data = resources.files("engine").joinpath("sample", "replay.md").read_bytes()
    # Its dates move as far as those of the workspace that it refers to.
    journals = sorted(path.stem for path in files.workspace.journal.glob("????-??-??.md"))
    shift = date.fromisoformat(journals[-1]) - SAMPLE_LAST_DAY if journals else timedelta()
    source = parse(_shifted(data, shift), "replay.md")
    replay(files, source, "conversations/live-demo.md", stop, pace=human_pace(speed))


def _past(files: Files, shift: timedelta) -> Past:
    """Restores the conversations in the sample's ledger."""
    from engine.workspace.sample_past import restore_past  # noqa: PLC0415 — only for the sample

    texts = {
        shift_dates(name, shift): _shifted(source.read_bytes(), shift)
        for name, source in _tree("sample/reclaimed")
    }
    return restore_past(files, _sample_data("past.json", shift), texts)


def _sample_data(name: str, shift: timedelta) -> bytes:
    return _shifted(resources.files("engine").joinpath("sample", name).read_bytes(), shift)


def _commit(
    files: Files, repository: Repository, past: Past | None, shift: timedelta, report: InitialiseReport
) -> None:
    """Commits everything in the folder, in one commit, or for the sample in those of its month.

    In a repository that has commits already, the rest of the folder is the person's work in progress, so only
    the starter files are committed. If that fails, the sample's old conversations stay, because nothing else
    holds them.
    """
    is_first = not repository.has_commits
    paths = _everything(files.workspace) if is_first else _uncommitted_starters(files, repository)
    try:
        if past is None:
            revision = repository.commit(paths, commit_message("maintenance", "a new memory"))
            if revision:
                what = "the first commit" if is_first else "a commit of the starter files"
                report.lines.append(f"{what}, {revision[:8]}")
            return
        from engine.workspace.sample_month import month_of  # noqa: PLC0415 — only for the sample
        from engine.workspace.sample_past import remove_reclaimed  # noqa: PLC0415 — only for the sample

        month = month_of(files, paths, past, _sample_data("month.json", shift))
        revision = repository.begin(month)
        remove_reclaimed(files, past)
        count, since = sum(not commit.branch for commit in month), month[0].at.date()
        report.lines.append(f"its history: {count} commits since {since}, up to {revision[:8]}")
    except RepositoryError as error:
        hint = error.hint or "nothing was committed; fix it and run init again"
        report.problems.append(Problem(error.where, 0, error.what, hint, "warning"))


def _everything(workspace: Workspace) -> list[str]:
    return [
        workspace.relative(path)
        for path in sorted(workspace.root.rglob("*"))
        if path.is_file()
        and ".git" not in path.parts
        and not path.is_relative_to(workspace.scratch)
        and not inner(workspace.root, path.relative_to(workspace.root).parts)
    ]


def _uncommitted_starters(files: Files, repository: Repository) -> list[str]:
    """The starter files that the newest commit does not contain."""
    committed = set(repository.files("HEAD"))
    starters = [path for path, _ in _tree("starter/workspace")]
    return [each for each in starters if each not in committed and files.workspace.holds(each)]
