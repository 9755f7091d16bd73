"""Text crafted to be slow to scan is scanned in linear time."""

from __future__ import annotations

import sys

import pytest

from engine.redaction.detect import redact
from tests.cases import each_case


@pytest.mark.timeout(20)
@pytest.mark.parametrize("part", ["a", "=", '"', "'", "`", "\\", "\n"])
def test_a_long_run_of_one_character_is_scanned(part: str) -> None:
    text = part * 300_000
    assert redact(text) == (text, 0)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "part",
    [
        *(
            "eyJ-",
            "a|password\n",
            "a,password\nb,c\n",
            "PASSWORD  USER\n",
            "login a:",
            "$ echo token\n",
            'connect("a", ',
            'variable "x_key" { ',
            "passphrase: abcd ",
            "recovery codes: ",
            "-----BEGIN PRIVATE KEY-----",
            "://a:",
            "token=",
            "curl -u ",
            "password is ",
            "secret key ",
            "token for a ",
            "token (a) ",
            "key<td>",
            "password || ",
            "password: str ",
            'token","a":1,',
            '"value": "abcd", "key": "token" ',
            "api_keys = [a, ",
        ),
        *(
            "пароль ",
            "şifre a",
            "密码",
            "x_live_",
            "key_",
            "_" + "a" * 12,
            "ZXlKaGJHY2lPaU",
            "LS0tLS1CRUdJTiB",
        ),
        *("net use /user:a ", "echo a | sudo -S ", "twitter=", "X=aa1", ".bcdefg.", "WIFI:P:", "signature="),
        *(
            "https -a ",
            "1/1",
            "htpasswd -b -c ",
            "x_live_" + "a" * 180 + "B1 ",
            "AB=" + "a" * 14 + "1" + "b" * 90,
        ),
    ],
)
def test_a_text_of_repeated_prefixes_is_scanned(part: str) -> None:
    text = part * (100_000 // len(part))
    assert redact(text)[1] <= 1


@pytest.mark.timeout(20)
def test_many_different_names_are_not_each_looked_for_in_the_whole_text() -> None:
    text = "".join(f"user_{number}_password: see page\n" for number in range(40_000))
    assert redact(text) == (text, 0)


@each_case("part", ["token=", "api_key=", "secret: ", "TOKEN=x-", "password=xxx"])
def test_overlapping_values_are_not_scanned_repeatedly(part: str) -> None:
    """Each keyword is followed by all the others, within the length examined for a value."""
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


def test_a_long_value_is_redacted_completely() -> None:
    value = "a1B2" * 5000
    redacted_text, count = redact(f"API_TOKEN={value} next sk-" + f"ant-{value} end")
    assert count == 2 and "a1B2" not in redacted_text and redacted_text.endswith(" end")


def test_letters_with_a_longer_lowercase_form_do_not_shift_offsets() -> None:
    redacted_text, _ = redact("İİİ password=hunter22 İ")
    assert redacted_text == "İİİ [secret] İ"
