"""Keys as a page, a terminal or code shows them: with something inside, in parts, or in base64."""

from __future__ import annotations

import random
import string
from base64 import b64encode

import pytest

from engine.redaction.detect import PLACEHOLDER, masked, redact, redacted, secrets_in
from tests.cases import each_case

_RNG = random.Random(5)
_WORD = string.ascii_letters + string.digits


def key(prefix: str, size: int, letters: str = _WORD) -> str:
    """A key with a prefix, that begins with a digit and ends in one."""
    return f"{prefix}7{''.join(_RNG.choices(letters, k=size - 2))}4"


KEYS = (
    *(key("ghp_", 36), key("sk-ant-api03-", 90), key("sk-proj-", 48), key("hf_", 34)),
    *(key("glpat-", 20), key("npm_", 36), key("AIza", 35), key("xai-", 80)),
    key("AKIA", 16, string.ascii_uppercase + string.digits),
)
HIDDEN = (
    *("\u200b", "\u00ad", "\u2060", "\ufeff", "\u200d", "\u202e", "\ufe0f", "\u200b\u00ad\u200b"),
    *("<wbr>", "<wbr/>", "<WBR>", "&shy;", "&#8203;", "&#x200B;", r"\u200b"),
    *("\x1b[0m", "\x1b[1;31m", "\x1b[0m\x1b[38;5;9m", r"\u001b[1m", r"\x1b[0m", r"\u{1b}[0m"),
)
BREAKS = (
    "\n",
    "\r\n",
    "\n    ",
    "\n\t",
    "\\\n",
    "\n│ ",
    "\n> ",
    '" + "',
    "' . '",
    '"\n    "',
    '" +\n  "',
    "``",
)
MIDDLES = ("The deploy uses {} every day.", "x = {}\n", "Use {}", "\u26a0\ufe0f Not {}!\n")


@each_case("hidden", HIDDEN)
def test_a_key_is_redacted_with_what_nobody_sees_in_it(hidden: str) -> None:
    for each in KEYS:
        for at in (2, 9, len(each) - 3):
            for middle in MIDDLES:
                text = middle.format(f"{each[:at]}{hidden}{each[at:]}")
                assert redacted(text) == middle.format(PLACEHOLDER), (each, at)


@each_case("line_break", BREAKS)
def test_a_key_in_two_parts_is_redacted(line_break: str) -> None:
    for each in KEYS:
        for at in (10 if each.startswith("AK") else 16, len(each) // 2):
            text = f'Use "{each[:at]}{line_break}{each[at:]}" for all.'
            found = redacted(text)
            assert each[at:] not in found and each[:at] not in found, (each, at)
            assert found.endswith('" for all.')


def test_a_key_of_a_width_of_lines_is_redacted_with_all_of_them() -> None:
    for each in KEYS[1:3]:
        for width in (20, 24, 40):
            lines = [each[at : at + width] for at in range(0, len(each), width)]
            found = redacted("\n".join(("$ show", *lines, "$ exit")))
            assert not any(line in found for line in lines if len(line) > 11), (each, width)
            assert found.startswith("$ show\n") and found.endswith("\n$ exit")


@each_case(
    ("text", "kept"),
    [
        ("a\u200bb TOKEN={0} c\u200bd", "a\u200bb [secret] c\u200bd"),
        (
            "\x1b[31mred\x1b[0m {0} src/\x1b[1mfile\x1b[0m.py",
            "\x1b[31mred\x1b[0m [secret] src/\x1b[1mfile\x1b[0m.py",
        ),
        ("hy\u00adphen {0},\u200b x", "hy\u00adphen [secret],\u200b x"),
    ],
)
def test_what_is_hidden_elsewhere_stays(text: str, kept: str) -> None:
    split = f"{KEYS[0][:12]}\u200b{KEYS[0][12:]}"
    assert redacted(text.format(split)) == kept
    (secret,) = secrets_in(f"one\n{text.format(split)}")
    assert secret.line == 2
    assert len(masked(text.format(split))) == len(text.format(split))


def test_a_password_and_a_key_without_a_prefix_are_judged_as_shown() -> None:
    assert redacted("password: hun\u200bter22xy") == PLACEHOLDER
    value = key("", 40)
    assert value[20:] not in redacted(f"the api key is {value[:20]}\u00ad{value[20:]}, keep it")


@each_case("sign", ["%5F", "%5f", r"\u005f", r"\u005F", r"\\u005f", r"\x5f", "&#95;"])
def test_a_key_is_redacted_with_its_sign_escaped(sign: str) -> None:
    for each in (KEYS[0], KEYS[3], KEYS[5]):
        assert (
            redacted(f"https://a.example/?t={each.replace('_', sign)} x")
            == f"https://a.example/?t={PLACEHOLDER} x"
        )


def test_a_key_after_an_underscore_is_redacted() -> None:
    for name in ("TOKEN", "my_old", "x"):
        found = redacted(f"see {name}_{KEYS[0]} there")
        assert KEYS[0][4:] not in found and found.startswith("see ") and found.endswith(" there"), name
    assert redacted("my_npm_" + "package" * 6) == "my_npm_" + "package" * 6


@each_case("form", ["{}", "echo {} | base64 -d", "base64: {}", "see {}.", '"{}"'])
def test_a_key_in_base64_is_redacted(form: str) -> None:
    for each in KEYS:
        encoded = b64encode(each.encode()).decode()
        for text in (encoded, encoded.rstrip("=")):
            found = redacted(form.format(text))
            assert PLACEHOLDER in found and text[8:] not in found, each


@each_case(
    "text",
    [
        "see sk-\nlearn12 and more of it",
        "use hf_hub\nand 4d8079aa0e6f5e9bb0f2f44f5f2f4ea3d0c3c6a1 of it",
        'join("sk-" + "item", "ghp_" + "…")',
        "ghp_xxxxxxxxxxxx\nxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "npm_config_cache\nnpm_lifecycle_event\nnpm_package_version",
        "caf\u00e9 \x1b[31mM\x1b[0m src/\x1b[1mtoken2\x1b[0m.py:12 hy\u00adphen\u00adation na\u00efve",
        "\u26a0\ufe0f the token is checked\u200b, not\u200b stored",
        "a%5Fb%2Dc=1&token_type%5F2=x",
        r"\u005f\u005finit\u005f\u005f",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f468\u200d\U0001f469\u200d\U0001f467",
    ],
)
def test_other_text_with_something_hidden_or_broken_is_kept(text: str) -> None:
    assert redacted(text) == text


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "part",
    [
        *(
            "a\u200b",
            "\u200b",
            "a<wbr>",
            "a%5f",
            "a\x1b[0m",
            "a\x1b[",
            "\x1b[0m",
            "ghp_aB1\n",
            'ghp_aB1" + "',
            "ghp_aB1\\\n",
        ),
        *(
            "sk-aB1\u200b",
            "Z2hwXaB1+",
            "_ghp_aB1",
            "MIIEaaIBAAKC",
            "MIIEaaIBAAKC" + "a" * 40 + "\n",
            "b3BlbnNzaC1rZXktdjE ",
        ),
        *(
            "here is the key ",
            "primary key ",
            "seed phrase for a:",
            "助记词",
            "\u52a9\u8bb0\u8bcd\u7684 ",
            ":::",
            "/private-",
        ),
    ],
)
def test_a_text_of_hidden_and_broken_parts_is_scanned(part: str) -> None:
    text = part * (100_000 // len(part))
    assert redact(text)[1] <= len(text)


def der(head: bytes) -> str:
    """Base64 of a structure that begins so, and goes on by chance."""
    return b64encode(head + _RNG.randbytes(624 - len(head))).decode()


PRIVATE = (
    *(
        bytes.fromhex(each)
        for each in ("308204a30201000282010100", "3082025c02010002818100", "30820942020100028202")
    ),
    *(bytes.fromhex(each) for each in ("308204be020100300d06092a864886f70d0101", "30820a0b02010330820a")),
    *(
        bytes.fromhex(each)
        for each in ("30770201010420", "3074020101042011", "3081a40201010430", "3081dc0201010442")
    ),
    *(
        bytes.fromhex(each)
        for each in ("308187020100301306072a8648", "302e020100300506032b6570", "3047020100300506032b6571")
    ),
    *(bytes.fromhex("3082052d305706092a864886f70d01050d"), b"openssh-key-v1\0\0\0\0\4none"),
)
"""How keys in PKCS #1, #8, #12 and SEC 1, encrypted ones, and those of OpenSSH begin."""
PUBLIC = (
    *(
        bytes.fromhex(each)
        for each in (
            "30820122300d06092a864886f70d01010105",
            "3082010a0282010100",
            "3059301306072a8648ce3d0201",
        )
    ),
    *(
        bytes.fromhex(each)
        for each in (
            "308202f9308201e1a003020102021408",
            "30820251308201390201003018",
            "302a300506032b6570032100",
        )
    ),
    bytes.fromhex("3082032806092a864886f70d010702a08203193082"),
)
"""The same of public keys, certificates, requests for one, and bundles of them."""


@each_case("parts", ["\n", "\\n", "\n    ", "\n> ", ""])
def test_the_lines_of_a_private_key_are_redacted_without_its_first(parts: str) -> None:
    for head in PRIVATE:
        body = der(head)
        lines = [body[at : at + 64] for at in range(0, len(body), 64)]
        found = redacted(f"the file has\n{parts.join(lines)}\nand so on")
        assert not any(line[-20:] in found for line in lines[:-1]), head
        assert found.startswith("the file has\n") and found.endswith("\nand so on")
    for head in PUBLIC:
        body = der(head)
        text = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
        assert redacted(f"the file has\n{text}\nand so on") == f"the file has\n{text}\nand so on"


def test_a_private_key_in_a_log_is_redacted_with_the_dates_between_its_lines() -> None:
    body = der(PRIVATE[0])
    lines = ["-----BEGIN RSA PRIVATE" + " KEY-----", *(body[at : at + 64] for at in range(0, len(body), 64))]
    for last in ([], ["-----END RSA PRIVATE" + " KEY-----"]):
        log = [f"2026-11-03 10:22:{at:02} app[4]: {line}" for at, line in enumerate((*lines, *last))]
        found = redacted("\n".join(("before", *log)))
        assert found.startswith("before\n2026") and not any(line[-20:] in found for line in lines)


@each_case("mark", ["+", "-"])
def test_a_key_of_an_unknown_service_is_redacted_in_a_diff(mark: str) -> None:
    key = "aB3dE5gH7jK9mN1pQ3sT" * 2
    assert redacted(f"@@ -1 +1 @@\n{mark}{key}\n") == f"@@ -1 +1 @@\n{mark}{PLACEHOLDER}\n"
