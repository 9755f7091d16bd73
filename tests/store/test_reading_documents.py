from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from engine.store import documents
from engine.store.schema import validate
from tests.cases import each_case

TOPIC = b"""---
type: topic
max_context_kb: 04   # four
quiet: no
at: 12:30:45
---

# Email Triage

---

## Instructions
"""


def test_a_header_and_its_body_are_read() -> None:
    document = documents.parse(TOPIC, "topics/email.md")
    assert document.has_header
    assert document.header == {"type": "topic", "max_context_kb": "04", "quiet": "no", "at": "12:30:45"}
    assert [document.header.line_of(key) for key in document.header] == [2, 3, 4, 5]
    assert document.body == "\n# Email Triage\n\n---\n\n## Instructions\n"
    assert document.body_line == 7
    assert document.raw == TOPIC
    assert (document.newline, document.bom, document.problems) == ("\n", False, ())


def test_a_byte_order_mark_and_windows_line_endings_are_accepted() -> None:
    data = b"\xef\xbb\xbf" + TOPIC.replace(b"\n", b"\r\n")
    document = documents.parse(data, "topics/email.md")
    plain = documents.parse(TOPIC, "topics/email.md")
    assert (document.header, document.body, document.body_line) == (plain.header, plain.body, plain.body_line)
    assert [document.header.line_of(key) for key in document.header] == [2, 3, 4, 5]
    assert (document.newline, document.bom, document.raw) == ("\r\n", True, data)


def test_a_byte_order_mark_is_not_part_of_the_body() -> None:
    document = documents.parse(b"\xef\xbb\xbf# Title\n", "a.md")
    assert (document.body, document.bom, document.has_header) == ("# Title\n", True, False)


@each_case(
    "data",
    [
        b"",
        b"---",
        b"---\n",
        b"# Title\n",
        b"---\n\nAn essay that starts with a rule.\n\n---\n\nAnd has another.\n",
        b"---\nAn essay that starts with a rule.\n",
        b"---\n- a\n- list\n---\nbody\n",
        b"----\ntype: topic\n----\n",
        b"--- \xff\n",
        b" ---\ntype: topic\n---\n",
        b"\n---\ntype: topic\n---\n",
        b"text\n---\ntype: topic\n---\n",
    ],
)
def test_text_that_is_not_a_header_is_body_without_an_error(data: bytes) -> None:
    document = documents.parse(data, "a.md")
    assert not document.has_header
    assert document.header == {}
    assert document.body == data.decode("utf-8", "replace")
    assert document.body_line == 1
    assert [problem for problem in document.problems if problem.severity == "error"] == []


@each_case(
    ("data", "header", "body", "body_line"),
    [
        (b"---\n---\n", {}, "", 3),
        (b"---\n---", {}, "", 2),
        (b"---\na: 1\n---", {"a": "1"}, "", 3),
        (b"--- \t\na: 1\n---  \nx", {"a": "1"}, "x", 4),
        (b"---\n# note\n\na: 1\n---\nx\n---\ny: 2\n---\n", {"a": "1"}, "x\n---\ny: 2\n---\n", 6),
        (b"---\ntext: |\n  one\n  ---\n  two\n---\nx", {"text": "one\n---\ntwo\n"}, "x", 7),
        (b"---\ncontent: here\nhandler: x\n---\nx", {"content": "here", "handler": "x"}, "x", 5),
        (b"---\n{a: 1, b: [x]}\n---\nx", {"a": "1", "b": ["x"]}, "x", 4),
        ("---\nname: 日本 🎉\n---\nü".encode(), {"name": "日本 🎉"}, "ü", 4),
    ],
)
def test_headers_of_all_shapes_are_read(
    data: bytes, header: dict[str, object], body: str, body_line: int
) -> None:
    document = documents.parse(data, "a.md")
    assert document.has_header
    assert (document.header, document.body, document.body_line) == (header, body, body_line)
    assert document.problems == ()


@each_case(
    ("data", "line"),
    [
        (b"---\ntype: [topic\n---\nbody\n", 3),
        (b"---\ntype: topic\nbody without an end\n", 1),
        (b"---\na: 1\nb: 2\na: 3\n---\nbody\n", 4),
        (b"---\na: &x 1\nb: *x\n---\nbody\n", 2),
        (b"---\na: 1\nb: \xff\n---\nbody\n", 3),
        (b"---\na: 1\n\tb: 2\n---\nbody\n", 3),
        (b"---\na: \x00\n---\nbody\n", 2),
        (b"---\na: '" + b"x" * 20_000 + b"'\n---\nbody\n", 2),
        (b"---\na: '" + b"x" * 200_000 + b"'\n---\nbody\n", 1),
    ],
)
def test_a_broken_header_leaves_the_file_as_text(data: bytes, line: int) -> None:
    document = documents.parse(data, "topics/a.md")
    assert not document.has_header
    assert document.header == {}
    assert document.body == data.decode("utf-8", "replace")
    assert document.raw == data
    problem = document.problems[0]
    assert (problem.path, problem.line, problem.severity) == ("topics/a.md", line, "error")
    assert problem.hint


def test_invalid_bytes_are_kept_and_reported() -> None:
    data = b"---\ntype: reference\n---\nfine\nnot \xff\xfe fine\n\x00\n"
    document = documents.parse(data, "a.md")
    assert document.raw == data
    assert document.body == "fine\nnot \ufffd\ufffd fine\n\x00\n"
    assert [(problem.line, problem.severity) for problem in document.problems] == [(5, "warning")]


def test_a_yaml_bomb_in_a_header_is_rejected_quickly() -> None:
    bomb = b"---\na: &a [x]\n" + b"".join(b"b%d: [*a, *a]\n" % n for n in range(900)) + b"---\nbody\n"
    best = float("inf")
    for _ in range(3):
        began = time.thread_time()
        document = documents.parse(bomb, "a.md")
        best = min(best, time.thread_time() - began)
    assert best < 0.5
    assert not document.has_header
    assert document.body.endswith("body\n")


@given(
    st.binary(max_size=400) | st.text(st.sampled_from("-\n\ra: #[]'\"\ufeff"), max_size=60).map(str.encode)
)
def test_any_bytes_can_be_read_as_a_document(data: bytes) -> None:
    document = documents.parse(data, "a.md")
    assert document.raw == data
    assert document.body == data[_body_start(document) :].decode("utf-8", "replace").replace("\r\n", "\n")
    validate(document)


def _body_start(document: documents.Document) -> int:
    if document.body_line == 1:
        return 3 if document.bom else 0
    at = -1
    for _ in range(document.body_line - 1):
        at = document.raw.index(b"\n", at + 1)
    return at + 1
