"""Two prompts are compared section by section; the differences are explained and readable at 80 columns."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, fields, replace
from typing import Any

from engine.context.compiled import Compiled, LeftOut, Section, Slot
from engine.context.delimiters import GAP, marker
from engine.context.difference import Difference, SectionChange, compare
from engine.context.difference_text import difference_text
from tests.cases import each_case
from tests.context.conftest import Space

STABLE = 7


def section(label: str, text: str, layer: int = 6, **values: Any) -> Section:
    fixed: dict[str, Any] = {
        "priority": 1, "slot": "memory", "source": f"knowledge/{label}.md", "lines": "",
        "tokens": len(text.split()), "score": None, "why": "always in the prompt",
    }  # fmt: skip
    return Section(label=label, layer=layer, text=text, **(fixed | values))


def left_out(label: str, reason: str, **values: Any) -> LeftOut:
    fixed: dict[str, Any] = {
        "priority": 1, "slot": "memory", "source": f"knowledge/{label}.md", "lines": "", "tokens": 50,
        "score": None,
    }  # fmt: skip
    return LeftOut(label=label, reason=reason, **(fixed | values))


def compiled(*sections: Section, **values: Any) -> Compiled:
    rendered = [f"{marker(each.label)}\n{each.text}{GAP}" for each in sections]
    stable = sum(len(text) for text, each in zip(rendered, sections, strict=True) if each.layer <= STABLE)
    fixed: dict[str, Any] = {
        "tokens": sum(each.tokens for each in sections), "budget": 8192, "reply_reserve": 256, "left_out": (),
        "slots": (), "boundaries": (), "active_topics": (), "dropped_turns": 0,
    }  # fmt: skip
    return Compiled(
        text="".join(rendered), sections=sections, stable_prefix_length=stable, **(fixed | values)
    )


def only(difference: Difference) -> SectionChange:
    (change,) = difference.sections
    return change


A = section("identity:A", "alpha\nbeta\ngamma", 5)
B = section("memory:B", "one\ntwo\nthree")
C = section("topic:C", "steps", 9, slot="topics", source="topics/c.md", why="matched “deploy”")
M = section("message", "Hello", 12, source="", slot="message")


def test_equal_prompts_have_no_difference() -> None:
    difference = compare(compiled(A, B, C, M), compiled(A, B, C, M))
    assert difference.equal and difference.prefix.equal
    assert difference.sections == ()
    assert difference.unchanged == 4
    assert "byte-identical" in difference_text(difference)


def test_a_changed_section_has_its_diff_and_both_sizes() -> None:
    change = only(compare(compiled(A, B, M), compiled(A, replace(B, text="one\n2\nthree", tokens=9), M)))
    assert (change.kind, change.label) == ("changed", "memory:B")
    assert (change.before.tokens, change.after.tokens) == (3, 9)
    assert (change.before.place, change.after.place) == (2, 2)
    assert change.diff == ("@@ -1,3 +1,3 @@", " one", "-two", "+2", " three")


def test_added_and_removed_sections_give_the_reason_for_their_absence() -> None:
    difference = compare(compiled(A, C, M), compiled(A, B, M))
    came, went = difference.sections
    assert (came.kind, came.label, went.kind, went.label) == ("came", "memory:B", "went", "topic:C")
    assert came.before.why == "absent: the file did not exist or was empty"
    assert came.after.why == "always in the prompt"
    assert went.before.why == "matched “deploy”"
    assert went.after.why == "absent: the topic was not active"
    assert came.before.place == went.after.place == 0


@each_case(
    ("label", "layer", "why"),
    [
        ("subscription:x.md", 9, "no active topic subscribed to it"),
        ("history:3 user", 11, "the conversation had no such turn within the window"),
        ("steering", 9, "no output watcher had fired"),
        ("knowledge:a.md", 10, "the search did not return it"),
        ("knowledge:digest.md", 7, "the file did not exist or was empty"),
        ("journal:2026-09-01.md", 8, "the file did not exist or was empty"),
    ],
)
def test_every_kind_of_section_has_a_reason_for_its_absence(label: str, layer: int, why: str) -> None:
    change = only(compare(compiled(A), compiled(A, section(label, "x", layer))))
    assert change.before.why == f"absent: {why}"


def test_a_recorded_reason_takes_precedence_over_a_guess() -> None:
    before = compiled(
        A,
        M,
        left_out=(
            left_out("memory:B", "needs 900 tokens, 12 left", lines="40-90"),
            left_out("memory:B", "the whole of it"),
            left_out("memory:other", "not this one"),
        ),
    )
    change = only(compare(before, compiled(A, B, M)))
    assert change.before.why == "left out: the whole of it"
    assert (change.before.tokens, change.before.place) == (50, 0)
    change = only(compare(before, compiled(A, replace(B, lines="1-39"), M)))
    assert change.before.why == "left out: needs 900 tokens, 12 left"


def test_a_renamed_file_is_the_same_section() -> None:
    renamed = replace(A, label="identity:Z", source="knowledge/identity/Z.md")
    change = only(compare(compiled(A, B), compiled(renamed, B)))
    assert (change.kind, change.moved) == ("moved", False)
    assert (change.before.source, change.after.source) == (A.source, renamed.source)


def test_as_few_sections_as_possible_are_reported_as_moved() -> None:
    rows = [section(f"projects:{number}", f"text {number}") for number in range(6)]
    difference = compare(compiled(*rows), compiled(*rows[1:], rows[0]))
    change = only(difference)
    assert (change.kind, change.label, change.moved) == ("moved", "projects:0", True)
    assert (change.before.place, change.after.place) == (1, 6)
    assert difference.unchanged == 5
    assert not difference.equal


def test_added_and_removed_sections_do_not_move_others() -> None:
    rows = [section(f"projects:{number}", f"text {number}") for number in range(6)]
    difference = compare(compiled(*rows), compiled(*rows[3:], M))
    assert {change.kind for change in difference.sections} == {"came", "went"}
    assert difference.unchanged == 3


def excerpt(lines: str, text: str) -> Section:
    return section("knowledge:a.md", text, 10, slot="knowledge", source="a.md", lines=lines, score=0.5)


def test_excerpts_of_one_file_are_distinguished() -> None:
    before = compiled(excerpt("1-9", "first"), excerpt("20-29", "second"), excerpt("40-49", "third"))
    after = compiled(excerpt("3-11", "first"), excerpt("22-31", "second, changed"), excerpt("90-99", "new"))
    difference = compare(before, after)
    assert [(change.kind, change.before.lines, change.after.lines) for change in difference.sections] == [
        ("changed", "20-29", "22-31"),
        ("went", "40-49", ""),
        ("came", "", "90-99"),
    ]
    assert difference.unchanged == 1


def test_a_cut_section_is_matched_with_the_whole_one() -> None:
    cut = replace(B, text="one\n[cut: 1 of 3 tokens]", lines="1-1", why="always; cut: over its cap")
    change = only(compare(compiled(B), compiled(cut)))
    assert change.kind == "changed"
    assert change.diff[-1] == "+[cut: 1 of 3 tokens]"


def test_changes_of_topics_and_slots_are_listed() -> None:
    before = compiled(
        A, active_topics=("x", "y"), slots=(Slot("memory", 1, 10, 100), Slot("history", 4, 5, None))
    )
    after = compiled(
        A, active_topics=("y", "b", "a"), slots=(Slot("memory", 1, 30, 90), Slot("topics", 2, 7, 50))
    )
    difference = compare(before, after, ("then", "now"))
    assert (difference.topics_came, difference.topics_went) == (("a", "b"), ("x",))
    assert [(row.name, row.before, row.after, row.cap_before, row.cap_after) for row in difference.slots] == [
        ("memory", 10, 30, 100, 90),
        ("history", 5, 0, None, None),
        ("topics", 0, 7, None, 50),
    ]
    assert (difference.before.name, difference.after.name) == ("then", "now")


def test_the_prefix_names_layer_section_and_byte() -> None:
    before = compiled(replace(A, text="früh\nbeta"), B, M)
    after = compiled(replace(A, text="früh\nbätä"), B, M)
    prefix = compare(before, after).prefix
    assert not prefix.equal
    assert (prefix.layer, prefix.label, prefix.source) == (5, "identity:A", A.source)
    one, other = before.text.encode(), after.text.encode()
    assert one[: prefix.byte] == other[: prefix.byte] and one[prefix.byte] != other[prefix.byte]
    assert prefix.line == before.text[: before.text.index("beta")].count("\n") + 1


def test_the_differing_byte_may_be_within_a_character() -> None:
    before, after = compiled(replace(A, text="é")), compiled(replace(A, text="è"))
    prefix = compare(before, after).prefix
    assert before.text.encode()[: prefix.byte] == after.text.encode()[: prefix.byte]
    assert before.text.encode()[prefix.byte] != after.text.encode()[prefix.byte]


def test_a_prefix_that_only_grew_differs_where_it_grew() -> None:
    prefix = compare(compiled(A, M), compiled(A, B, M)).prefix
    assert (prefix.layer, prefix.label) == (6, "memory:B")
    assert prefix.byte == prefix.before


def test_volatile_layers_do_not_touch_the_prefix() -> None:
    assert compare(compiled(A, M), compiled(A, C, M)).prefix.equal


def test_an_empty_prompt_is_compared() -> None:
    difference = compare(compiled(), compiled(A, M))
    assert [change.kind for change in difference.sections] == ["came", "came"]
    assert difference.prefix.layer == 5
    assert compare(compiled(), compiled()).equal


@each_case("seed", range(30))
def test_every_section_of_both_sides_is_accounted_for_once(seed: int) -> None:
    dice = random.Random(seed)

    def random_prompt() -> Compiled:
        labels = [dice.choice("abcd") for _ in range(dice.randrange(8))]
        sections = [
            section(
                f"topic:{label}",
                dice.choice(("x", "y", "z")),
                dice.choice((6, 9, 10)),
                lines=dice.choice(("", "1-5")),
            )
            for label in labels
        ]
        return compiled(*sorted(sections, key=lambda each: each.layer))

    before, after = random_prompt(), random_prompt()
    difference = compare(before, after)
    left = sorted(change.before.place for change in difference.sections if change.before.place)
    right = sorted(change.after.place for change in difference.sections if change.after.place)
    assert len(set(left)) == len(left) and len(set(right)) == len(right)
    assert len(left) + difference.unchanged == len(before.sections)
    assert len(right) + difference.unchanged == len(after.sections)
    assert difference.equal == (not difference.sections)
    assert compare(before, after) == difference


def test_a_difference_is_serialisable_as_json(space: Space) -> None:
    space.write("knowledge/identity/SOUL.md", "calm")
    before = space.compile()
    space.write("knowledge/identity/SOUL.md", "calmer")
    space.write("knowledge/memory/MEMORY.md", "- a fact")
    tree = json.loads(json.dumps(asdict(compare(before, space.compile()))))
    assert set(tree) == {item.name for item in fields(Difference)} == {
        "equal", "before", "after", "sections", "unchanged", "topics_came", "topics_went", "slots", "prefix",
    }  # fmt: skip
    assert set(tree["sections"][0]) == {
        "kind", "label", "layer", "priority", "slot", "before", "after", "moved", "diff",
    }  # fmt: skip
    assert set(tree["sections"][0]["before"]) == {"place", "source", "lines", "tokens", "score", "why"}
    assert set(tree["prefix"]) == {"equal", "before", "after", "layer", "label", "source", "byte", "line"}
    assert [(row["kind"], row["label"]) for row in tree["sections"]] == [
        ("changed", "identity:SOUL.md"),
        ("came", "memory:MEMORY.md"),
    ]
    assert tree["prefix"]["label"] == "identity:SOUL.md"


LONG = "word " * 60


@each_case("width", [60, 80, 120])
def test_the_text_fits_its_width_and_contains_no_escape_sequences(width: int) -> None:
    nasty = "evil\x1b]52;c;aGk=\x07\u202e\r\x9b31m"
    before = compiled(
        replace(A, text=f"{LONG}\n{nasty}"),
        replace(B, label=f"memory:{nasty}", why=LONG),
        M,
        active_topics=(nasty,),
        slots=(Slot("memory", 1, 10_000, 100),),
    )
    after = compiled(
        replace(A, text=f"{LONG} more\n{nasty}!"),
        section(f"subscription:{'x' * 300}", "y", 9, source="y" * 300, why=nasty),
        M,
        slots=(Slot("memory", 1, 9, 100),),
        dropped_turns=3,
    )
    text = difference_text(compare(before, after, (nasty, "now")), width=width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    assert all(line.isprintable() for line in lines)
    assert "\\x1b]52" in text
    assert all(line == line.rstrip() for line in lines)


def test_a_difference_is_rendered_as_text() -> None:
    before = compiled(A, B, C, M, active_topics=("C",), slots=(Slot("memory", 1, 10, 100),))
    after = compiled(A, replace(B, text="one\n2\nthree", tokens=9), M, slots=(Slot("memory", 1, 16, 100),))
    assert difference_text(compare(before, after, ("1a2b3c4d", "now"))) == (
        "before   1a2b3c4d: 8 of 8,192 tokens, 4 sections, 0 pieces left out\n"
        "after    now: 13 of 8,192 tokens, 3 sections, 0 pieces left out\n"
        "topics   - C\n"
        "prefix   first difference in layer 6 (project context), memory:B: byte 60, line\n"
        "         8 of the prompt; 71 → 69 characters\n"
        "sections 1 went, 1 changed, 2 unchanged\n"
        "\n"
        "           tokens  P   section\n"
        " 6 project context\n"
        "~           3 → 9  P1  memory  knowledge/memory:B.md\n"
        "      always in the prompt\n"
        "      @@ -1,3 +1,3 @@\n"
        "       one\n"
        "      -two\n"
        "      +2\n"
        "       three\n"
        " 9 topics\n"
        "-               1  P1  topic  topics/c.md\n"
        "      1a2b3c4d: matched “deploy”\n"
        "      now: absent: the topic was not active\n"
        "\n"
        "budget by slot\n"
        "  P1 memory          10 → 16       +6\n"
    )


def test_a_long_diff_and_a_long_history_are_shortened_with_counts() -> None:
    turns = [section(f"history:{number} user", f"said {number}", 11) for number in range(1, 31)]
    before = compiled(replace(A, text="\n".join(map(str, range(200)))), *turns)
    after = compiled(replace(A, text="\n".join(map(str, range(1000, 1200)))))
    text = difference_text(compare(before, after))
    assert "361 of 401 lines of this diff not shown" in text
    assert "history 1 user to 30 user: 30 turns" in text
    assert len(text.splitlines()) < 70
