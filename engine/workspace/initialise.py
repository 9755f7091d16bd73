"""Making a workspace (design 2): folders, settings, git with its hooks, and the sample on request."""

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
from engine.redaction.commits import refuse_secrets
from engine.settings import file as config_file
from engine.settings import trust
from engine.store.commit_message import commit_message
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
"""The day that the sample's own dates call today."""

FOLDERS = (
    "raw/conversations", "conversations", "knowledge/identity", "knowledge/memory", "knowledge/journal",
    "knowledge/projects", "knowledge/people", "knowledge/procedures", "knowledge/reference",
    "knowledge/files", "knowledge/prompts", "topics", "presets", "archive", "attachments", "logs", "scratch",
)  # fmt: skip

_ISO_DATE = re.compile(r"(?<![0-9])2026-0[5-7]-[0-3][0-9](?![0-9])")
_PATH_DATE = re.compile(r"(?<![0-9])2026/0[5-7]/[0-3][0-9](?![0-9])")


@dataclass
class InitialiseReport:
    """What was made, in sentences, and what stood in the way."""

    root: Path
    lines: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def initialise(root: Path, *, sample: bool = False, today: date | None = None) -> InitialiseReport:
    """Makes a workspace; what is already there stays as it is.

    Args:
        sample: Fill it with the sample workspace, its dates moved so that its last day is ``today``.
        today: The sample's last day; today when left out, or yesterday where it is so early that the sample
            would speak of the future.

    Raises:
        WorkspaceError: A sample was asked for in a folder that already holds a workspace.
        WriteFailed: The disk refused.
    """
    root = root.expanduser().absolute()
    is_new = not (root / config_file.CONFIG_FILE).exists()
    if sample and root.exists() and any(root.iterdir()):
        raise WorkspaceError(
            "the folder is not empty", where=str(root), hint="give the sample a folder of its own"
        )
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkspaceError(f"cannot be made ({error.strerror})", where=str(root)) from error
    workspace = Workspace(root.resolve())
    files = Files(workspace)
    report = InitialiseReport(workspace.root)
    with reported(str(root)):
        for parts in [workspace.resolve(folder).relative_to(workspace.root).parts for folder in FOLDERS]:
            with open_folder(workspace.root, parts, create=True):
                pass

    repository = Repository(workspace, guard=refuse_secrets, private=lambda: encrypts(files))
    state = repository.state()
    if state.kind == "none":
        repository.init()
        state = repository.state()
        report.lines.append("a git repository, so that every change can be seen and undone")

    # The sample's last day ends at 07:31 UTC; nothing in it may lie in the future.
    shift = (today or (datetime.now(UTC) - timedelta(hours=7, minutes=31)).date()) - SAMPLE_LAST_DAY
    if sample:
        made = [
            files.create(shift_dates(path, shift), _shifted(source.read_bytes(), shift))
            for path, source in _tree("sample/workspace")
        ]
        report.lines.append(f"the sample: {sum(made)} files, a month of one agent's work")
    # The sample has memories of its own; of the starter files it needs only those for git.
    made = [
        files.create(path, source.read_bytes())
        for path, source in _tree("starter/workspace")
        if not sample or path.startswith(".")
    ]
    if any(made):
        report.lines.append(f"{sum(made)} starter files")
    if (workspace.root / ".git").exists():
        lines, problems = hooks.install(files, repository)
        report.lines.extend(lines)
        report.problems.extend(problems)

    past = _past(files, shift) if sample else None
    if state.kind == "ok":
        _commit(files, repository, past, shift, report)
    else:
        report.problems.append(
            Problem(path=".git", line=0, what=f"nothing was committed: {state.why}", severity="warning")
        )
    if is_new:
        trust.trust(workspace.root, config_file.read(files)[0])
    report.lines.insert(0, f"{workspace.root} is a workspace now")
    report.lines.append(f"next: autopoiesis {root}")
    return report


def renew_hooks(root: Path) -> InitialiseReport:
    """Puts the hooks of a workspace back, to be run by this interpreter; every other file stays as it is.

    Raises:
        WorkspaceError: The folder is not a workspace.
        WriteFailed: The disk refused.
    """
    workspace = Workspace.open(root)
    report = InitialiseReport(workspace.root)
    if not (workspace.root / ".git").exists():
        raise WorkspaceError("is no git repository, so there are no hooks", where=str(workspace.root))
    lines, report.problems = hooks.install(Files(workspace), Repository(workspace))
    if not report.problems:
        report.lines = lines or [f"git hooks in {hooks.FOLDER}/ are in order"]
        report.lines.append(f"commits made by hand are checked by {sys.executable or 'autopoiesis on PATH'}")
    return report


def _tree(folder: str) -> Iterator[tuple[str, Traversable]]:
    """Every file of a folder of package data, with its path below that folder, in a fixed order."""

    def walk(node: Traversable, above: str) -> Iterator[tuple[str, Traversable]]:
        for child in sorted(node.iterdir(), key=lambda item: item.name):
            if child.name == "__pycache__":
                continue
            # Under its real name, a .gitignore would already work where the package lies.
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
    """Moves every date of the sample's months, ``YYYY-MM-DD`` and ``YYYY/MM/DD``, by whole days."""
    if not shift:
        return text

    def iso(match: re.Match[str]) -> str:
        return (date.fromisoformat(match.group()) + shift).isoformat()

    def path(match: re.Match[str]) -> str:
        return (date.fromisoformat(match.group().replace("/", "-")) + shift).strftime("%Y/%m/%d")

    return _PATH_DATE.sub(path, _ISO_DATE.sub(iso, text))


def replay_sample(files: Files, stop: threading.Event, speed: float = 1.0) -> None:
    """Plays the sample's recorded conversation into ``conversations/``, until done or stopped.

    A speed of 1 is a human pace. Set ``stop`` to end the replay early.
    """
    data = resources.files("engine").joinpath("sample", "replay.md").read_bytes()
    # The conversation speaks of what the workspace holds, so its dates move as far as those did.
    journals = sorted(path.stem for path in files.workspace.journal.glob("????-??-??.md"))
    shift = date.fromisoformat(journals[-1]) - SAMPLE_LAST_DAY if journals else timedelta()
    source = parse(_shifted(data, shift), "replay.md")
    replay(files, source, "conversations/live-demo.md", stop, pace=human_pace(speed))


def _past(files: Files, shift: timedelta) -> Past:
    """Puts back what the sample's ledger knows."""
    from engine.workspace.sample_past import put_back  # noqa: PLC0415 — only the sample has a past

    texts = {
        shift_dates(name, shift): _shifted(source.read_bytes(), shift)
        for name, source in _tree("sample/reclaimed")
    }
    return put_back(files, _told("past.json", shift), texts)


def _told(name: str, shift: timedelta) -> bytes:
    """What is told of the sample's past."""
    return _shifted(resources.files("engine").joinpath("sample", name).read_bytes(), shift)


def _commit(
    files: Files, repository: Repository, past: Past | None, shift: timedelta, report: InitialiseReport
) -> None:
    """Commits all that was made: in one commit or, of the sample, in those of its month. Where that fails its
    old conversations stay: nothing else has them. What was done, or stood in the way, is added to the report.
    """
    workspace = files.workspace
    paths = [
        workspace.relative(path)
        for path in sorted(workspace.root.rglob("*"))
        if path.is_file()
        and ".git" not in path.parts
        and not path.is_relative_to(workspace.scratch)
        and not inner(workspace.root, path.relative_to(workspace.root).parts)
    ]
    try:
        if past is None:
            revision = repository.commit(paths, commit_message("maintenance", "a new memory"))
            if revision:
                report.lines.append(f"the first commit, {revision[:8]}")
            return
        from engine.workspace.sample_month import month_of  # noqa: PLC0415 — only the sample has a past
        from engine.workspace.sample_past import take_out  # noqa: PLC0415

        month = month_of(files, paths, past, _told("month.json", shift))
        revision = repository.begin(month)
        take_out(files, past)
        count, since = sum(not commit.branch for commit in month), month[0].at.date()
        report.lines.append(f"its history: {count} commits since {since}, up to {revision[:8]}")
    except RepositoryError as error:
        hint = error.hint or "nothing else was committed either; mend it and run init again"
        report.problems.append(Problem(error.where, 0, error.what, hint, "warning"))
