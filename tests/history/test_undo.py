"""Undoing one commit keeps what was learned since and loses nothing on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.errors import AutopoiesisError, RepositoryError
from engine.history.history import History
from engine.history.model import UndoPlan
from engine.store.faults import FAULT_POINTS, fail, trip
from engine.workspace.doctor import examine
from tests.history.conftest import NOW, SESSION, Revision, write
from tests.store.history import commit, git

FACTS = "knowledge/facts.md"
LATER = "2026-06-11T00:00:00Z"


def refusals(plan: UndoPlan) -> list[tuple[str, str]]:
    assert not plan.can_apply
    return [(each.path, each.why) for each in plan.blocked]


def test_an_undo_is_planned_then_applied_and_can_itself_be_undone(history: History, root: Path) -> None:
    before, head = (root / FACTS).read_text(), git(root, "rev-parse", "HEAD")
    plan = history.undo_plan()
    assert (plan.entry.subject, plan.can_apply, plan.passed) == ("maintenance: archived", True, ())
    assert {each.path: (each.diff.added, each.diff.removed, each.after is None) for each in plan.files} == {
        "knowledge/people/odile.md": (3, 0, False),
        "archive/odile.md": (0, 3, True),
        FACTS: (1, 1, False),
    }
    assert "-- Kvalnes has no modem.\n+- Kvalnes has a modem.\n" in plan.files[-1].diff.text
    assert (root / FACTS).read_text() == before and git(root, "rev-parse", "HEAD") == head

    done = history.undo(plan)
    assert "has a modem" in (root / FACTS).read_text()
    assert (root / "knowledge/people/odile.md").is_file() and not (root / "archive/odile.md").exists()
    assert git(root, "status", "--porcelain") == ""
    assert (
        git(root, "log", "-1", "--format=%B") == f"maintenance: undo maintenance: archived\n\nReverts: {head}"
    )
    # The undone commit and the undo itself are skipped: the next undo goes further back.
    further = history.undo_plan()
    assert (further.entry.subject, further.passed) == ("memory: Odile", ())
    again = history.undo_plan(done.revision)
    history.undo(again)
    assert (root / FACTS).read_text() == before
    # The commit is in effect again, so it is the newest that can be undone.
    assert history.undo_plan().entry.revision == head


def test_what_was_learned_since_stays(history: History, root: Path, revision: Revision) -> None:
    write(root, FACTS, "# Facts\n\n- Learned since.\n" + (root / FACTS).read_text()[9:])
    write(root, "knowledge/other.md", "other\n")
    commit(root, "memory: since", LATER)
    git(root, "mv", FACTS, "archive/facts.md")
    commit(root, "maintenance: moved", LATER)
    plan = history.undo_plan(revision("archived"))
    assert [(each.path, each.merged) for each in plan.files if each.merged] == [("archive/facts.md", True)]
    history.undo(plan)
    text = (root / "archive/facts.md").read_text()
    assert "Learned since" in text and "has a modem" in text
    assert not (root / FACTS).exists()


def test_a_refused_undo_gives_the_reason(history: History, root: Path, revision: Revision) -> None:
    learned = revision("what was learned")
    assert refusals(history.undo_plan(learned)) == [(FACTS, "has later changes to the same lines")]
    assert refusals(history.undo_plan(revision("conversation: port"))) == [
        (SESSION, "is a transcript, which is never changed")
    ]
    assert refusals(history.undo_plan(revision("merged"))) == [("", "it is a merge")]
    assert refusals(history.undo_plan(revision("a new memory"))) == [
        ("", "it is the first commit: nothing would be left")
    ]
    write(root, FACTS, (root / FACTS).read_text() + "- being edited\n")
    write(root, "knowledge/people/odile.md", "somebody's\n")
    plan = history.undo_plan(revision("archived"))
    why = "has uncommitted changes"
    assert sorted(refusals(plan)) == [(FACTS, why), ("knowledge/people/odile.md", why)]
    with pytest.raises(RepositoryError, match=why):
        history.undo(plan)
    # Another commit is now the newest that can be undone, and the skipped one is listed.
    other = history.undo_plan()
    assert (other.entry.subject, [each.subject for each in other.passed]) == (
        "memory: Odile", ["maintenance: archived"],
    )  # fmt: skip


def test_an_undo_does_not_restore_a_secret(history: History, root: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    write(root, "knowledge/keys.md", f"# Keys\n\ntoken: {secret}\n")
    commit(root, "memory: keys", LATER)
    write(root, "knowledge/keys.md", "# Keys\n")
    head = commit(root, "memory: without", LATER)
    with pytest.raises(AutopoiesisError, match="looks like a"):
        history.undo(history.undo_plan(head))
    assert (root / "knowledge/keys.md").read_text() == "# Keys\n"
    assert git(root, "rev-parse", "HEAD") == head and git(root, "status", "--porcelain") == ""
    assert not list((root / "scratch/undo").glob("*.json"))


def test_nothing_is_undone_with_a_detached_head_or_during_a_merge(history: History, root: Path) -> None:
    plan = history.undo_plan()
    git(root, "checkout", "-q", "--detach")
    with pytest.raises(RepositoryError, match="HEAD is detached"):
        history.undo(plan)
    git(root, "checkout", "-q", "main")
    (root / ".git/MERGE_HEAD").write_text(git(root, "rev-parse", "side") + "\n")
    with pytest.raises(RepositoryError, match="merge is in progress"):
        history.undo(plan)
    assert git(root, "status", "--porcelain") == ""


def test_an_undo_keeps_the_ledger_and_conversations(history: History, root: Path) -> None:
    write(root, "knowledge/ledger.json", '{"entries": {\n}}\n')
    write(root, "conversations/a.md", "hello\n")
    write(root, FACTS, (root / FACTS).read_text() + "- Harvested.\n")
    commit(root, "memory: harvest of a: 1 fact\n\nConversation: conversations/a.md", LATER)
    plan = history.undo_plan()
    assert [each.path for each in plan.kept] == ["conversations/a.md", "knowledge/ledger.json"]
    history.undo(plan)
    assert (root / "conversations/a.md").is_file() and (root / "knowledge/ledger.json").is_file()
    assert "Harvested" not in (root / FACTS).read_text()


@contextmanager
def at_step(number: int, action: Callable[[], None]) -> Iterator[list[str]]:
    """Runs an action at the n-th fault point reached; yields the fault points reached."""
    taken: list[str] = []

    def reached(point: str) -> None:
        taken.append(point)
        if len(taken) == number:
            action()

    with ExitStack() as armed:
        for point in FAULT_POINTS:
            armed.enter_context(trip(point, partial(reached, point)))
        yield taken


def steps_of_an_undo(history: History, root: Path) -> int:
    with at_step(0, lambda: None) as taken:
        history.undo(history.undo_plan())
    git(root, "reset", "-q", "--hard", "HEAD~1")
    git(root, "clean", "-qfd")
    return len(taken)


def is_unchanged(root: Path, head: str) -> bool:
    return git(root, "rev-parse", "HEAD") == head and "has no modem" in (root / FACTS).read_text()


@pytest.mark.parametrize("stride", [7, pytest.param(1, marks=pytest.mark.thorough)])
def test_a_failed_step_leaves_everything_unchanged(history: History, root: Path, stride: int) -> None:
    head = git(root, "rev-parse", "HEAD")
    for number in range(1, steps_of_an_undo(history, root) + 1, stride):
        with at_step(number, fail(28)) as taken, suppress(AutopoiesisError):
            history.undo(history.undo_plan())
        done = git(root, "log", "-1", "--format=%s").startswith("maintenance: undo")
        assert done or is_unchanged(root, head), taken[number - 1 :]
        assert git(root, "status", "--porcelain") == "", taken[number - 1 :]
        git(root, "reset", "-q", "--hard", head)


def opened(root: Path) -> None:
    """Opens and closes the workbench, which commits the person's changes."""
    with Engine.open(root, clock=lambda: NOW) as engine:
        engine.start()


def committed(root: Path) -> None:
    """Commits, as an open workbench does after another process was killed."""
    with Engine.open(root, clock=lambda: NOW) as engine:
        engine.commits.commit()


def planned(root: Path) -> None:
    with Engine.open(root, clock=lambda: NOW) as engine:
        engine.history.undo_plan(git(root, "rev-parse", "HEAD"))


@pytest.mark.parametrize("next_step", [opened, committed, planned])
@pytest.mark.parametrize("stride", [17, pytest.param(1, marks=pytest.mark.thorough)])
def test_a_killed_undo_is_either_completed_or_not_started(
    history: History, root: Path, stride: int, next_step: Callable[[Path], None]
) -> None:
    class Killed(BaseException):
        pass

    def die() -> None:
        raise Killed

    head, finished = git(root, "rev-parse", "HEAD"), 0
    for number in range(1, steps_of_an_undo(history, root) + 1, stride):
        with at_step(number, die) as taken, suppress(Killed):
            history.undo(history.undo_plan())
        next_step(root)
        done = git(root, "log", "-1", "--format=%s").startswith("maintenance: undo")
        finished += done
        assert done or is_unchanged(root, head), taken[-1]
        assert git(root, "status", "--porcelain", "--", ":!logs") == "", taken[-1]
        assert git(root, "rev-list", "--count", f"{head}..HEAD") == str(int(done)), taken[-1]
        assert not list((root / "scratch/undo").glob("*.json"))
        git(root, "reset", "-q", "--hard", head)
    assert finished > 1


MAIL, MAP = "topics/mail.md", "topics/map.md"


def two_topics(root: Path) -> str:
    """Commits a change of two files, to be undone; returns the commit."""
    write(root, MAIL, "# Mail\n\nof today\n")
    write(root, MAP, "# Map\n\nof today\n")
    commit(root, "memory: two topics", LATER)
    return git(root, "rev-parse", "HEAD")


def test_an_undo_during_which_an_editor_saves_changes_nothing_else(history: History, root: Path) -> None:
    head = two_topics(root)

    def save() -> None:
        if not (root / MAP).read_text().endswith("by hand\n") and "of today" not in (root / MAIL).read_text():
            (root / MAP).write_text("# Map\n\nby hand\n")

    with trip("temp:create", save), trip("remove:unlink", save), pytest.raises(RepositoryError):
        history.undo(history.undo_plan(head))
    planned(root)
    assert "of today" in (root / MAIL).read_text()
    assert (root / MAP).read_text() == "# Map\n\nby hand\n"
    assert git(root, "status", "--porcelain") == f"M {MAP}"
    assert git(root, "rev-parse", "HEAD") == head


@pytest.mark.parametrize("next_step", [opened, committed, planned])
def test_a_killed_undo_is_taken_back_if_a_file_was_edited_since(
    history: History, root: Path, next_step: Callable[[Path], None]
) -> None:
    head = two_topics(root)

    def die() -> None:
        if "of today" not in (root / MAIL).read_text():
            raise KeyboardInterrupt

    with trip("temp:create", die), trip("remove:unlink", die), pytest.raises(KeyboardInterrupt):
        history.undo(history.undo_plan(head))
    assert git(root, "status", "--porcelain") == f"M {MAIL}"
    write(root, MAP, "# Map\n\nby hand\n")
    next_step(root)
    assert "of today" in (root / MAIL).read_text()
    assert (root / MAP).read_text() == "# Map\n\nby hand\n"
    assert git(root, "diff", "--name-only", head, "--", ":!logs") == MAP
    assert not list((root / "scratch/undo").glob("*.json"))


def test_the_doctor_reports_an_interrupted_undo_and_the_next_command_recovers_it(root: Path) -> None:
    journal = root / "scratch/undo/x.json"
    journal.parent.mkdir(parents=True)
    journal.write_text("{}")
    assert "an undo was interrupted" in [each.text for each in examine(root)]
    events: list[str] = []
    with Engine.open(root, read_only=True) as engine:
        engine.recover()
    with Engine.open(root) as engine:
        engine.subscribe(lambda event: events.append(getattr(event, "text", "")))
        engine.recover()
    assert events == ["scratch/undo/x.json: cannot be read; an undo was interrupted: check git status"]
    assert not journal.exists()
