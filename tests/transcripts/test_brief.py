"""One-line summaries."""

from __future__ import annotations

from engine.redaction.detect import redacted
from engine.transcripts.brief import count, one_line
from tests.cases import each_case


@each_case(
    ("text", "expected"),
    [
        ("", ""),
        ("  a\n\n b\t c \r\n", "a b c"),
        ("\x1b[31mred\x1b[0m \x1b]0;title\x07plain", "red plain"),
        ("x" * 10, "x" * 10),
        ("x" * 11, "x" * 9 + "…"),
        ("four five six", "four five…"),
        ("a" + " " * 50_000, "a"),
        ("a" + " " * 50_000 + "b", "a…"),
    ],
)
def test_a_summary_is_one_short_line(text: str, expected: str) -> None:
    assert one_line(text, 10) == expected


@each_case(
    "secret",
    [
        "ghp_" + "aB3" * 12,
        "AIza" + "aB3" * 11 + "xy",
        "password=" + "hT7kQ" * 3,
        "SG." + "aB3" * 7 + "." + "xY9" * 14,
    ],
)
def test_no_secret_is_cut(secret: str) -> None:
    assert redacted(secret) != secret
    for before in range(100, 220):
        line = one_line("y" * before + f" {secret} and more words " * 20)
        assert "…" in line and len(line) <= 200
        assert not any(secret[5:9] in part and secret not in part for part in line.split())


def test_counts_use_singular_and_plural() -> None:
    assert [count(1, "line"), count(2, "line"), count(12_345, "file")] == [
        "1 line",
        "2 lines",
        "12,345 files",
    ]
