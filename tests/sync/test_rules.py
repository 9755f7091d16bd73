"""Two versions of the rules file are merged rule by rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.rules.rulebook import NEW, PATH, Rule, Rulebook, bytes_of, rule_id, rules_in
from engine.sync import rules
from engine.sync.contents import kind_of
from engine.sync.model import Side
from tests.cases import each_case

TEXT = "please open a draft PR first"
RULE = Rule(rule_id(TEXT), TEXT, "waiting", told=2, last="2026-06-01")
OTHER = Rule("aaaaaa1", "never amend commits", "in force", told=3, last="2026-06-02")
BASE = (RULE, OTHER)


def file(*found: Rule, text: str = NEW) -> bytes:
    return bytes_of(Rulebook(found, text))


def day(on: str, data: bytes) -> tuple[str, bytes]:
    return on, data


def both(ours: bytes, theirs: bytes, *, take: Side | None = None, days: tuple[str, str] = ("", "")) -> bytes:
    """The merge of two versions that were committed on the given days."""
    made = rules.merged(
        file(*BASE), ours, theirs, take, lambda: ([day(days[0], ours)], [day(days[1], theirs)])
    )
    assert take or not made.hunks
    return made.data


def rule(data: bytes, name: str = RULE.id) -> Rule | None:
    return next((each for each in rules_in(data).rules if each.id == name), None)


def changed(**values: object) -> bytes:
    """The base with one rule changed."""
    return file(replace(RULE, **values), OTHER)  # type: ignore[arg-type]


ACCEPTED = changed(state="in force", accepted="2026-06-10")
TURNED_DOWN = changed(state="turned down")
RESTING = changed(state="resting")
COUNTED = changed(told=5, last="2026-06-11")
UPGRADED = changed(state="in force", told=5, last="2026-06-11")
ENDED = changed(state="replaced", ended="2026-06-11")
CONTRADICTED = changed(state="replaced", by=OTHER.id)
MERGED = file(replace(RULE, state="replaced", by=OTHER.id), replace(OTHER, also=(RULE.id,), told=5))
DELETED = file(OTHER)

DECISIONS = {"accepted": ACCEPTED, "turned down": TURNED_DOWN, "rests": RESTING, "merged": MERGED}
BY_PROGRAM = {
    "nothing": file(*BASE), "counted": COUNTED, "upgraded": UPGRADED, "ended": ENDED,
    "contradicted": CONTRADICTED,
}  # fmt: skip


def test_rules_added_on_both_sides_are_kept() -> None:
    mine, other = (
        Rule("bbbbbb1", "use tabs", "waiting"),
        Rule("bbbbbb2", "metric units", "in force", own=True),
    )
    found = rules_in(both(file(*BASE, mine), file(*BASE, other))).rules
    assert {each.id for each in found} == {RULE.id, OTHER.id, mine.id, other.id}
    assert kind_of(PATH) == "rules"


@pytest.mark.parametrize("decision", DECISIONS)
@pytest.mark.parametrize("act", BY_PROGRAM)
def test_a_decision_wins_over_what_the_program_did(decision: str, act: str) -> None:
    decided, by_program = DECISIONS[decision], BY_PROGRAM[act]
    wanted, counted = rule(decided), rule(by_program)
    assert wanted and counted
    for ours, theirs in ((decided, by_program), (by_program, decided)):
        found = rule(both(ours, theirs))
        assert found is not None
        assert (found.state, found.accepted, found.by) == (wanted.state, wanted.accepted, wanted.by)
        assert (found.told, found.last) == (counted.told, counted.last)


@each_case("act", BY_PROGRAM)
def test_a_deleted_rule_stays_deleted_whatever_the_program_did(act: str) -> None:
    assert rule(both(DELETED, BY_PROGRAM[act])) is None
    assert rule(both(BY_PROGRAM[act], DELETED)) is None


@each_case("decision", DECISIONS)
def test_a_rule_deleted_on_one_side_and_decided_about_on_the_other_stays_as_decided(decision: str) -> None:
    for ours, theirs in ((DELETED, DECISIONS[decision]), (DECISIONS[decision], DELETED)):
        assert rule(both(ours, theirs)) == rule(DECISIONS[decision])


@pytest.mark.parametrize("first", DECISIONS)
@pytest.mark.parametrize("second", DECISIONS)
def test_of_two_decisions_the_later_wins_and_of_the_same_day_the_one_that_tells_less(
    first: str, second: str
) -> None:
    earlier, later = DECISIONS[first], DECISIONS[second]
    wanted = rule(later)
    assert wanted is not None
    days = "2026-06-10", "2026-06-11"
    for found in (rule(both(earlier, later, days=days)), rule(both(later, earlier, days=days[::-1]))):
        assert found is not None and (found.state, found.by) == (wanted.state, wanted.by)
    least = max((first, second), key=["accepted", "rests", "merged", "turned down"].index)
    wanted = rule(DECISIONS[least])
    for same in (("", ""), ("2026-06-10", "2026-06-10")):
        found = rule(both(earlier, later, days=same))
        assert found is not None and wanted is not None
        assert (found.state, found.by) == (wanted.state, wanted.by)


def test_a_later_day_counts_only_from_the_commit_that_decided() -> None:
    late_note = file(replace(RULE, state="in force", accepted="2026-06-03"), OTHER, text=f"{NEW}\nA note.\n")
    made = rules.merged(
        file(*BASE),
        late_note,
        TURNED_DOWN,
        history=lambda: (
            [("2026-06-03", changed(state="in force", accepted="2026-06-03")), ("2026-06-20", late_note)],
            [("2026-06-05", TURNED_DOWN)],
        ),
    )
    found = rule(made.data)
    assert found is not None and found.state == "turned down" and b"A note." in made.data


def test_wording_scope_and_acceptance_of_different_sides_are_combined() -> None:
    reworded = changed(text="draft PRs only", own=True, state="in force", accepted="2026-06-09")
    narrowed = changed(tool="Bash", own=True)
    found = rule(both(reworded, narrowed))
    assert found == replace(
        RULE, text="draft PRs only", own=True, state="in force", accepted="2026-06-09", tool="Bash"
    )
    assert rule(both(narrowed, TURNED_DOWN)) == replace(RULE, tool="Bash", own=True, state="turned down")


def test_a_rule_reworded_on_both_sides_is_a_conflict_about_that_rule_alone() -> None:
    mine, other = (
        Rule("bbbbbb1", "use tabs", "waiting"),
        Rule("bbbbbb2", "metric units", "in force", own=True),
    )
    ours = file(replace(RULE, text="drafts first", own=True), OTHER, mine)
    theirs = file(replace(RULE, text="no PR but a draft", own=True), OTHER, other)
    made = rules.merged(file(*BASE), ours, theirs)
    (hunk,) = made.hunks
    assert ("drafts first" in hunk.ours, "no PR but" in hunk.theirs, TEXT in hunk.before) == (
        True,
        True,
        True,
    )
    assert hunk.where == "Waiting for your decision"
    for take, text in (("ours", "drafts first"), ("theirs", "no PR but a draft")):
        found = rules_in(both(ours, theirs, take=take)).rules  # type: ignore[arg-type]
        assert {each.text for each in found} == {text, OTHER.text, mine.text, other.text}


def test_words_of_the_person_win_over_those_of_the_program() -> None:
    by_hand = changed(text="drafts, please")  # in an editor: the counts are as they were
    learned = changed(text="open a draft PR", told=4, last="2026-06-09")
    for ours, theirs in ((by_hand, learned), (learned, by_hand), (by_hand, ACCEPTED), (ACCEPTED, by_hand)):
        found = rule(both(ours, theirs))
        assert found is not None and found.text == "drafts, please"
    for ours, theirs in ((ACCEPTED, learned), (learned, ACCEPTED)):
        found = rule(both(ours, theirs))
        assert found is not None and (found.text, found.told) == (TEXT, 4), "the accepted wording stays"


def test_rules_merged_into_each_other_do_not_both_vanish() -> None:
    other_way = file(replace(RULE, also=(OTHER.id,), told=5), replace(OTHER, state="replaced", by=RULE.id))
    for ours, theirs in ((MERGED, other_way), (other_way, MERGED)):
        found = rules_in(both(ours, theirs)).rules
        (kept,) = (each for each in found if each.counts)
        (gone,) = (each for each in found if not each.counts)
        assert (gone.state, gone.by, kept.also) == ("replaced", kept.id, (gone.id,))


def test_what_was_merged_into_a_merged_rule_counts_for_the_last_one() -> None:
    third = Rule("cccccc1", "drafts", "waiting", told=1)
    base = file(RULE, OTHER, third)
    ours = file(replace(RULE, state="replaced", by=OTHER.id), replace(OTHER, also=(RULE.id,)), third)
    theirs = file(replace(RULE, also=(third.id,)), OTHER, replace(third, state="replaced", by=RULE.id))
    found = rules.merged(base, ours, theirs).data
    last, middle = rule(found, OTHER.id), rule(found)
    assert last is not None and middle is not None
    assert (set(last.also), middle.also) == ({RULE.id, third.id}, ())


def test_unknown_marks_and_free_text_of_both_sides_survive() -> None:
    def marked(more: str, note: str) -> bytes:
        data = file(*BASE, text=f"{NEW}\n## In force\n\n{note}\n\n## My notes\n\n- {note} noted\n").decode()
        return data.replace("told=2 last=2026-06-01", f"told=2 last=2026-06-01{more}").encode()

    made = both(marked(" shade=blue", "Of ours."), marked(" weight=3", "Of theirs."))
    line = next(line for line in made.decode().split("\n") if TEXT in line)
    assert line == f"- {TEXT} {{#{RULE.id} told=2 last=2026-06-01 shade=blue weight=3}}"
    for text in ("\nOf ours.\n", "\nOf theirs.\n", "- Of ours. noted\n", "- Of theirs. noted\n"):
        assert text in made.decode()
    assert [each.id for each in rules_in(made).rules] == [OTHER.id, RULE.id]


def test_the_same_rule_learned_on_both_sides_is_there_once() -> None:
    mine = Rule("bbbbbb1", "use tabs", "waiting", told=1, last="2026-06-05")
    other = replace(mine, told=2, last="2026-06-04", state="in force", accepted="2026-06-06")
    found = both(file(*BASE, mine), file(*BASE, other))
    assert rule(found, mine.id) == replace(other, last="2026-06-05")
    assert found.decode().count("bbbbbb1") == 1


def test_line_ends_are_kept() -> None:
    mine, other = Rule("bbbbbb1", "use tabs", "waiting"), Rule("bbbbbb2", "metric units", "in force")
    ours, theirs = file(*BASE, mine).replace(b"\n", b"\r\n"), file(*BASE, other)
    made = rules.merged(file(*BASE).replace(b"\n", b"\r\n"), ours, theirs.replace(b"\n", b"\r\n"))
    assert made.data.count(b"\n") == made.data.count(b"\r\n")
    assert len(rules_in(made.data).rules) == 4


def test_a_rule_the_program_revived_or_put_in_force_later_stays_turned_down() -> None:
    resting = replace(RULE, state="resting")
    turned_down, revived = replace(RULE, state="turned down"), replace(RULE, state="in force", told=3)
    for before in (resting, RULE):
        made = rules.merged(
            file(before),
            file(revived),
            file(turned_down),
            history=lambda: ([("2026-06-20", file(revived))], [("2026-06-05", file(turned_down))]),
        )
        assert rule(made.data) == replace(turned_down, told=3)


def test_a_line_edited_by_hand_after_the_program_had_counted_survives_a_deletion() -> None:
    by_hand = changed(text="drafts, please", told=4, last="2026-06-09")
    history: rules.Histories = ([("2026-06-09", changed(told=4, last="2026-06-09"))], [])
    made = rules.merged(file(*BASE), by_hand, DELETED, history=lambda: history)
    found = rule(made.data)
    assert found is not None and found.text == "drafts, please"
    learned = rules.merged(file(*BASE), by_hand, DELETED)
    assert rule(learned.data) is None, "the program words a rule anew when it counts"


def test_a_rule_that_both_learned_and_one_deleted_stays_deleted_unless_it_was_accepted() -> None:
    learned = Rule("bbbbbb1", "use tabs", "waiting", told=1, last="2026-06-05")
    accepted = replace(learned, state="in force", accepted="2026-06-06")
    past: rules.Versions = [("2026-06-05", file(*BASE, learned))]
    gone = file(*BASE)
    for ours, theirs, history in (
        (learned, None, ([], past)), (None, learned, (past, [])), (accepted, None, ([], past)),
    ):  # fmt: skip
        made = rules.merged(
            gone,
            file(*BASE, ours) if ours else gone,
            file(*BASE, theirs) if theirs else gone,
            history=lambda history=history: history,  # type: ignore[misc]
        )
        assert rule(made.data, learned.id) == (accepted if ours is accepted else None)
