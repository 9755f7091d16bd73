"""What looks like a key or a password is taken out of a text before it is sent to a service (N3).

Better one harmless word too many than one key too few: a vector does not suffer from a word that is missing.
"""

from __future__ import annotations

import re

PLACEHOLDER = "[secret]"
"""What stands where something was."""

_PATTERNS = (
    r"\bsk-ant-[\w-]{16,}",  # Anthropic
    r"\bsk-(?:proj|svcacct|admin|or|lf)-[\w-]{16,}",  # OpenAI's newer keys, OpenRouter, Langfuse
    r"\bsk-[A-Za-z0-9]{20,}",  # OpenAI's older keys, and those of its imitators
    r"\bAIza[\w-]{30,}",  # Google
    r"\bya29\.[\w-]{20,}",  # Google, OAuth
    r"\bhf_[A-Za-z0-9]{30,}",  # Hugging Face
    r"\bgsk_[A-Za-z0-9]{40,}",  # Groq
    r"\bgh[pousr]_[A-Za-z0-9]{30,}",  # GitHub
    r"\bgithub_pat_\w{22,}",
    r"\bglpat-[\w-]{20,}",  # GitLab
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",  # AWS
    r"\bxox[abeoprs]-[\w-]{10,}",  # Slack
    r"\bxapp-[\w-]{10,}",
    r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}",  # Stripe
    r"\bnpm_[A-Za-z0-9]{30,}",
    r"\bpypi-[\w-]{30,}",
    r"\bdop_v1_[0-9a-f]{40,}",  # DigitalOcean
    r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*",  # a JSON web token
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?:(?!-----END).)*(?:-----END [A-Z0-9 ]*-----)?",
    r"(?<=://)[^\s/@]{1,256}(?=@)",  # name and password in an address
    r"(?<=Bearer )[\w.~+/=-]{16,}",
    # Something called a password that has a digit in it.
    r"(?i:(?:api[_-]?key|secret|token|passw(?:or)?d|pwd|credentials?)[\"']?\s{0,3}[:=]\s{0,3}[\"']?)"
    r"(?=[^\s\"'0-9]{0,200}[0-9])[^\s\"']{8,}",
)
_ANY = re.compile("|".join(f"(?:{pattern})" for pattern in _PATTERNS), re.DOTALL)


def redacted(text: str) -> str:
    """The text with ``PLACEHOLDER`` in the place of what looks like a secret."""
    return redact(text)[0]


def redact(text: str) -> tuple[str, int]:
    """The text with ``PLACEHOLDER`` in the place of what looks like a secret, and in how many places."""
    return _ANY.subn(PLACEHOLDER, text)


_NEEDLES = (
    "sk-", "aiza", "ya29.", "hf_", "gsk_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-",
    "akia", "asia", "xox", "xapp-", "k_live_", "k_test_", "npm_", "pypi-", "dop_v1_", "eyj", "-----begin",
    "://", "bearer ",
)  # fmt: skip
"""In lower case, what a text holds wherever a pattern matches."""
_NAMES = ("apikey", "api_key", "api-key", "secret", "token", "password", "passwd", "pwd", "credential")
"""The same for what is called a password: then a colon or an equals sign follows at once."""
_REACH = 256
_SIGN_WITHIN = 7
_SMALL = {ord(letter): letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def secret_lines(text: str) -> tuple[int, ...]:
    """The lines on which something begins that looks like a secret, from 1.

    As sharp as ``redact``, but quick: only lines are looked at that hold what every secret of a kind holds.
    """
    low = text.lower()
    if len(low) != len(text):  # A few letters have a longer small form, which would shift the places.
        low = text.translate(_SMALL)
    starts: set[int] = set()
    for needle in (*_NEEDLES, *_NAMES):
        place = low.find(needle)
        while place >= 0:
            behind = place + len(needle)
            sign = low[behind : behind + _SIGN_WITHIN] if needle in _NAMES else ":"
            if ":" in sign or "=" in sign:
                starts.add(text.rfind("\n", 0, place) + 1)
                behind = text.find("\n", place)
            place = low.find(needle, behind) if behind >= 0 else -1
    found: list[int] = []
    line, counted = 1, 0
    for start in sorted(starts):
        end = text.find("\n", start) + 1 or len(text)
        match = _ANY.search(text, start, min(end + _REACH, len(text)))
        if match is not None and match.start() < end:
            line += text.count("\n", counted, start)
            counted = start
            found.append(line)
    return tuple(found)
