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


def both(ours: bytes, theirs: bytes, *, take: Side | None = None) -> bytes:
    made = rules.merged(file(*BASE), ours, theirs, take)
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
def test_of_two_decisions_the_one_that_tells_less_wins(first: str, second: str) -> None:
    wanted = rule(DECISIONS[max((first, second), key=["accepted", "rests", "merged", "turned down"].index)])
    found = rule(both(DECISIONS[first], DECISIONS[second]))
    assert found is not None and wanted is not None
    assert (found.state, found.by) == (wanted.state, wanted.by)


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
        assert {each.state for each in rules_in(both(ours, theirs)).rules} == {"waiting", "replaced"}


def test_free_text_of_both_sides_survives() -> None:
    def noted(note: str) -> bytes:
        return file(*BASE, text=f"{NEW}\n## In force\n\n{note}\n\n## My notes\n\n- {note} noted\n")

    made = both(noted("Of ours."), noted("Of theirs."))
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


def test_a_rule_the_program_revived_stays_turned_down() -> None:
    turned_down, revived = replace(RULE, state="turned down"), replace(RULE, state="in force", told=3)
    for before in (replace(RULE, state="resting"), RULE):
        made = rules.merged(file(before), file(revived), file(turned_down))
        assert rule(made.data) == replace(turned_down, told=3)


def test_a_line_edited_by_hand_survives_a_deletion_but_not_one_the_program_worded_anew() -> None:
    found = rule(both(changed(text="drafts, please"), DELETED))
    assert found is not None and found.text == "drafts, please"
    assert rule(both(changed(text="drafts, please", told=4, last="2026-06-09"), DELETED)) is None
