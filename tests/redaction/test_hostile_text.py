"""Text made to be slow to look through takes time in proportion to its length."""

from __future__ import annotations

import pytest

from engine.redaction.detect import redact


@pytest.mark.timeout(20)
@pytest.mark.parametrize("part", ["a", "=", '"', "'", "`", "\\", "\n"])
def test_a_megabyte_of_one_character_is_read(part: str) -> None:
    text = part * 1_000_000
    assert redact(text) == (text, 0)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "part",
    ["eyJ-", "-----BEGIN PRIVATE KEY-----", "://a:", "token=", "curl -u ", "password is ", "secret key "],
)
def test_a_text_of_beginnings_is_read(part: str) -> None:
    text = part * (100_000 // len(part))
    assert redact(text)[1] <= 1


def test_a_long_value_is_taken_out_to_its_end() -> None:
    value = "a1B2" * 5000
    said, count = redact(f"API_TOKEN={value} next sk-" + f"ant-{value} end")
    assert count == 2 and "a1B2" not in said and said.endswith(" end")


def test_letters_with_a_longer_small_form_shift_nothing() -> None:
    said, _ = redact("İİİ password=hunter22 İ")
    assert said == "İİİ [secret] İ"
