"""Finding the source line of an item, and none if it is unknown."""

from __future__ import annotations

import json

from engine.knowledge.harvest.source_line import EXCERPT, find_source_line
from engine.knowledge.item import Item

TALK = (
    "# A call\n\n## 15:20 — user\nThe gateway speaks plain HTTP, no TLS.\n\n"
    "## 15:24 — agent\nWithout TLS it should not cross the internet.\n"
).encode()


def test_the_line_with_most_of_the_words_is_found() -> None:
    item = Item("facts", "The gateway of Vestrand speaks plain HTTP without TLS.")
    assert find_source_line(item, TALK) == (4, "The gateway speaks plain HTTP, no TLS.")


def test_an_item_without_a_source_line_has_no_location() -> None:
    assert find_source_line(Item("facts", "Backups of db-2 take 112 minutes on Sundays."), TALK) == (0, "")
    assert find_source_line(Item("facts", "…"), TALK) == (0, "")
    assert find_source_line(Item("facts", "x y z"), b"") == (0, "")


def test_the_relevant_part_of_a_long_line_is_shown() -> None:
    statement = "The broker passwords were rotated on the boat."
    line = json.dumps({"content": "filler word " * 400 + statement + " more filler" * 400})
    number, excerpt = find_source_line(Item("facts", statement), f"{{}}\n{line}\n".encode())
    assert number == 2
    assert statement in excerpt
    assert len(excerpt) <= EXCERPT + 2
    assert excerpt.startswith("…") and excerpt.endswith("…")


def test_the_relevant_part_of_a_line_has_no_part_of_a_key() -> None:
    statement = "The broker passwords were rotated on the boat."
    token = "sk-ant-api03-" + "aB3" * 30
    for filler in range(0, 60, 5):
        line = "x" * 300 + f" {token} {'y' * filler} {statement} " + "filler " * 60
        number, excerpt = find_source_line(Item("facts", statement), line.encode())
        assert number == 1 and statement in excerpt and "aB3aB3" not in excerpt
        line = "x" * 300 + f" {statement} {'y' * filler} {token} " + "filler " * 60
        _, excerpt = find_source_line(Item("facts", statement), line.encode())
        assert statement in excerpt and "aB3aB3" not in excerpt


def test_any_bytes_are_accepted() -> None:
    assert find_source_line(Item("facts", "caf\u00e9 open"), b"\xff\0 caf\xc3\xa9 open\r\n")[0] == 1


def test_the_line_that_ran_a_command_is_found() -> None:
    data = b"## 10:00 - user\nmake test shows errors, run the tests\n\n> [tool:Bash] cd x && make test\n"
    item = Item("playbooks", "**Run the tests**: make test")
    assert find_source_line(item, data) == (4, "> [tool:Bash] cd x && make test")
