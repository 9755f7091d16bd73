from __future__ import annotations

import difflib
from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.errors import DocumentError
from engine.store import documents
from tests.cases import each_case

TOPIC = b"""---
type: topic
# what calls it
triggers:   # in order
  - type: webhook
    source: email   # the gateway's name
  # said by people
  - type: pattern
    match: "email|inbox|mail"
    scope: input
subscriptions:
  - knowledge/people/_index.md
  - knowledge/procedures/email-workflow.md # steps
activation: gated          # auto | gated | manual
tags: [x, 'y']
text: |
  one

  two

empty:
threshold: 0.15
id: 0123
quiet: no
---

# Email Triage

---
tags: not a header
---
"""


def edit_diff(changes: dict[str, object | None], data: bytes = TOPIC) -> list[str]:
    """The lines that an edit removes and adds, marked with - and +."""
    before = data.decode().split("\n")
    after = documents.edit_header(data, changes, "topics/email.md").decode().split("\n")
    lines = list(difflib.unified_diff(before, after, n=0, lineterm=""))[2:]
    return [f"{line[0]} {line[1:]}" for line in lines if not line.startswith("@@")]


@each_case(
    ("changes", "lines"),
    [
        (
            {"activation": "auto"},
            [
                "- activation: gated          # auto | gated | manual",
                "+ activation: auto          # auto | gated | manual",
            ],
        ),
        ({"triggers.1.match": 'a"b\\c'}, ['-     match: "email|inbox|mail"', '+     match: "a\\"b\\\\c"']),
        ({"triggers.1.match": "é 🎉"}, ['-     match: "email|inbox|mail"', '+     match: "é 🎉"']),
        ({"empty": [{"path": "a.md", "lines": "3-9"}]}, ["+   - path: a.md", "+     lines: 3-9"]),
        ({"triggers.0.source": None}, ["-     source: email   # the gateway's name"]),
        (
            {"triggers.1": None},
            ["-   - type: pattern", '-     match: "email|inbox|mail"', "-     scope: input"],
        ),
        ({"triggers.2.type": "cron"}, ["+   - type: cron"]),
        (
            {"triggers.2": {"type": "cron", "schedule": "0 9 * * *"}},
            ["+   - type: cron", "+     schedule: 0 9 * * *"],
        ),
        ({"tags": ["x", "y", "a, b"]}, ["- tags: [x, 'y']", "+ tags: [x, 'y', 'a, b']"]),
        ({"tags": []}, ["- tags: [x, 'y']", "+ tags: []"]),
        ({"tags": None}, ["- tags: [x, 'y']"]),
        ({"tags.0": None}, ["- tags: [x, 'y']", "+ tags: ['y']"]),
        ({"tags.1": None}, ["- tags: [x, 'y']", "+ tags: [x]"]),
        (
            {
                "subscriptions": [
                    "knowledge/people/_index.md",
                    "knowledge/procedures/email-workflow.md",
                    "a.md",
                ]
            },
            ["+   - a.md"],
        ),
        ({"subscriptions": ["knowledge/procedures/email-workflow.md"]}, ["-   - knowledge/people/_index.md"]),
        (
            {"subscriptions": ["knowledge/people/_index.md", "a.md"]},
            ["-   - knowledge/procedures/email-workflow.md # steps", "+   - a.md # steps"],
        ),
        ({"subscriptions.0": None}, ["-   - knowledge/people/_index.md"]),
        ({"subscriptions.2": "a.md"}, ["+   - a.md"]),
        ({"text": "three\nfour\n"}, ["-   one", "- ", "-   two", "+   three", "+   four"]),
        ({"text": None}, ["- text: |", "-   one", "- ", "-   two"]),
        ({"empty": "full"}, ["- empty:", "+ empty: full"]),
        ({"empty.a.b": "c"}, ["+   a:", "+     b: c"]),
        ({"threshold": 0.25}, ["- threshold: 0.15", "+ threshold: 0.25"]),
        ({"threshold": "0.25"}, ["- threshold: 0.15", "+ threshold: 0.25"]),
        ({"type": "no"}, ["- type: topic", '+ type: "no"']),
        ({"type": "012"}, ["- type: topic", '+ type: "012"']),
        ({"quiet": "yes"}, ["- quiet: no", "+ quiet: yes"]),
        ({"new": "a: b"}, ["+ new: 'a: b'"]),
        ({"new": True, "other": 3}, ["+ new: true", "+ other: 3"]),
        ({"new": ["one", "two"]}, ["+ new: [one, two]"]),
        ({"new": [{"a": "b", "c": ["d"]}]}, ["+ new:", "+   - a: b", "+     c:", "+       - d"]),
        ({"new.deep.er": "x"}, ["+ new:", "+   deep:", "+     er: x"]),
        ({"new": "one\ntwo"}, ["+ new: |-", "+   one", "+   two"]),
        ({"new": "2026-02-16T18:00:00Z"}, ["+ new: 2026-02-16T18:00:00Z"]),
        ({"new": ""}, ['+ new: ""']),
        ({"absent": None, "triggers.9": None, "type.x": None, "tags.x": None}, []),
        ({"type": "topic", "quiet": "no", "id": "0123", "tags": ["x", "y"]}, []),
    ],
)
def test_only_the_requested_fields_change(changes: dict[str, object | None], lines: list[str]) -> None:
    assert edit_diff(changes) == lines


@each_case(
    ("key", "value"),
    [
        ("type.x", "y"),
        ("triggers.7", "x"),
        ("triggers.x", "y"),
        ("", "x"),
        ("a..b", "x"),
        ("a", object()),
        ("a", b"bytes"),
        ("a", date(2026, 2, 16)),
        ("triggers.0.type", None),
        ("triggers.0", "x"),
        ("a", "half \ud800"),
    ],
)
def test_unwritable_values_are_rejected(key: str, value: object) -> None:
    with pytest.raises(DocumentError) as caught:
        documents.edit_header(TOPIC, {key: value}, "topics/email.md")
    assert str(caught.value)


@each_case(
    "data",
    [
        b"---\ntype: [\n---\nbody\n",
        b"---\ntype: topic\nno end\n",
        b"---\na: 1\na: 2\n---\n",
        b"---\na: &x 1\n---\n",
        b"---\na: \xff\n---\n",
    ],
)
def test_a_broken_header_is_never_rewritten(data: bytes) -> None:
    with pytest.raises(DocumentError) as caught:
        documents.edit_header(data, {"a": "b"}, "topics/x.md")
    assert "topics/x.md:" in str(caught.value)
    assert caught.value.hint


def test_a_header_cannot_outgrow_its_limit() -> None:
    with pytest.raises(DocumentError):
        documents.edit_header(TOPIC, {"new": "x" * 20_000})


@each_case(
    ("data", "result"),
    [
        (b"", b"---\na: b\n---\n"),
        (b"# Title\n", b"---\na: b\n---\n# Title\n"),
        (b"\xef\xbb\xbfx\r\ny", b"\xef\xbb\xbf---\r\na: b\r\n---\r\nx\r\ny"),
        (b"\xff\xfe\x00", b"---\na: b\n---\n\xff\xfe\x00"),
        (b"---\n\nA rule.\n\n---\n", b"---\na: b\n---\n---\n\nA rule.\n\n---\n"),
        (b"---\n---\nx", b"---\na: b\n---\nx"),
        (b"---\n# note\n---\nx", b"---\n# note\na: b\n---\nx"),
        (b"---\n{c: d}\n---\nx", b"---\n{c: d, a: b}\n---\nx"),
        (b"---\n{}\n---\nx", b"---\n{a: b}\n---\nx"),
        (b"---\nc: d\n# last\n\n---\nx", b"---\nc: d\na: b\n# last\n\n---\nx"),
        (b"---\nc: |+\n  d\n\n---\nx", b"---\nc: |+\n  d\n\na: b\n---\nx"),
        (b"---\na: # none yet\nc: d\n---\nx", b"---\na: b # none yet\nc: d\n---\nx"),
        (b"---\na: # why\n  - c # x\n---\nx", b"---\na: b # why # x\n---\nx"),
    ],
)
def test_a_field_is_added_to_headers_of_all_shapes(data: bytes, result: bytes) -> None:
    assert documents.edit_header(data, {"a": "b"}) == result


@each_case(
    ("data", "key", "result"),
    [
        (b"---\na: 1\n---\nx", "a", b"---\n---\nx"),
        (b"---\na:\n  b: 1\n---\nx", "a.b", b"---\na: {}\n---\nx"),
        (b"---\na:\n- b # c\n---\nx", "a.0", b"---\na: [] # c\n---\nx"),
        (b"---\n{a: 1}\n---\nx", "a", b"---\n{}\n---\nx"),
        (b"---\n{a: 1, b: , c}\n---\nx", "b", b"---\n{a: 1, c}\n---\nx"),
        (b"---\na:\n  - b: 1\n    # why\n    c: 2\n---\n", "a.0.c", b"---\na:\n  - b: 1\n    # why\n---\n"),
        (b"---\na.b: 1\na: {b: 2, c: 3}\n---\n", "a.b", b"---\na.b: 1\na: {c: 3}\n---\n"),
        (b"x", "a", b"x"),
        (b"---\n\nA rule.\n\n---\n", "a", b"---\n\nA rule.\n\n---\n"),
    ],
)
def test_a_field_is_removed_from_headers_of_all_shapes(data: bytes, key: str, result: bytes) -> None:
    assert documents.edit_header(data, {key: None}) == result


_words = st.text("abcdefgh", min_size=1, max_size=6)
_texts = st.one_of(
    _words,
    st.sampled_from(
        ["no", "012", "a: b", "# x", "'", '"', "\\b(x|y)\\b", "~", "- a", "*.py", "", "é 🎉", "a, b]"]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.text("ab \n", max_size=12),
)
_values = st.recursive(
    _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words, inner, max_size=3),
    max_leaves=5,
)
_comments = st.sampled_from(["", "", "  # a note", " #"])


@st.composite
def _headers(draw: st.DrawFn) -> tuple[list[tuple[str, list[str]]], str]:
    """Keys with their lines, in various common styles, and the line ending."""
    keys = draw(st.lists(_words, min_size=1, max_size=5, unique=True))
    blocks = []
    for key in keys:
        word, other, note = draw(_words), draw(_words), draw(_comments)
        shapes = [
            [f"{key}: {word}{note}"],
            [f"{key}:   '{word} # {other}'{note}"],
            [f'{key}: "{word}\\t{other}"{note}'],
            [f"{key}: [{word}, {other}]{note}"],
            [f"{key}:{note}", f"  - {word}{note}", f"  - {other}"],
            [f"{key}:{note}", f"- {word}", f"- '{other}'{note}"],
            [f"{key}:{note}", f"    {word}x: 1", "    # inside", f"    {other}y: no{note}"],
            [f"{key}: |", f"  {word}", "", f"    {other}"],
            [f"{key}: >-{note}", f"  {word}", f"  {other}"],
            [f"{key}:{note}"],
            [f"# above {key}", f"{key}: {word}", ""],
            [f"{key}:", f"  - {word}: 1{note}", f"    {other}z: [2, 3]", f"  - {other}"],
        ]
        blocks.append((key, draw(st.sampled_from(shapes))))
    return blocks, draw(st.sampled_from(["\n", "\r\n"]))


_bodies = st.binary(max_size=40) | st.sampled_from([b"", b"\n# T\r\n---\n", b"---\na: b\n---\n", b"\xff\x00"])


@given(_headers(), _bodies, st.booleans(), st.data())
def test_all_but_the_field_stays_byte_for_byte(
    header: tuple[list[tuple[str, list[str]]], str], body: bytes, bom: bool, data: st.DataObject
) -> None:
    blocks, newline = header
    key, value = (
        data.draw(st.sampled_from([key for key, _ in blocks] + ["new"])),
        data.draw(_values | st.none()),
    )
    mark = b"\xef\xbb\xbf" if bom else b""

    def text(parts: list[tuple[str, list[str]]]) -> bytes:
        return "".join(f"{line}{newline}" for _, lines in parts for line in lines).encode()

    fence = f"---{newline}".encode()
    raw = mark + fence + text(blocks) + fence + body
    before = documents.parse(raw, "a.md")
    assert before.has_header
    after_raw = documents.edit_header(raw, {key: value}, "a.md")
    after = documents.parse(after_raw, "a.md")

    wanted = dict(before.header)
    if value is None:
        wanted.pop(key, None)
    else:
        wanted[key] = value
    assert after.header == wanted
    assert after_raw.endswith(fence + body)
    assert after_raw.startswith(mark + fence)
    names = [name for name, _ in blocks]
    if key in names:
        at = names.index(key)
        assert after_raw.startswith(mark + fence + text(blocks[:at]))
        assert after_raw.endswith(text(blocks[at + 1 :]) + fence + body)
    else:
        added = len(after_raw) - len(raw)
        assert any(raw == after_raw[:at] + after_raw[at + added :] for at in range(len(raw) + 1))
    if newline == "\r\n":
        written = after_raw[len(mark) : len(after_raw) - len(body)]
        assert b"\n" not in written.replace(b"\r\n", b"")
    if key in names and value is not None:
        notes = [line for line in blocks[at][1] if line.startswith("#")]
        assert all(note.encode() in after_raw for note in notes)


@example(b"---\n(:\n---", {"a": []})
@given(st.binary(max_size=80), st.dictionaries(_words, _values, min_size=1, max_size=4))
def test_a_header_added_to_any_body_is_read_back(body: bytes, values: dict[str, object]) -> None:
    try:
        raw = documents.edit_header(body, dict(values), "a.md")
    except DocumentError:
        assert documents.parse(body, "a.md").problems
        return
    document = documents.parse(raw, "a.md")
    assert {key: document.header[key] for key in values} == values
    # A body that starts with a header gets more lines in it; the rest is untouched.
    before = documents.parse(body, "a.md")
    assert document.body == before.body
    assert before.body_line > 1 or raw.endswith(body.removeprefix(b"\xef\xbb\xbf"))


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c.d", "l", "m"]), _values | st.none()), max_size=6))
def test_many_edits_give_the_expected_header(edits: list[tuple[str, object]]) -> None:
    raw = b"---\n# start\na: 1 # one\nl: [x]\nm:\n  - y\n---\nbody\n"
    expected: dict[str, object] = {"a": "1", "l": ["x"], "m": ["y"]}
    for key, value in edits:
        name, _, inner = key.partition(".")
        if inner and not isinstance(expected.get(name, {}), dict):
            expected.pop(name)
            raw = documents.edit_header(raw, {name: None})
        raw = documents.edit_header(raw, {key: value})
        holder = expected.setdefault(name, {}) if inner and value is not None else expected.get(name, {})
        place = holder if inner else expected
        assert isinstance(place, dict)
        if value is None:
            place.pop(inner or name, None)
        else:
            place[inner or name] = value
    document = documents.parse(raw, "a.md")
    assert document.header == expected
    assert document.body == "body\n"
    assert raw.startswith(b"---\n# start\n")


@each_case(
    ("data", "changes", "result"),
    [
        (b"", {"a": "b"}, b"a: b\n"),
        (b"a: 1", {"a": 2}, b"a: 2"),
        (b"a: 1 # one", {"b": 2}, b"a: 1 # one\nb: 2"),
        (b"a: 1\r\nb: 2", {"b": None}, b"a: 1"),
        (b"a: |-\n  text", {"b": 2}, b"a: |-\n  text\nb: 2"),
        (b"\xef\xbb\xbf{a: 1}", {"b": [1, 2]}, b"\xef\xbb\xbf{a: 1, b: [1, 2]}"),
        (b"---\na: 1\n---\n", {"absent": None}, None),
        (b"a: 1\n", {"absent": None}, b"a: 1\n"),
    ],
)
def test_a_yaml_file_is_edited_like_a_header(
    data: bytes, changes: dict[str, object | None], result: bytes | None
) -> None:
    if result is None:
        with pytest.raises(DocumentError, match=r"a\.yaml:3: contains a second YAML document"):
            documents.edit_yaml(data, changes, "a.yaml", max_bytes=1_000)
    else:
        assert documents.edit_yaml(data, changes, "a.yaml", max_bytes=1_000) == result


@each_case("style", ["|", "|+", ">"])
def test_a_text_that_its_line_endings_would_change_is_left_alone(style: str) -> None:
    with pytest.raises(DocumentError, match=r"a\.yaml: its last line has no line end; add a newline"):
        documents.edit_yaml(f"a: {style}\n  text".encode(), {"b": 2}, "a.yaml", max_bytes=1_000)


def test_a_yaml_file_has_its_own_limit() -> None:
    large = b"# " + b"x" * 100_000 + b"\na: 1\n"
    assert documents.edit_yaml(large, {"a": 2}, "a.yaml", max_bytes=200_000).endswith(b"\na: 2\n")
    with pytest.raises(DocumentError, match="the file would be 30005 bytes, more than 30000"):
        documents.edit_yaml(b"a: 1\n", {"a": "x" * 30_001}, "a.yaml", max_bytes=30_000)
