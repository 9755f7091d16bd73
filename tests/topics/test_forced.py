"""Topics switched on or off by hand, and the file that stores the choice."""

from __future__ import annotations

import pytest

from engine.errors import ReadOnly, TopicError
from engine.store import faults
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.topics.forced import STATE_FILE
from engine.topics.library import TopicLibrary
from tests.topics.conftest import Write

TOPIC = "---\ntype: topic\ntriggers: [{type: url}]\n---\nGo.\n"


def opened(workspace: Workspace, *, read_only: bool = False) -> TopicLibrary:
    library = TopicLibrary(workspace, Files(workspace, read_only=read_only))
    library.load()
    return library


def state_of(library: TopicLibrary, name: str) -> bool | None:
    found = library.get(name)
    assert found is not None
    return found.forced


@pytest.mark.parametrize("on", [True, False])
def test_a_choice_persists_across_processes(on: bool, workspace: Workspace, write: Write) -> None:
    write("topics/a.md", TOPIC)
    library = opened(workspace)
    assert state_of(library, "a") is None
    assert library.force("a", on).forced is on
    assert state_of(library, "a") is on
    assert state_of(opened(workspace), "a") is on


def test_withdrawing_a_choice_removes_the_file(workspace: Workspace, write: Write) -> None:
    write("topics/a.md", TOPIC)
    library = opened(workspace)
    library.force("a", False)
    library.force("a", None)
    assert state_of(library, "a") is None
    assert not (workspace.root / STATE_FILE).exists()


@pytest.mark.parametrize(
    "name", ["on", "0123", 'a "b" c', "a: b #c", "größe 漢字", "a\u2028b", "back\\slash", "true"]
)
def test_any_file_name_survives_the_round_trip(name: str, workspace: Workspace, write: Write) -> None:
    write(f"topics/{name}.md", TOPIC)
    write("topics/other.md", TOPIC)
    opened(workspace).force(name, True)
    opened(workspace).force("other", False)
    again = opened(workspace)
    assert (state_of(again, name), state_of(again, "other")) == (True, False)
    assert again.problems == ()


def test_a_choice_by_another_process_is_kept_and_noticed(workspace: Workspace, write: Write) -> None:
    write("topics/a.md", TOPIC)
    write("topics/b.md", TOPIC)
    one, two = opened(workspace), opened(workspace)
    one.force("a", True)
    two.force("b", False)
    assert one.refresh([STATE_FILE]).changed == ("b",)
    assert (state_of(one, "a"), state_of(one, "b")) == (True, False)


def test_the_choice_for_a_removed_topic_is_kept(workspace: Workspace, write: Write) -> None:
    path = write("topics/a.md", TOPIC)
    write("topics/b.md", TOPIC)
    library = opened(workspace)
    library.force("a", False)
    path.unlink()
    library.refresh(["topics/a.md"])
    library.force("b", True)
    write("topics/a.md", TOPIC)
    library.refresh(["topics/a.md"])
    assert state_of(library, "a") is False


def test_an_unknown_topic_is_refused_with_a_suggestion(workspace: Workspace, write: Write) -> None:
    write("topics/email-triage.md", TOPIC)
    with pytest.raises(TopicError, match="did you mean email-triage"):
        opened(workspace).force("email-triag", True)


@pytest.mark.parametrize("content", ["forced: [", "forced: text", "forced:\n  a: maybe\n", "\ufeff\x00"])
def test_an_unreadable_state_file_is_reported_and_never_overwritten(
    content: str, workspace: Workspace, write: Write
) -> None:
    write("topics/a.md", TOPIC)
    path = write(STATE_FILE, content)
    library = opened(workspace)
    assert state_of(library, "a") is None
    assert library.problems[0].path == STATE_FILE
    with pytest.raises(TopicError):
        library.force("a", True)
    assert path.read_text(encoding="utf-8") == content


def test_a_read_only_workspace_refuses_and_changes_nothing(workspace: Workspace, write: Write) -> None:
    write("topics/a.md", TOPIC)
    library = opened(workspace, read_only=True)
    with pytest.raises(ReadOnly):
        library.force("a", True)
    assert state_of(library, "a") is None


def test_the_digest_of_the_topics_does_not_depend_on_the_choice(workspace: Workspace, write: Write) -> None:
    write("topics/a.md", TOPIC)
    library = opened(workspace)
    version = library.version
    library.force("a", True)
    assert library.version == version


def test_what_an_editor_removes_meanwhile_stays_removed(workspace: Workspace, write: Write) -> None:
    for name in ("a", "b"):
        write(f"topics/{name}.md", TOPIC)
    library = opened(workspace)
    library.force("a", True)
    path = workspace.root / STATE_FILE
    saves = iter([path.read_text().replace('  "a": on\n', '  "c": off\n')])

    def save() -> None:
        for text in saves:
            aside = workspace.root / "saved"
            aside.write_text(text)
            aside.replace(path)

    with faults.trip("replace:rename", save):
        library.force("b", True)
    assert '"a"' not in path.read_text() and '"c": off' in path.read_text()
    assert (state_of(library, "a"), state_of(library, "b")) == (None, True)
