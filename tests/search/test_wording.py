"""How much words count: prose, quoted lines, the parts of identifiers."""

from __future__ import annotations

from engine.search.query import literal_terms
from engine.search.resident.wording import wording
from engine.search.talk import telling
from tests.cases import each_case


def test_quoted_lines_are_separated_from_prose() -> None:
    prose, quoted, pieces = wording(
        "I ran it.\n> [tool:Bash] make test → ok\n\\> a quoted line\n  > indented\nDone."
    )
    assert prose == "I ran it.\n  > indented\nDone."
    assert quoted == "> [tool:Bash] make test → ok\n\\> a quoted line"
    assert pieces == ""


@each_case(
    ("text", "pieces"),
    [
        ("call getRewindPoints now", "get Rewind Points"),
        ("HTTPServer and parseJSONBody", "HTTP Server parse JSON Body"),
        ("snake_case, kebab-case, CONSTANT, Word", ""),
        ("iOS", ""),
        ("größerAls", "Als"),
    ],
)
def test_identifiers_are_found_by_their_parts(text: str, pieces: str) -> None:
    assert wording(text)[2] == pieces


@each_case(
    "text",
    [
        *("ok, do it", "yes please", "hello", "thanks!", "go on", "1", "sounds good", "no, the other one"),
        *("try again", "perfect, thank you", "done?", "hmm", "what?", "good morning", "LGTM, ship it"),
        *("mach weiter", "oui, vas-y", "sí, adelante", "va bene, grazie", "да, дальше", "好的，继续"),
    ],
)
def test_some_messages_request_nothing(text: str) -> None:
    assert telling(literal_terms(text)) == ()


@each_case(
    ("text", "words"),
    [
        ("fix it", ("fix",)),
        ("stop the server", ("server",)),
        ("what about 404?", ("404",)),
        ("and walrus?", ("walrus",)),
    ],
)
def test_other_messages_request_what_they_name(text: str, words: tuple[str, ...]) -> None:
    assert telling(literal_terms(text)) == words
