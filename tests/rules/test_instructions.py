"""Which sentences state a working rule, which state the same one, and which contradict each other."""

from __future__ import annotations

import pytest
from engine.lifecycle.rules.learning import MIN_WEIGHT as LEAST_OF_A_RULE
from engine.rules.alike import SAME, Rarity, contradicts
from engine.rules.instructions import LEAST, PLAIN, instructions_in

from engine.rules.rulebook import LONGEST


def weight(text: str) -> float:
    """The weight of the most explicit sentence."""
    return max((each.weight for each in instructions_in(text)), default=0.0)


@pytest.mark.parametrize(
    "text",
    [
        "please don't amend commits - it breaks the links",
        "from now on, write the changelog before the release",
        "we always squash before we merge",
        "make sure every fix comes with a test",
        "use the typed id instead of a string",
        "don't touch anything until I have agreed",
        "use metric units, not imperial ones",
        "keep the commits small, each with working code",
        "we use uv, not pip",
        "use the logger instead of print",
        "call it a workspace, not a project",
        "from now on answer in one paragraph",
        "going forward, answer briefly",
        "as a rule, no force pushes",
        "every commit must have a ticket number",
        "each PR should have a description",
        "before you push, run the linter",
        "after each change run the tests",
        "tests must pass before you commit",
        "remember that we deploy on Fridays only",
        "ab jetzt immer zuerst die Tests schreiben",
        "désormais, toujours répondre en français",
        "以后请用中文回答",
    ],
)
def test_an_explicit_rule_needs_no_repetition(text: str) -> None:
    assert any(each.weight >= LEAST_OF_A_RULE and each.standing for each in instructions_in(text))


@pytest.mark.parametrize(
    "text",
    [
        "the amend has broken our checkpoints",
        "your force-push overwrote the commits of Bo",
        "hmm, that rebase dropped my changes",
        "the stash you made lost half of my work",
    ],
)
def test_a_complaint_about_a_practice_is_a_rule_to_confirm(text: str) -> None:
    (found,) = instructions_in(text)
    assert found.weight >= LEAST_OF_A_RULE and not found.standing


@pytest.mark.parametrize(
    "text",
    [
        "only change what I asked for",
        "don't refactor things I didn't ask about",
        "ask me before installing packages",
        "I don't want you to commit without asking",
        "don't touch files outside src",
        "no TODO comments in the code",
        "prefer composition over inheritance",
    ],
)
def test_a_wish_about_how_an_agent_behaves_is_a_rule(text: str) -> None:
    assert weight(text) >= LEAST_OF_A_RULE


@pytest.mark.parametrize(
    "text",
    [
        "never mind",
        "No errors, just no change",
        "use the second one, not the first",
        "use a bigger font, not bold",
        "every user must have an email address",
        "it should always show the newest entry first",
        "before you start, look at the open issue",
        "not like this, use a table",
        "in future versions we want to support multiple accounts",
        "instead of a list return a map here",
    ],
)
def test_what_the_product_shall_do_or_what_is_done_now_is_no_rule(text: str) -> None:
    assert weight(text) < LEAST_OF_A_RULE


@pytest.mark.parametrize(
    "text", ["can we add a test for this?", "create a draft PR", "let's cut a branch first"]
)
def test_a_request_for_a_practice_may_be_a_rule(text: str) -> None:
    assert LEAST <= weight(text) < PLAIN


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "what does this function do?",
        "can you explain why the tests fail now?",
        "the cache is never cleared here",
        "I think we could look at src/store.py again",
        "continue",
        "commit",
        "rename `old_name` to `new_name` in src/a.py and src/b.py now",
        "we don't want the second column in that table",
        "make sure the banner stays hidden on the settings page",
        "could you use the formatter plugin on this?",
        "go ahead",
        "this file should not be needed",
        "let's go for the time on each row",
        "let's test those first",
        "add a comment to #17 so we remember",
        "let's continue with the integration tests",
        "please help me write a plan for the release",
        "Ann is the harbour office, formal, never wrong about water",
        "Ann or me, and never while the alarm is on",
        "do not show anything",
        "can we do a release as well?",
        "use the security linter on these",
        "let's mark the ticket as done first",
        "let's start with the tests of the parser (each must be small enough, right?)",
    ],
)
def test_talk_about_the_task_is_not_a_rule(text: str) -> None:
    assert weight(text) < LEAST_OF_A_RULE


def test_a_failing_check_is_extracted() -> None:
    (said,) = instructions_in("mise run lint is failing")
    assert said.fails == "mise run lint"


def test_only_the_self_contained_clause_becomes_the_rule() -> None:
    (said,) = instructions_in("there is a parser for that already, let's avoid code duplication")
    assert said.text == "let's avoid code duplication" and said.standing


def test_a_sentence_with_a_back_reference_includes_the_previous_one() -> None:
    found = [
        each.text for each in instructions_in("Can you create the ticket? Make sure it's in Project: Maple.")
    ]
    assert "Can you create the ticket? Make sure it's in Project: Maple" in found


def test_a_condition_is_kept_in_the_rule() -> None:
    (said,) = instructions_in("for the comments that are fixed, please reply directly and name the commit")
    assert said.weight >= PLAIN


def test_hostile_text_is_handled_quickly_and_safely() -> None:
    for text in (
        "a " * 200_000,
        "never " * 50_000,
        "\x1b[31mnever\x07 push\u202e",
        "#" * 100_000,
        "\n" * 100_000,
    ):
        assert all(
            each.text.isprintable() and len(each.text) < 10 * LONGEST for each in instructions_in(text)
        )


def test_paraphrases_are_one_rule() -> None:
    said = [
        "please add a test for this",
        "can we add tests?",
        "open a draft PR",
        "push and draft PR please",
        "ship it",
    ]
    rarity = Rarity([*said, *(f"unrelated words number {number}" for number in range(50))])
    assert rarity.similarity(said[0], said[1]) > SAME
    assert rarity.similarity(said[2], said[3]) > SAME
    assert rarity.similarity(said[0], said[2]) < SAME


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("let's make sure we're using US English everywhere", "please use the british spelling"),
        ("use spaces, not more", "use tabs"),
        ("don't squash commits before merging", "squash commits before merging"),
        ("we use pnpm here", "use npm for scripts"),
    ],
)
def test_contrary_rules_contradict_each_other(new: str, old: str) -> None:
    assert contradicts(new, old) and contradicts(old, new)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("use a draft PR", "use the british spelling"),
        ("never push to main", "always run the tests"),
        ("add tests first", "add tests"),
    ],
)
def test_unrelated_rules_do_not_contradict_each_other(new: str, old: str) -> None:
    assert not contradicts(new, old)
