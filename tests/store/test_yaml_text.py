from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.store import yamltext
from tests.cases import each_case


@each_case(
    "scalar",
    ["0123", "012", "no", "on", "12:30:45", "2026-02-16", "1_000", "0x1F", ".inf", "1e3", "true", "=", "<<"],
)
def test_a_scalar_is_read_as_the_written_text(scalar: str) -> None:
    assert yamltext.parse(f"key: {scalar}\n")["key"] == scalar


@each_case("written", ["", "~", "null", "Null", "NULL"])
def test_null_reads_as_empty_text(written: str) -> None:
    assert yamltext.parse(f"key: {written}\n") == {"key": ""}


def test_a_quoted_null_is_text() -> None:
    assert yamltext.parse("a: 'null'\nb: \"~\"\n") == {"a": "null", "b": "~"}


def test_a_null_key_is_read_as_text() -> None:
    assert yamltext.parse("null: a\nno: b\n012: c\n") == {"null": "a", "no": "b", "012": "c"}


def test_nested_values_have_line_numbers() -> None:
    header = yamltext.parse(
        "type: topic\n# a comment\ntriggers:\n  - type: webhook\n    source: email\n\n  - type: cron\n"
        "content: x\n",
        first_line=2,
    )
    triggers = header["triggers"]
    assert isinstance(triggers, yamltext.Sequence)
    second = triggers[1]
    assert isinstance(second, yamltext.Mapping)
    assert header == {
        "type": "topic",
        "triggers": [{"type": "webhook", "source": "email"}, {"type": "cron"}],
        "content": "x",
    }
    assert [header.line_of(key) for key in header] == [2, 4, 9]
    assert [triggers.line_of_item(0), triggers.line_of_item(1)] == [5, 8]
    assert second.line_of("type") == 8
    assert (header.line_of("absent"), header.line_of("absent", 7)) == (0, 7)
    assert triggers.line_of_item(5) == triggers.line


def test_lines_are_counted_as_by_editors() -> None:
    header = yamltext.parse('a: "one\u2028two\x85three"\r\nb: x\r\n')
    assert header.line_of("b") == 2


@each_case(
    ("text", "line", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "repeats the key 'a' of line 1"),
        ("a: 1\n\nb:\n  c: 1\n  c: 2\n", 5, "repeats the key 'c' of line 4"),
        ("a: 1\nb: *a\n", 2, "alias"),
        ("a: &x 1\n", 1, "anchor"),
        ("a: !!python/object/apply:os.system [ls]\n", 1, "tag"),
        ("a: !important\n", 1, "tag"),
        ("a: 1\n? [x]\n: 2\n", 2, "list or mapping as a key"),
        ("a: [1, 2\nb: 3\n", 2, "not valid YAML"),
        ("a: b: c\n", 1, "not valid YAML"),
        ("a: 1\n\tb: 2\n", 2, "not valid YAML"),
        ("a: \x07\n", 1, "not valid YAML"),
        ("a: \x00\n", 1, "not valid YAML"),
        ("a: 1\nb: \ud800\n", 2, "surrogate"),
        ("- a\n- b\n", 1, "key: value"),
        ("just text\n", 1, "key: value"),
        ("a: 1\n---\nb: 2\n", 2, "second YAML document"),
    ],
)
def test_an_error_names_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(yamltext.YamlError) as caught:
        yamltext.parse(text)
    assert caught.value.line == line
    assert message in str(caught.value)
    assert caught.value.hint


def test_empty_text_is_an_empty_mapping() -> None:
    assert yamltext.parse("") == {}
    assert yamltext.parse("# only a comment\n\n") == {}


def _billion_laughs() -> str:
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    for level in range(1, 9):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]")
    return "\n".join(lines)


@each_case(
    "bomb",
    [
        _billion_laughs(),
        "a: " + "[" * 3000,
        "a: " + "[" * 3000 + "]" * 3000,
        "a: " + "{b: " * 3000,
        "".join(f"{' ' * depth}k:\n" for depth in range(150)),
        "- " * 3000,
        "\n".join(f"key{index}: {index}" for index in range(20_000)),
        "a: '" + "x" * 10_000_000 + "'",
        "a: " + "!" * 10_000,
        "? " * 5000,
    ],
)
def test_yaml_bombs_are_rejected_quickly(bomb: str) -> None:
    # The best of three, because the limit is about the parser, not the load of the machine.
    best = float("inf")
    for _ in range(3):
        began = time.thread_time()
        with pytest.raises(yamltext.YamlError):
            yamltext.parse(bomb)
        best = min(best, time.thread_time() - began)
    assert best < 0.5


def test_a_larger_limit_can_be_given() -> None:
    text = "\n".join(f"key{index}: {index}" for index in range(3000))
    assert len(yamltext.parse(text, max_bytes=256 * 1024)) == 3000


_plain = st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Cn", "Zl", "Zp"], exclude_characters="\ufeff"), max_size=30
)


@given(st.text(max_size=200))
def test_any_text_is_read_or_rejected(text: str) -> None:
    try:
        mapping = yamltext.parse(text)
    except yamltext.YamlError as error:
        assert 1 <= error.line <= 2 + text.count("\n")
    else:
        assert all(isinstance(key, str) for key in mapping)


@given(st.dictionaries(_plain.filter(bool), _plain, max_size=6))
def test_json_is_read_unchanged(values: dict[str, str]) -> None:
    import json

    assert yamltext.parse(json.dumps(values, ensure_ascii=False)) == values
