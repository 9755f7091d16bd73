"""The check of a workspace: the latest recorded turns, and later edits."""

from __future__ import annotations

from engine.stability.check import Check, check
from tests.stability.conftest import DIGEST, ENTRY, MEMORY, SOUL, Desk


def checked(desk: Desk, *, discussion: str | None = None, last: int = 10) -> Check:
    return check(desk.compile(), desk.log, discussion=discussion, last=last)


def test_a_workspace_without_a_log_can_be_checked(desk: Desk) -> None:
    found = checked(desk)
    assert (found.discussion, found.turns, found.used, found.since) == (None, (), None, None)
    assert found.prefix.sections == 4 and len(found.prefix.boundaries) == 3


def test_turns_are_compared_with_the_previous_turn(desk: Desk) -> None:
    desk.turn("ses_b")
    desk.turn()
    desk.turn(after=30)
    desk.write(MEMORY, "# Memory\n- a fact\n- another\n")
    desk.turn(after=90)
    found = checked(desk)
    assert found.discussion == "ses_a"
    assert [turn.gap_s for turn in found.turns] == [None, 30, 90]
    first, second, third = (turn.found for turn in found.turns)
    assert first is None and second is None and third is not None
    assert third.source == MEMORY
    assert found.since is None and found.used == found.turns[-1]


def test_the_first_listed_turn_is_compared_too(desk: Desk) -> None:
    for number in range(4):
        desk.write(DIGEST, f"- digest {number}\n")
        desk.turn()
    found = checked(desk, last=2)
    assert [turn.found.source for turn in found.turns if turn.found] == [DIGEST, DIGEST]


def test_an_edit_since_the_last_turn_is_reported(desk: Desk) -> None:
    desk.turn()
    desk.write(ENTRY, "---\nname: gauges\ntags: [x]\ndescription: about pumps\n---\nText.\n")
    since = checked(desk).since
    assert since is not None
    assert since.what == "changed" and since.label.startswith("catalog:")


def test_the_session_can_be_given(desk: Desk) -> None:
    desk.turn("ses_a")
    desk.write(SOUL, "I am another.\n")
    desk.turn("ses_b")
    found = checked(desk, discussion="ses_a")
    assert len(found.turns) == 1 and found.since is not None
    assert checked(desk, discussion="ses_c").turns == ()
