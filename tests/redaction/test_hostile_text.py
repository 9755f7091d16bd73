"""Text made to be slow to look through takes time in proportion to its length."""

from __future__ import annotations

import sys

import pytest

from engine.redaction.detect import redact
from tests.cases import each_case


@pytest.mark.timeout(20)
@pytest.mark.parametrize("part", ["a", "=", '"', "'", "`", "\\", "\n"])
def test_a_long_run_of_one_character_is_read(part: str) -> None:
    text = part * 300_000
    assert redact(text) == (text, 0)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "part",
    ["eyJ-", "-----BEGIN PRIVATE KEY-----", "://a:", "token=", "curl -u ", "password is ", "secret key "],
)
def test_a_text_of_beginnings_is_read(part: str) -> None:
    text = part * (100_000 // len(part))
    assert redact(text)[1] <= 1


@each_case("part", ["token=", "api_key=", "secret: ", "TOKEN=x-", "password=xxx"])
def test_values_that_overlap_are_not_read_letter_by_letter(part: str) -> None:
    """Behind each naming word stand all the others, as far as a value is looked at."""
    text = part * (20_000 // len(part))
    redact(text)
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        redact(text)
    finally:
        sys.setprofile(None)
    assert calls < 10 * len(text)


def test_a_long_value_is_taken_out_to_its_end() -> None:
    value = "a1B2" * 5000
    said, count = redact(f"API_TOKEN={value} next sk-" + f"ant-{value} end")
    assert count == 2 and "a1B2" not in said and said.endswith(" end")


def test_letters_with_a_longer_small_form_shift_nothing() -> None:
    said, _ = redact("İİİ password=hunter22 İ")
    assert said == "İİİ [secret] İ"
