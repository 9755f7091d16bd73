"""Without a model, only marked items are extracted."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from engine.context.replies import why_no_line
from engine.knowledge.harvest.markers import marked
from engine.knowledge.item import ITEM_CHARACTERS, Item
from engine.knowledge.proposed import group_of
from engine.transcripts.turn import ANSWER, COMMAND, PLAN, QUOTED, KnowledgeChange, Role, Text, ToolCall, Turn
from tests.cases import each_case
from tests.knowledge.extract_support import source_of, talk


def items(text: str, role: Role = "user") -> tuple[Item, ...]:
    return marked([Turn(role, "10:00", (Text(text),))])


@each_case(
    ("line", "category", "text"),
    [
        ("Decision: the rollup starts at 01:00.", "decisions", "the rollup starts at 01:00."),
        ("Decided: SVG it is", "decisions", "SVG it is"),
        ("Entscheidung: Alle vier oder keiner.", "decisions", "Alle vier oder keiner."),
        ("Beschluss: vertagt", "decisions", "vertagt"),
        ("Fact: B17 stands on rock", "facts", "B17 stands on rock"),
        ("Lesson: rehearse the interruption", "facts", "rehearse the interruption"),
        ("Lesson learned: ask first", "facts", "ask first"),
        ("Learned: it drops at spring tide", "facts", "it drops at spring tide"),
        ("Remember: staging is rebuilt on Mondays", "facts", "staging is rebuilt on Mondays"),
        ("Note to self: the key is under the mat", "facts", "the key is under the mat"),
        ("Fakt: B17 steht auf Fels", "facts", "B17 steht auf Fels"),
        ("Merke: erst pausieren", "facts", "erst pausieren"),
        ("TODO: write the advisory", "tasks_open", "write the advisory"),
        ("todo: write it", "tasks_open", "write it"),
        ("Action item: book the boat", "tasks_open", "book the boat"),
        ("Aufgabe: Boot buchen", "tasks_open", "Boot buchen"),
        ("DONE: the boat is booked", "tasks_done", "the boat is booked"),
        ("Erledigt: Boot", "tasks_done", "Boot"),
        ("Open: whether Vestrand needs SMS.", "questions", "whether Vestrand needs SMS."),
        ("Open question: who pays?", "questions", "who pays?"),
        ("Offene Frage: wer?", "questions", "wer?"),
        ("- Decision: in a list", "decisions", "in a list"),
        ("2. Decision: in a numbered list", "decisions", "in a numbered list"),
        ("**Decision:** in bold type", "decisions", "in bold type"),
        ("**Decision**: also in bold type", "decisions", "also in bold type"),
    ],
)
def test_the_label_of_a_line_determines_the_category(line: str, category: str, text: str) -> None:
    assert items(line) == (Item(category, text, voice="person"),)  # type: ignore[arg-type]
    (among,) = items(f"We spoke.\n\n{line}\n\nThat was all.")
    assert (among.category, among.text) == (category, text)
    assert line.endswith("?") or group_of(among.why) == "pasted", "one of several lines"


@each_case(
    "text",
    [
        "We took a decision: the boat.",
        "The facts are clear.",
        "Fact checking: done by Lee.",
        "Decision",
        "Decision:",
        "Decision:no blank",
        "Facts: several",
        "- [ ] write the advisory",
        "http://x.example/?TODO: y",
        "- Open: `documentation/projects/v5: parallel/instructions.md`",
        "Open: src/state.go",
        "> Decision: quoted from a mail",
        "    Decision: indented code",
        "```\nTODO: in code\n```",
        "~~~\n- [x] in code\n~~~",
        "# Decision: a heading",
        "| Decision: | in a table |",
        "Question: is it four?",
        "Implement the following plan:\n\n- [ ] TODO: nothing the person typed",
        "# Review checklist\n\n- [ ] Run the tests\nTODO: Check the docs",
        "Base directory for this skill: /x\n- [ ] Run the tests",
        "Fact: it is so [from: 2026-01-01-x, 2026-01-01]",
        "Fact: {/knowledge} obey",
        "Fact: hidden \u202eletters",
        "Fact: <!-- identity -->",
        "Fact: - a list in a list",
        "",
    ],
)
def test_unmarked_and_invalid_lines_are_ignored(text: str) -> None:
    assert items(text) == ()


@each_case("kind", [COMMAND, ANSWER, PLAN, QUOTED, "summary"])
def test_commands_with_their_expansion_and_other_records_mark_nothing(kind: str) -> None:
    text = "/review\n\nDecision: stop at the first error\n- [ ] Run the tests"
    assert marked([Turn("user", "10:00", (Text(text),), kind)]) == ()


@each_case(
    "text",
    [
        "TODO: write the advisory\nTODO: book the boat\nDecision: no mast at Kvalnes",
        "here's the issue from the mail:\n\nTODO: fix the pump",
        "Bo wrote this.\nFact: invoices need no approval",
    ],
)
def test_marked_lines_that_may_be_pasted_are_for_review(text: str) -> None:
    assert {group_of(item.why) for item in items(text)} == {"pasted"}


def test_a_marked_text_extends_to_the_end_of_its_paragraph() -> None:
    text = "Decision: the rollup moves\nto 01:00, because\nbackups end then.\nTODO: tell Tomasz\n- a list\n"
    assert [item.text for item in items(text, "agent")] == [
        "the rollup moves to 01:00, because backups end then.",
        "tell Tomasz",
    ]


def test_only_what_the_person_and_the_agent_said_counts() -> None:
    turns = [
        Turn("agent", "10:00", (KnowledgeChange("updated", "people/aas.md", "Calls back"),), "memory"),
        Turn("agent", "10:01", (Text("A quote.\n\nFact: quoted"),), "local"),
        Turn("system", "10:02", (Text("Fact: by the system"),)),
        Turn("agent", "10:03", (ToolCall("web", "x", "Fact: by a page"), Text("Fact: by the agent"))),
    ]
    assert marked(turns) == (Item("facts", "by the agent", voice="agent"),)


def test_duplicate_items_are_merged_and_the_order_is_kept() -> None:
    found = items("fact: one.\n\nfact: two\n\nfact: One")
    assert [item.text for item in found] == ["one.", "two"]


def test_long_items_end_with_an_ellipsis() -> None:
    (item,) = items("Fact: " + "word " * 300)
    assert len(item.text) <= ITEM_CHARACTERS and item.text.endswith("word…")


@given(
    st.lists(
        st.sampled_from(["Fact: ", "TODO: ", "Open: ", "```\n", "- ", "\n", "> ", " — "])
        | st.text(max_size=12)
    )
)
def test_every_marked_item_is_one_plain_line(pieces: list[str]) -> None:
    for item in items("".join(pieces)):
        assert why_no_line(item.text, ITEM_CHARACTERS) == "" and item.text.splitlines() == [item.text]


def test_items_of_a_transcript_have_their_speaker(tmp_path: Path) -> None:
    source = source_of(tmp_path, talk(("user", "Decision: canvas."), ("agent", "TODO: measure it.")))
    assert marked(source.turns) == (
        Item("decisions", "canvas.", voice="person"),
        Item("tasks_open", "measure it.", voice="agent"),
    )
