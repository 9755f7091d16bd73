"""The check of a workspace: a repeated message, the latest recorded turns, and later edits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from engine.context.compiled import Compiled
from engine.errors import AutopoiesisError
from engine.stability.check import Check, check, repeat
from tests.stability.conftest import DIGEST, ENTRY, MEMORY, SOUL, Desk


def checked(
    desk: Desk, *, discussion: str | None = None, last: int = 10, there: Callable[[], Compiled] | None = None
) -> Check:
    return check(desk.compile, there or desk.compile, desk.log, desk.files, discussion=discussion, last=last)


def test_a_workspace_without_a_log_can_be_checked(desk: Desk) -> None:
    found = checked(desk)
    assert found.repeat.equal and found.repeat.bytes == len(desk.compile().text.encode())
    assert (found.discussion, found.turns, found.used, found.since) == (None, (), None, None)
    assert found.prefix.sections == 4 and len(found.prefix.boundaries) == 3
    assert [tally.ttl_s for tally in found.misses] == [300, 3600]


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
    assert (third.source, third.line, third.after) == (MEMORY, 3, "- another")
    assert found.since is None and found.used == found.turns[-1]


def test_the_first_listed_turn_is_compared_too(desk: Desk) -> None:
    for number in range(4):
        desk.write(DIGEST, f"- digest {number}\n")
        desk.turn()
    found = checked(desk, last=2)
    assert [turn.found.after for turn in found.turns if turn.found] == ["- digest 2", "- digest 3"]


def test_an_edit_since_the_last_turn_is_reported(desk: Desk) -> None:
    desk.turn()
    desk.write(ENTRY, "---\nname: gauges\ntags: [x]\ndescription: about pumps\n---\nText.\n")
    since = checked(desk).since
    assert since is not None
    assert (since.what, since.source, since.line) == ("changed", ENTRY, 4)


def test_the_session_can_be_given(desk: Desk) -> None:
    desk.turn("ses_a")
    desk.write(SOUL, "I am another.\n")
    desk.turn("ses_b")
    found = checked(desk, discussion="ses_a")
    assert len(found.turns) == 1 and found.since is not None
    assert checked(desk, discussion="ses_c").turns == ()


def test_a_different_prefix_for_the_same_message_is_a_defect(desk: Desk) -> None:
    one = desk.compile()
    desk.write(SOUL, "---\ntype: identity\n---\n\nI am.\nIt is 8:01.\n")
    other = desk.compile()
    found = repeat(one, other)
    assert (found.equal, found.in_prefix, found.layer, found.name) == (False, True, 5, "persona")
    assert (found.label, found.source, found.diff) == (
        "identity:SOUL.md",
        SOUL,
        ("-I answer.", "+It is 8:01."),
    )
    assert one.text.encode()[: found.byte] == other.text.encode()[: found.byte]


def test_a_difference_after_the_prefix_is_reported_too(desk: Desk) -> None:
    found = repeat(desk.compile("Hello"), desk.compile("Hullo"))
    assert (found.equal, found.in_prefix, found.layer, found.name) == (False, False, 12, "message")
    assert found.diff[-2:] == ("-Hello", "+Hullo")


def test_the_other_process_is_blamed_only_if_no_file_changed(desk: Desk) -> None:
    def edited() -> Compiled:
        desk.write(SOUL, "I was edited in between.\n")
        return desk.compile()

    assert checked(desk, there=edited).repeat.equal
    strange = replace(desk.compile(), text="something else")
    assert not checked(desk, there=lambda: strange).repeat.equal


def test_constantly_changing_files_are_not_a_defect(desk: Desk) -> None:
    numbers: Iterator[int] = iter(range(99))

    def edited() -> Compiled:
        desk.write(SOUL, f"Edit {next(numbers)}.\n")
        return desk.compile()

    # In three attempts, the second prompt differs and the first cannot be reproduced.
    with pytest.raises(AutopoiesisError, match="changed while compiling the prompt"):
        checked(desk, there=edited)
