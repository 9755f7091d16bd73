"""How much words count: prose, quoted lines, the parts of identifiers."""

from __future__ import annotations

from engine.search.query import literal_terms
from engine.search.talk import is_order, telling
from engine.search.terms import parts_of, wording
from tests.cases import each_case


def test_quoted_lines_are_separated_from_prose() -> None:
    prose, quoted = wording("I ran it.\n> [tool:Bash] make test → ok\n\\> a quoted line\n  > indented\nDone.")
    assert prose == "I ran it.\n  > indented\nDone."
    assert quoted == "> [tool:Bash] make test → ok\n\\> a quoted line"


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
    assert " ".join(filter(None, map(parts_of, text.split()))) == pieces


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


@each_case(
    ("text", "expected"),
    [
        *((order, True) for order in ("fix the tests and push", "yes, commit this", "2, and run it again")),
        *((state, True) for state in ("what is remaining?", "what's left?", "write it into a markdown file")),
        *(
            (order, True)
            for order in ("コミットして", "수정한 것들을 전부 커밋해줘.", "提交代码", "закоммить и запушь")
        ),
        *(
            (other, False)
            for other in ("コミットメッセージを直して", "修复提交按钮", "почини коммиты импорта")
        ),
        *((other, False) for other in ("fix the tide gauge", "what's left of the billing migration?")),
        *(
            (asked, False)
            for asked in ("how do we run the tests?", "what did we decide?", "why did it fail?")
        ),
    ],
)
def test_orders_about_the_work_at_hand_are_told_from_questions_for_memory(text: str, expected: bool) -> None:
    assert is_order(text) == expected
