"""Signs in a reply that a section of the prompt was useful."""

from __future__ import annotations

from engine.injections.use import ShownSection, were_useful

BROKER = ShownSection(
    "knowledge/hosts.md", "The broker listens on port 8883. It moved from the old rack in March."
)
ODILE = ShownSection(
    "knowledge/people/odile.md", "Odile wants the raw curves of Vestrand before the summer school."
)
QUESTION = "What do I have to know for tomorrow?"


def used(reply: str, *, question: str = QUESTION, paths: tuple[str, ...] = ()) -> tuple[bool, ...]:
    return were_useful([BROKER, ODILE], question, reply, paths)


def test_repeated_wording_is_a_sign_of_use() -> None:
    assert used("Odile needs the raw curves of Vestrand before the summer school begins.") == (False, True)
    assert used("THE BROKER listens on port 8883; it moved from the old rack.") == (True, False)


def test_paraphrases_and_short_matches_are_not_a_sign_of_use() -> None:
    assert used("She is waiting for unsmoothed data.") == (False, False)
    assert used("The broker listens, as ever.") == (False, False)


def test_wording_taken_from_the_message_is_not_a_sign_of_use() -> None:
    question = "Is it true that Odile wants the raw curves of Vestrand before the summer school?"
    assert (
        used("Yes, Odile wants the raw curves of Vestrand before the summer school.", question=question)[1]
        is False
    )


def test_dates_and_numbers_are_not_a_sign_of_use() -> None:
    section = ShownSection("a.md", "Seen on 2026-06-12 and on 2026-06-13 at 12:30 UTC.")
    assert were_useful([section], QUESTION, "It was 2026-06-12 and 2026-06-13 at 12:30 UTC.") == (False,)


def test_a_fact_in_three_files_counts_in_each_but_boilerplate_does_not() -> None:
    text = "Backups of the station database run at night, and the archive keeps thirty of them."
    reply = "The station database backups run at night and the archive keeps thirty."
    files = [ShownSection(f"{name}.md", text) for name in "abcd"]
    assert were_useful(files[:3], QUESTION, reply) == (True, True, True)
    assert were_useful(files, QUESTION, reply) == (False,) * 4
    assert were_useful([files[0]] * 5, QUESTION, reply) == (True,) * 5, (
        "sections of the same file count as one file"
    )


def test_an_opened_or_named_file_is_useful() -> None:
    assert used("Done.", paths=("/home/robin/memory/knowledge/hosts.md",)) == (True, False)
    assert used("See knowledge/people/odile.md for that.") == (False, True)
    assert used("Done.", paths=("other-knowledge/hosts.md", "hosts.md")) == (False, False)
    question = "Open knowledge/hosts.md."
    assert used("Done.", question=question, paths=("knowledge/hosts.md",)) == (False, False)
    deleted = ShownSection("knowledge/hosts.md", "")
    assert were_useful([deleted], QUESTION, "Done.", ("knowledge/hosts.md",)) == (True,)


def test_empty_input_is_handled() -> None:
    assert were_useful([], QUESTION, "x") == ()
    assert used("") == (False, False)
