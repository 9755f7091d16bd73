"""Which parts of a conversation are passages, and the words that they share with another session."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

from engine.search import chunks
from engine.search.index import SearchIndex
from engine.search.passages import CLOSING, PERSON, is_prose, packed_words, passages, words_of
from engine.search.past import Past, Session, WordFinder, joined
from engine.store.paths import Workspace
from tests.search.conftest import Open
from tests.search.samples import put

pytestmark = pytest.mark.both

FOUND = "The retry loop never stops because the backoff resets its counter on every timeout it sees."
ASKED = "Why does the harbour feed hang for minutes after the tide service restarts at night?"
CODE = "```python\nwhile True:\n    retry(backoff.reset(), counter=0)\n```"
PATH = "raw/conversations/2031/02/03/0900-ses_1-feed.md"


def transcript(*turns: tuple[str, str]) -> str:
    body = "".join(f"\n## 09:{number:02} — {who}\n\n{text}\n" for number, (who, text) in enumerate(turns))
    return f"---\nsession_id: ses_1\nstarted: 2031-02-03T09:00:00Z\n---\n\n# Feed\n{body}"


def cut(*turns: tuple[str, str]) -> list[tuple[str, int]]:
    """The passages of a conversation, with their flags."""
    pieces = chunks.split(transcript(*turns).encode(), PATH, "conversation").pieces
    return [
        ("\n".join(pieces[each.position].chunk.text.split("\n")[each.first : each.last + 1]), each.flags)
        for each in passages(pieces)
    ]


def test_the_message_and_the_end_of_the_reply_are_passages() -> None:
    reply = (
        f"Let me look at the feed first, and at its log.\n\n> [tool:Bash] tail feed.log → timeout\n\n{FOUND}"
    )
    assert cut(("user", ASKED), ("agent", reply)) == [(ASKED, PERSON), (FOUND, CLOSING)]


def test_only_the_last_reply_closes_a_session() -> None:
    done = "Fixed: the backoff keeps its counter now, and the test for it fails without the change."
    found = cut(
        ("user", ASKED), ("agent", FOUND), ("user", "Then please mend it, with a test"), ("agent", done)
    )
    assert found == [(ASKED, PERSON), (FOUND, 0), (done, CLOSING)]


@pytest.mark.parametrize(
    "text",
    [
        CODE,
        "| file | lines |\n|---|---|\n| feed.py | 120 |\n| tide.py | 80 |",
        "src/feed.py src/tide.py src/harbour/map.py tests/test_feed.py docs/feed.md",
        "Step 1\nBuilding feed\nBuilt: ok\nRunning\nDone in 3 s\nAll well here",
        "This session is being continued from a previous conversation that ran out of context.",
        "ok, do it",
    ],
)
def test_what_is_no_prose_of_the_person_is_no_passage(text: str) -> None:
    assert cut(("user", text), ("agent", FOUND)) == [(FOUND, CLOSING)]


def test_code_within_a_reply_is_left_out() -> None:
    found = cut(("agent", f"{FOUND}\n\n{CODE}\n\n{FOUND.replace('retry', 'read')}"))
    assert [text for text, _ in found] == [FOUND, FOUND.replace("retry", "read")]


def test_short_paragraphs_are_joined_and_long_ones_cut_between_lines() -> None:
    short = "\n\n".join(
        f"{number} is the harbour in which nobody ever waited for a tide." for number in range(3)
    )
    assert [text for text, _ in cut(("user", short))] == [short]
    line = "Nobody in this harbour ever waited for a tide, as far as the books go back."
    texts = [text for text, _ in cut(("user", "\n".join([line] * 40)))]
    assert len(texts) > 2 and all(len(text) <= 1_100 for text in texts)
    assert "\n".join(texts) == "\n".join([line] * 40)


def test_the_lines_of_a_log_that_was_pasted_are_none() -> None:
    log = "2026-03-04T22:52:32.7560978Z libtide is already the newest version, set to manually installed."
    assert cut(("user", f"{ASKED}\n{log}\n{log}")) == [(ASKED, PERSON)]


def test_only_the_typed_line_of_a_command_counts() -> None:
    command = f"/review the harbour feed for races and leaks, please\n\n{FOUND}"
    assert cut(("user [command]", command)) == [(command.split("\n")[0], PERSON)]


def test_words_are_names_and_their_parts_in_any_script() -> None:
    assert words_of("cli/State.go:12 uses `retry_count`") == {
        *("cli/state.go", "cli", "state", "uses", "retry_count", "retry", "count")
    }
    assert words_of("潮汐服务超时") >= {"潮汐", "服务", "超时"}
    assert is_prose("潮汐服务每天晚上重启之后都会超时好几分钟。")
    assert packed_words("bee ant bee") == packed_words("ant bee")


def test_a_word_is_found_among_many_even_if_its_lowest_bits_are_another_ones() -> None:
    words = numpy.array([5, 7, 5 + (1 << 18), 9], dtype=numpy.uint32)
    at, which = WordFinder(numpy.array([5, 9], dtype=numpy.uint32)).found(words)
    assert (at.tolist(), which.tolist()) == ([0, 3], [0, 1])
    assert len(WordFinder(numpy.zeros(0, numpy.uint32)).found(words)[0]) == 0


def read(index: SearchIndex) -> Past:
    past = index.past()
    assert past.passages.shape[1] == 5
    return past


def contents(past: Past) -> list[tuple[str, int, list[int], list[int], list[int]]]:
    return [
        (each.path, each.day, each.words.tolist(), each.lengths.tolist(), each.spoken.tolist())
        for each in past.sessions
    ]


def test_the_past_follows_the_files(workspace: Workspace, open_index: Open) -> None:
    index = open_index(workspace)
    other = PATH.replace("/03/", "/01/").replace("ses_1", "ses_0")
    put(workspace, PATH, transcript(("user", ASKED), ("agent", FOUND)))
    put(workspace, other, transcript(("user", FOUND)))
    put(workspace, "knowledge/facts.md", f"# Facts\n\n{FOUND}\n")
    index.refresh()
    past = read(index)
    assert [each.path for each in past.sessions] == [other, PATH], "oldest first, and conversations only"
    assert read(index) is past
    put(workspace, PATH, transcript(("user", ASKED), ("agent", FOUND), ("user", f"{ASKED} And the map?")))
    (workspace.root / other).unlink()
    index.refresh()
    grown = read(index)
    assert [len(each.lengths) for each in grown.sessions] == [3]
    assert contents(grown) == contents(read(open_index(workspace))), "as if read anew"
    rows = index.turns(grown.sessions[0].file, int(grown.passages[1][1]))
    assert [row[5] for row in rows] == [FOUND]


def test_without_an_index_there_is_no_past(workspace: Workspace, open_index: Open) -> None:
    assert not open_index(workspace).past().sessions
    assert not joined([]).sessions


def test_sessions_are_ordered_by_day_then_path(tmp_path: Path) -> None:
    def session(path: str, day: int) -> Session:
        words = numpy.array([1], dtype=numpy.uint32)
        none = numpy.zeros(0, numpy.int32)
        return Session(1, path, day, words, none.reshape(0, 4), none, words[:0])

    past = joined([session("b", 2), session("a", 2), session("c", 1)])
    assert [each.path for each in past.sessions] == ["c", "a", "b"]
    assert past.owners.tolist() == [0, 1, 2]
    assert past.place_of("a") == 1 and past.place_of("d") is None


def test_another_persons_conversation_tells_nothing(workspace: Workspace, open_index: Open) -> None:
    text = transcript(("user", ASKED), ("agent", FOUND))
    put(
        workspace,
        PATH,
        text.replace("session_id: ses_1\n", "session_id: ses_1\nauthor: Ann <ann@example.org>\n"),
    )
    index = open_index(workspace)
    index.refresh()
    (session,) = index.past().sessions
    assert not len(session.words) and not len(session.lengths)
    assert index.search("tide service backoff", use_vectors=False), "it is still found"
