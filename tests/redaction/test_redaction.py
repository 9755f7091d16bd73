"""Text that looks like a secret does not leave this machine (N3), and other text is unchanged."""

from __future__ import annotations

import random
import time

from engine.redaction.detect import PLACEHOLDER, redact, redacted, secrets_in
from tests.cases import each_case

_A = "aZ3" * 20


@each_case(
    "secret",
    [
        f"sk-ant-api03-{_A}",
        f"sk-proj-{_A}-{_A}",
        f"sk-svcacct-{_A}",
        f"sk-{_A}",
        f"sk-or-v1-{_A}",
        f"AIza{_A[:35]}",
        f"ya29.{_A}",
        f"hf_{_A[:34]}",
        f"gsk_{_A[:52]}",
        f"ghp_{_A[:36]}",
        f"github_pat_{_A}",
        f"glpat-{_A[:20]}",
        "AKIAIOSFODNN7QWERTYU",
        "xoxb-123456789012-abcdefghijkl",
        "xapp-1-A0123456789-abcdef",
        "sk_" + f"live_{_A[:24]}",
        f"npm_{_A[:36]}",
        f"pypi-AgEIcHlwaS5vcmc{_A}",
        f"dop_v1_{'0a' * 32}",
        f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.{_A}",
        f"-----BEGIN RSA PRIVATE KEY-----\nMIIE{_A}\n{_A}\n-----END RSA PRIVATE KEY-----",
        f"-----BEGIN OPENSSH PRIVATE KEY-----\n{_A}\n(the rest was cut",
    ],
)
def test_each_kind_of_key_is_redacted(secret: str) -> None:
    assert redacted(f"see {secret}") == f"see {PLACEHOLDER}"
    assert secrets_in(f"one\nsee {secret}\nthree\n\nsee {secret}")[0].line == 2
    assert redacted(f"key={secret}\nnext line").startswith(f"key={PLACEHOLDER}")


@each_case(
    ("text", "kept"),
    [
        ("postgres://admin:hunter2@db.example/memory", f"postgres://{PLACEHOLDER}@db.example/memory"),
        (f"Authorization: Bearer {_A}", f"Authorization: Bearer {PLACEHOLDER}"),
        ("password: hunter2hunter2 for all", f"{PLACEHOLDER} for all"),
        ('"api_key": "abc123def456"', f'"{PLACEHOLDER}"'),
        ("DB_PASSWD=s3cr3t-enough", f"DB_{PLACEHOLDER}"),
    ],
)
def test_passwords_are_recognized_by_the_preceding_text(text: str, kept: str) -> None:
    assert [each.line for each in secrets_in(f"İ a token\n{text}\nand\n{text}")] == [2, 4]
    assert redacted(text) == kept


@each_case(
    "text",
    [
        "The password was changed on Monday, the secret is out.",
        "token: something to be counted",
        "see https://example.com/a@b and mail ada@example.com",
        "sk-learn is not a key, nor is task-oriented-planning-of-everything",
        "commit 4d8079aa0e6f5e9bb0f2f44f5f2f4ea3d0c3c6a1",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    ],
)
def test_plain_text_is_unchanged(text: str) -> None:
    assert redacted(text) == text


@each_case("part", ["eyJ-", "-----BEGIN PRIVATE KEY-----", "://a", "token=", "sk-", "a:b@", "x"])
def test_every_text_is_scanned_quickly(part: str) -> None:
    started = time.process_time()
    redacted(part * (16_000 // len(part)))
    assert time.process_time() - started < 1


def test_redactions_are_counted_and_placeholders_are_not_counted_again() -> None:
    text = f"sk-{_A} and password: hunter2hunter2 and nothing"
    redacted_text, count = redact(text)
    assert (redacted_text, count) == (f"{PLACEHOLDER} and {PLACEHOLDER} and nothing", 2)
    assert redact(redacted_text) == (redacted_text, 0)


def test_counts_of_tokens_are_no_secrets() -> None:
    """Every imported transcript has two in its header, and one finding holds it back from a commit."""
    names = (
        "tokens_in",
        "tokens_out",
        "max_tokens",
        "cache_read_input_tokens",
        "total_tokens",
        "token_count",
    )
    rng = random.Random(1)
    for name in names:
        for digits in range(1, 13):
            for _ in range(20):
                number = rng.randrange(10 ** (digits - 1), 10**digits)
                for line in (f"{name}: {number}", f'"{name}": {number},', f"{name} = {number:_}"):
                    assert not secrets_in(line), line
    assert secrets_in("password: 83719264") and secrets_in("the PIN is 482133")
