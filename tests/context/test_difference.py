"""Two prompts are compared section by section; the differences are explained and readable at 80 columns."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, replace
from typing import Any

from engine.context.compiled import Compiled, LeftOut, Section
from engine.context.delimiters import GAP, marker
from engine.context.difference import Difference, SectionChange, compare, difference_text
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


def text_of(before: Compiled, after: Compiled, name: str = "1a2b3c4d", width: int = 80) -> str:
    return difference_text(compare(before, after), before, after, (name, "now"), width=width)


def only(difference: Difference) -> SectionChange:
    (change,) = difference.sections
    return change


A = section("identity:A", "alpha\nbeta\ngamma", 5)
B = section("memory:B", "one\ntwo\nthree")
C = section("topic:C", "steps", 9, slot="topics", source="topics/c.md", why="matched “deploy”")
M = section("message", "Hello", 12, source="", slot="message")


def test_equal_prompts_have_no_difference() -> None:
    difference = compare(compiled(A, B, C, M), compiled(A, B, C, M))
    assert difference.equal and difference.prefix is None
    assert difference.sections == ()
    assert difference.unchanged == 4
    assert "byte-identical" in text_of(compiled(A, B, C, M), compiled(A, B, C, M))


def test_a_changed_section_has_its_diff_and_both_sizes() -> None:
    change = only(compare(compiled(A, B, M), compiled(A, replace(B, text="one\n2\nthree", tokens=9), M)))
    assert (change.kind, change.label) == ("changed", "memory:B")
    assert (change.before.tokens, change.after.tokens) == (3, 9)
    assert (change.before.place, change.after.place) == (2, 2)
    assert change.diff == ("@@ -1,3 +1,3 @@", " one", "-two", "+2", " three")


def test_added_and_removed_sections_are_listed_with_their_reasons() -> None:
    difference = compare(compiled(A, C, M), compiled(A, B, M))
    came, went = difference.sections
    assert (came.kind, came.label, went.kind, went.label) == ("came", "memory:B", "went", "topic:C")
    assert came.before.why == "absent"
    assert came.after.why == "always in the prompt"
    assert went.before.why == "matched “deploy”"
    assert went.after.why == "absent"
    assert came.before.place == went.after.place == 0


def test_a_section_that_was_left_out_has_the_recorded_reason() -> None:
    before = compiled(
        A,
        M,
        left_out=(
            left_out("memory:B", "needs 900 tokens, 12 left", lines="40-90"),
            left_out("memory:other", "not this one"),
        ),
    )
    change = only(compare(before, compiled(A, B, M)))
    assert change.before.why == "left out: needs 900 tokens, 12 left"
    assert (change.before.tokens, change.before.place) == (50, 0)


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
        ("went", "20-29", ""),
        ("came", "", "22-31"),
        ("went", "40-49", ""),
        ("came", "", "90-99"),
    ]
    assert difference.unchanged == 1


def test_a_cut_section_is_matched_with_the_whole_one() -> None:
    cut = replace(B, text="one\n[cut: 1 of 3 tokens]", lines="1-1", why="always; cut: over its cap")
    change = only(compare(compiled(B), compiled(cut)))
    assert change.kind == "changed"
    assert change.diff[-1] == "+[cut: 1 of 3 tokens]"


def test_the_prefix_names_layer_section_and_byte() -> None:
    before = compiled(replace(A, text="früh\nbeta"), B, M)
    after = compiled(replace(A, text="früh\nbätä"), B, M)
    prefix = compare(before, after).prefix
    assert prefix is not None
    assert (prefix.layer, prefix.label, prefix.source) == (5, "identity:A", A.source)
    one, other = before.text.encode(), after.text.encode()
    assert one[: prefix.byte] == other[: prefix.byte] and one[prefix.byte] != other[prefix.byte]


def test_volatile_layers_do_not_touch_the_prefix() -> None:
    assert compare(compiled(A, M), compiled(A, C, M)).prefix is None


def test_an_empty_prompt_is_compared() -> None:
    difference = compare(compiled(), compiled(A, M))
    assert [change.kind for change in difference.sections] == ["came", "came"]
    assert difference.prefix is not None and difference.prefix.layer == 5
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
    assert [(row["kind"], row["label"]) for row in tree["sections"]] == [
        ("changed", "identity:SOUL.md"),
        ("came", "memory:MEMORY.md"),
    ]
    assert tree["prefix"]["label"] == "identity:SOUL.md"


LONG = "word " * 60


@each_case("width", [60, 80, 120])
def test_the_text_contains_no_escape_sequences(width: int) -> None:
    nasty = "evil\x1b]52;c;aGk=\x07\u202e\r\x9b31m"
    before = compiled(
        replace(A, text=f"{LONG}\n{nasty}"),
        replace(B, label=f"memory:{nasty}", why=LONG),
        M,
        active_topics=(nasty,),
    )
    after = compiled(
        replace(A, text=f"{LONG} more\n{nasty}!"),
        section(f"subscription:{'x' * 300}", "y", 9, source="y" * 300, why=nasty),
        M,
        dropped_turns=3,
    )
    text = text_of(before, after, nasty, width)
    lines = text.splitlines()
    assert all(line.isprintable() for line in lines)
    assert "\\x1b]52" in text
    assert all(line == line.rstrip() for line in lines)


def test_a_difference_is_rendered_as_text() -> None:
    after = compiled(A, replace(B, text="one\n2\nthree", tokens=9), M)
    assert text_of(compiled(A, B, C, M), after) == (
        "before   1a2b3c4d: 8 of 8,192 tokens, 4 sections\n"
        "after    now: 13 of 8,192 tokens, 3 sections\n"
        "prefix   first difference in layer 6 (project context), memory:B: byte 60\n"
        "sections 1 went, 1 changed, 2 unchanged\n"
        "\n"
        " 6 project context\n"
        "~ 3 → 9 tokens  P1  memory  knowledge/memory:B.md\n"
        "      always in the prompt\n"
        "      @@ -1,3 +1,3 @@\n"
        "       one\n"
        "      -two\n"
        "      +2\n"
        "       three\n"
        "\n"
        " 9 topics\n"
        "- 1 tokens  P1  topic  topics/c.md\n"
        "      1a2b3c4d: matched “deploy”\n"
        "      now: absent\n"
    )


def test_a_long_diff_is_shortened_with_a_count() -> None:
    before, after = (replace(A, text="\n".join(map(str, range(at, at + 200)))) for at in (0, 1000))
    assert "361 more lines of this diff" in text_of(compiled(before), compiled(after))
