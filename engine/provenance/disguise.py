"""Detects disguised text: look-alike letters, encoded runs, and suspicious paths."""

from __future__ import annotations

import base64
import binascii
import posixpath
import re
import unicodedata
from urllib.parse import unquote

from engine.startup.lazy import expression


def is_disguised(text: str) -> bool:
    """True if a text uses look-alike letters or contains an encoded run."""
    return _has_lookalikes(text) or _has_encoded_text(text)


def odd_paths(text: str) -> tuple[str, ...]:
    """The paths in a text that leave the workspace or point to files that control a machine or an agent."""
    return tuple(path for path in _PATH.findall(text) if _leads_out(path) or _CONTROL_PATH.search(path))


def account_numbers(text: str) -> tuple[str, ...]:
    """The bank accounts and crypto wallets in a text."""
    return tuple(re.sub(r"\s", "", match[0]) for match in _ACCOUNT.finditer(text))


def _has_lookalikes(text: str) -> bool:
    if text.isascii():
        return False
    words = _WORD.findall(text)
    scripts = [_scripts(word) for word in words]
    if any(len(found) > 1 and _is_mixed(word) for word, found in zip(words, scripts, strict=True)):
        return True
    latin = sum(found == {"LATIN"} for found in scripts)
    if latin * 2 > len(scripts) and any(len(word) > 2 and set(word) <= _LATIN_LOOKALIKES for word in words):
        return True
    return not _WIDE.search(text) and any(
        c.isalpha() and unicodedata.normalize("NFKC", c) != c and not c.isascii() and _is_styled(c)
        for c in text
    )


def _is_mixed(word: str) -> bool:
    """True if letters of another script replace Latin ones in a word; the Greek letter in ``ΔT`` does not."""
    foreign = [c for c in word if c.isalpha() and not unicodedata.name(c, "").startswith("LATIN")]
    return len(foreign) > 1 or bool(_LATIN_LOOKALIKES.intersection(foreign))


def _scripts(word: str) -> set[str]:
    """The scripts of a word's letters, limited to scripts with look-alike letters."""
    names = (unicodedata.name(c, "").split(" ")[0] for c in word if c.isalpha())
    return {
        name for name in names if name in ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC")
    }


def _is_styled(character: str) -> bool:
    """True if a letter is a styled variant of a plain one, such as a mathematical letter."""
    name = unicodedata.name(character, "")
    return name.startswith(("MATHEMATICAL", "FULLWIDTH", "CIRCLED", "SQUARED", "PARENTHESIZED", "NEGATIVE"))


def _has_encoded_text(text: str) -> bool:
    if len(_PERCENT.findall(text)) >= _MIN_ESCAPES and unquote(text) != text and _PERCENT_RUN.search(text):
        return True
    if _ESCAPES.search(text):
        return True
    return any(_is_encoded_text(match[0]) for match in _RUN.finditer(text))


def _is_encoded_text(run: str) -> bool:
    """True if a run decodes to readable text."""
    for decode in (bytes.fromhex, _base64, _base32):
        try:
            plain = decode(run).decode("utf-8")
        except (ValueError, binascii.Error):
            continue
        if (
            len(plain) >= _MIN_HIDDEN
            and plain.isprintable()
            and sum(map(str.isalpha, plain)) >= len(plain) / 2
        ):
            return True
    return False


def _base64(run: str) -> bytes:
    plain = run.rstrip("=").translate(str.maketrans("-_", "+/"))
    return base64.b64decode(plain[: len(plain) // 4 * 4], validate=True)


def _base32(run: str) -> bytes:
    plain = run.rstrip("=")
    return base64.b32decode(plain[: len(plain) // 8 * 8])


def _leads_out(path: str) -> bool:
    plain = posixpath.normpath(path.replace("\\", "/"))
    return plain == ".." or plain.startswith("../")


_WORD = expression(r"[^\W\d_]+")
_WIDE = expression(r"[぀-ヿ㐀-鿿가-힯]")
_LATIN_LOOKALIKES = frozenset("аеорсухіјѕһԁԛԝАВЕКМНОРСТУХІЈЅԌαοντυικρχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")
_MIN_HIDDEN = 8
_MIN_ESCAPES = 4
_PERCENT = expression(r"%[0-9A-Fa-f]{2}")
_PERCENT_RUN = expression(r"(?:%[0-9A-Fa-f]{2}\w{0,12}){4}")
_ESCAPES = expression(
    r"(?:\\x[0-9A-Fa-f]{2}){3}|(?:\\u\{?[0-9A-Fa-f]{4}\}?){3}|(?:&#x?[0-9A-Fa-f]{2,6};){3}"
    r"|(?:\b[01]{8}\b\s*){4}"
)
_RUN = expression(r"[A-Za-z0-9+/_-]{16,}={0,6}")
_PATH = expression(
    r"(?:~|(?<![\w@.+-])[\w@.+-]++)?(?:[/\\][\w@.~+-]+)+[/\\]?|(?<![\w.])\.{2}(?![\w.])"
    r"|(?<![\w/.-])\.?[\w-]+\.(?:md|yaml|conf)\b|(?<![\w/])\.[a-z]\w+"
)
_CONTROL_PATH = expression(
    r"(?:^|[/\\])(?:knowledge[/\\](?:identity|prompts|topics|memory)|\.githooks|\.git[/\\](?:hooks|config)"
    r"|\.ssh|\.gnupg|\.aws"
    r"|authorized_keys|known_hosts|id_rsa\w*|id_ed25519\w*|sudoers(?:\.d)?|crontab|cron\.\w+|launchagents"
    r"|launchdaemons|autostart"
    r"|ld\.so\.preload|hosts\.allow|shadow|passwd|pam\.d)(?:[/\\.]|$)"
    r"|(?:^|[/\\])\.(?:bashrc|bash_profile|bash_login|profile|zshrc|zshenv|zprofile|netrc|npmrc|pypirc"
    r"|gitconfig|pythonrc)$"
    r"|^(?:soul|persona|identity)\.md$|(?:^|[/\\])memory-config\.yaml$|^(?:~|/root"
    r"|/home/\w+)[/\\]\.(?!config/|local/|cache/)",
    re.IGNORECASE,
)
_ACCOUNT = expression(
    r"\b[A-Z]{2}\d{2}(?:[ ]?[A-Z0-9]{4}){2,7}(?:[ ]?[A-Z0-9]{1,4})?\b|\b(?:bc1[a-z0-9]{20,60}"
    r"|0x[0-9a-fA-F]{40}|[13][1-9A-HJ-NP-Za-km-z]{25,34})\b"
)
