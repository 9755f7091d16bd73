"""Decisions link to those they replace, and completed tasks find the open ones."""

from __future__ import annotations

from pathlib import Path

from engine.knowledge.category_files import Entry, entries, line_for
from engine.knowledge.item import Item, Origin
from engine.knowledge.similarity import QUOTED, finished, link_to, superseded, supersedes, text_without_link
from tests.cases import each_case

SAMPLE = Path("engine/sample/workspace/knowledge")


def decisions() -> tuple[Entry, ...]:
    return entries((SAMPLE / "decisions.md").read_bytes(), "knowledge/decisions.md")


def tasks() -> tuple[Entry, ...]:
    return entries((SAMPLE / "tasks.md").read_bytes(), "knowledge/tasks.md")


def test_only_the_two_reversals_of_the_sample_are_found() -> None:
    there = decisions()
    found = {}
    for at, later in enumerate(there):
        earlier = supersedes(Item("decisions", later.text), there[:at])
        if earlier is not None:
            found[later.text[:24]] = earlier.text[:24]
    assert found == {
        "Every version of a minut": "For duplicate minutes th",
        "The chart is SVG with M4": "The chart moves to canva",
    }


@each_case(
    ("text", "begins"),
    [
        ("`max_slot_wal_keep_size` is 60 GB, because the volume was doubled.", "`max_slot_wal_keep_size`"),
        (
            "Alarms have a hysteresis of 150 mm and hold 15 min, because 100 mm still chattered.",
            "Alarms have",
        ),
        ("Hosting and maintenance notices no longer go to Tomasz, because Marit took over.", "Hosting and"),
        ("BRN-04 loses its levels instead of getting flag 3, because the well was rebuilt.", "BRN-04 keeps"),
        ("Alarm state is kept in memory after all instead of a table.", "Alarm state is a table"),
        ("Readings from the future are dropped instead of quarantined.", "Readings more than 5 min"),
        (
            "Secrets are stripped when a source is saved, because loading was too late.",
            "Secrets are stripped",
        ),
        ("BRN-05 keeps its levels and gets flag 3, because a damped tide cannot be undone.", ""),
        ("#412 moves to 0.15.1 on 2026-06-23, because of the holidays.", ""),
        ("The chart gets a dark theme, because the bridge is dark at night.", ""),
        ("Docs replace the wiki, because nobody reads the wiki.", ""),
        ("Mails go out in English and German.", ""),
    ],
)
def test_the_replaced_decision_is_found(text: str, begins: str) -> None:
    found = supersedes(Item("decisions", text), decisions())
    assert (found.text[: len(begins)] if found else "") == begins
    assert (found is None) == (not begins)


def test_a_link_is_read_back_and_the_replaced_one_is_not_replaced_again() -> None:
    there = list(decisions())
    item = Item("decisions", "Alarm state is kept in memory after all instead of a table.")
    earlier = supersedes(item, there)
    assert earlier is not None
    line = line_for(item, Origin("talk", "2026-07-01"), link=link_to(earlier))
    assert line == (
        "- Alarm state is kept in memory after all instead of a table."
        " (supersedes: “Alarm state is a table and not memory, because a restart in”, 2026-05-27)"
        " [from: talk, 2026-07-01]"
    )
    (later,) = entries(f"{line}\n".encode(), "knowledge/decisions.md")
    assert text_without_link(later) == item.text
    assert superseded([*there, later]) == {earlier: later}
    again = supersedes(Item("decisions", "Alarm state is a table, no longer in memory."), [*there, later])
    assert again == later


def test_a_link_has_a_bounded_quote_and_no_date_for_a_persons_line() -> None:
    (mine,) = entries(f"- {'word “quoted” ' * 9}\n".encode(), "p")
    link = link_to(mine)
    assert len(link) < QUOTED + 22 and '“word "quoted"' in link and link.endswith("”)")
    (later,) = entries(f"- x{link} [from: a, 2026-01-02]\n".encode(), "p")
    assert superseded([mine, later]) == {mine: later}
    assert superseded([later, mine]) == {}


@each_case(
    ("text", "begins"),
    [
        ("Card of KVA-03 read; 25 of the 27 minutes of 2026-05-22 recovered.", "Read the card of KVA-03"),
        ("Published the advisory, with credit to the reporter.", "Publish the advisory"),
        ("Rotated the broker passwords of BRN-04 and BRN-06 on the boat.", "Rotate the broker"),
        ("Comparison of daily ranges with neighbouring gauges, #430, merged.", "Compare daily ranges"),
        ("Wrote the decoder for Vestrand's payload; raw curves are on staging.", "Decoder for Vestrand"),
        ("Print table for the SVG chart merged.", "Print table"),
        ("Changelog of 0.15.0 written, with the German paragraph.", "Changelog of 0.15.0"),
        ("KVA-02 has a fixed client id.", "Fixed client id"),
        ("Card of KVA-02 read.", ""),
        ("Changelog of 0.14.2 written.", ""),
        ("Decoder for Vestrand's payload started.", ""),
        ("Publishing the advisory was postponed.", ""),
        ("Merged the alarm hysteresis, #413.", ""),
        ("Fixed a typo in the README.", ""),
    ],
)
def test_the_completed_open_task_is_found(text: str, begins: str) -> None:
    found = finished(Item("tasks_done", text), tasks())
    assert (found.text[: len(begins)] if found else "") == begins
    assert (found is None) == (not begins)


def test_equally_similar_entries_are_ambiguous() -> None:
    two = entries(b"# Tasks\n\n## Open\n\n- Write tests for the parser\n- Write tests for the parsers\n", "p")
    assert finished(Item("tasks_done", "Wrote tests for the parser."), two) is None
    assert finished(Item("tasks_done", "Wrote tests for the parser."), two[:1]) == two[0]


def test_exact_words_match_despite_similar_neighbours() -> None:
    tasks = b"- Write tests for the parser\n- Write the tests for the parser\n- Do not ship v1\n"
    two = entries(b"# Tasks\n\n## Open\n\n" + tasks, "p")
    assert finished(Item("tasks_done", "write tests for the parser."), two) == two[0]
    assert finished(Item("tasks_done", "Write the tests for the parser"), two) == two[1]
    assert finished(Item("tasks_done", "Do not ship v1"), two) == two[2]
