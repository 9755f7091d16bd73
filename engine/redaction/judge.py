"""Decides whether a value is a secret, from its shape and its place."""

from __future__ import annotations

import math
from collections.abc import Sequence

from engine.redaction.names import meaning, words
from engine.redaction.names import model as model
from engine.redaction.places import ANY_WIDE, PLACE, RANDOM, STRICT, is_arn, surroundings
from engine.redaction.shapes import SHAPE, shape
from engine.redaction.values import (
    has_digit,
    is_address,
    is_base58,
    is_file,
    is_formed,
    is_id,
    is_label,
    is_placeholder,
    is_public,
    is_reference,
    is_slug,
)
from engine.startup.lazy import expression

FEATURES = (*SHAPE, *PLACE)
LEAST, LEAST_UNNAMED = 0.42, 0.65
"""Probabilities from which a value is a secret: one that a name says is one, and another."""
_SURE, LEAST_QUOTED = 0.9, 0.04
"""From which a name plainly is a password's, and the same for a quoted word said to be one or with a mark."""
_MARKED = expression(r"[A-Za-z]{2,}(?:[$!#%&][A-Za-z]{2,}|[$#%&])")
_NAMES, _NAMES_BEFORE_SIGN, _WEAKLY = 0.5, 0.3, 0.15
"""Probabilities from which a name is that of a secret; the second before a colon or the like."""
_IS_OTHER = 0.9
"""Probability from which a name is that of something else, whatever its last word says: ``public key``."""
_ENOUGH = 200
_NEAR = 3
"""Words between a name and a value up to which it may name it."""
_ASSIGNMENT = expression(r"(?<![A-Za-z0-9])(?=\w{4})(?:[a-z_]+|[A-Z_]+|[a-z]+(?:[A-Z][a-z]+)+)=[^=\s]")
"""Within a value: it is a list of them."""
_PATTERN = expression(r"\][{][\d,]{1,9}[}]|\{[a-z_][\w.]*\}.*\{[a-z_][\w.]*\}")
"""Within a value: it is an expression for values, or a form that names fill."""
_FINGERPRINT = expression(r"(?i)(?:[rd]sa|ecdsa|eddsa|ed25519|gpg|pgp|public) key(?: id)?:? \Z")
"""Before the fingerprint of a key."""
_FINGERPRINT_SIZE = 40
_ENTITY = expression(r"&#\d{2,4};?\Z")
"""At the end of a value: it is a word in a page, with the quotation mark after it."""
_MANY_PARTS = 2
_CACHE_KEY = expression(
    r"(?:[A-Za-z]{3,20}-){3}(?:[\w.]{1,20}-){0,4}[0-9a-f]{32,64}|(?:[\w-]{1,40}:){1,3}[a-z-]{3,20}:[0-9a-f]{40,64}"
)
"""Words and the hash of a file, as build services and stores name what they keep."""
_CACHED = expression(r":[a-z-]{3,20}:[0-9a-f]{40,64}(?!\w)")
"""After the beginning of such a name."""
_WORDS = expression(r"[A-Za-z]?[a-z]+(?:[_-][A-Za-z]?[a-z]+)*")
_NUMBER = expression(r"\d[\d.,_]{0,14}[nLuf]?")
_BEFORE = 100
_ENCRYPTED_SIZE = 4_000
_KEY_SIZE, _CUT_SIZE, _SHORT = 16, 6, 8
_PRIVATE = expression(
    r"(?i)(?<!/)(?:secret|private|passw|passphrase|pwd|api|bearer|credential|community|seed)[^\n]{0,60}\Z"
)
"""Before what is a secret though it looks like an address or a name."""
_ON_CHAIN = expression(
    r"(?i)(?:address|wallet|program|mint|account|pub(?:lic)?[ _-]?key|authority|owner|vault|pool|signature"
    r"|\bsig\b|\btxn?\b|txid|transaction|explorer|hash)[^\n]{0,60}(?:\n[\s\"'`]{0,12})?\Z"
)
"""Before what everyone may see of a chain of blocks."""
_MOST_OF_ADDRESS = 64
"""Characters up to which base58 may be an address; more are a signature, or a private key."""
_RECORD_KEY = expression(r"(?:[A-Z][a-z]+)+Key")
_CUT_OFF = expression(r"[\"'`]?(?:\.\.\.|…)")
"""After the beginning of a key, which is no key."""
QUOTES = "\"'`"
_ASSIGNED = expression(
    r"(?P<name>[^\W\d_][\w-]{0,60})(?:\\{0,3}[\"'`\])]){0,3}\s{0,3}(?::=|=>|={1,3}|[:：＝])\s{0,3}(?:\\{0,3}[\"'`“])?\Z"
)
_WORD = expression(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\dA-Za-z_]+")
_QUALIFIERS = frozenset(
    """
    api access secret private auth master encryption signing app account client service license subscription
    instrumentation
    """.split()  # noqa: SIM905
)


_AT = {name: at for at, name in enumerate(FEATURES)}


def features(text: str, start: int, end: int) -> tuple[float, ...]:
    """The features of a value and its place."""
    value = text[start:end]
    return (*shape(value), *surroundings(text, start, end))


def ruled_out(value: str, *, quoted: bool) -> bool:
    """True for what is no secret wherever it stands."""
    return (
        len(value) < 4
        or ("&#" in value and _ENTITY.search(value) is not None)
        or value.startswith("\\u{")  # as transcripts write a control character
        or ((value.count("-") > _MANY_PARTS or ":" in value) and _CACHE_KEY.fullmatch(value) is not None)
        or (len(value) > _KEY_SIZE and 5 * value.count(value[-1]) > 2 * len(value))  # mostly padding
        or ("{" in value and _PATTERN.search(value) is not None)
        or ("=" in value and _ASSIGNMENT.search(value, 0, _ENOUGH) is not None)
        or not (value.isascii() or (has_digit(value) and not ANY_WIDE.search(value)))
        or is_placeholder(value)
        or is_label(value)
        or is_file(value)
        or is_public(value)
        or (not quoted and is_reference(value))
    )


def judged(text: str, start: int, end: int, name: str = "") -> str:
    """The kind of secret a span is; empty if it is none. A ``name`` is as if it stood before it."""
    value = text[start:end]
    if name:
        text, start = f"{name}: {value}", len(name) + 2
        end = start + len(value)
    if ruled_out(value, quoted=text[start - 1 : start] in QUOTES and start > 0):
        return ""
    found = features(text, start, end)
    password, key = found[_AT["password"]], found[_AT["key"]]
    named = max(password, key, found[_AT["password by one word"]], found[_AT["key by one word"]])
    if _NUMBER.fullmatch(value) and max(password, found[_AT["password by one word"]]) < _NAMES:
        return ""  # a count: a key has letters, or more digits
    is_set = found[_AT["is joined"]] or found[_AT["is said"]]
    if not is_set and (is_id(value) or found[_AT["known"]] == 1):
        return ""
    if is_formed(value):
        return "token"
    # A key of JSON, which names a value.
    if not is_set and found[_AT["is hexadecimal"]] and text.startswith('":', end):
        return ""
    may_be_words = found[_AT["joint"]] in STRICT or (found[_AT["is said"]] and password > key)
    if not may_be_words and _WORDS.fullmatch(value):
        return ""
    is_private = _PRIVATE.search(text, max(0, start - _BEFORE), start) is not None
    if not is_private and (
        _is_on_chain(text, start, value, is_named=named >= _NAMES)
        or (key > password and (len(value) < _SHORT or is_slug(value)))
    ):
        return ""
    # An id or a hash; then, what is neither named nor random.
    if named < _NAMES and (is_id(value) or found[_AT["is hexadecimal"]] or found[_AT["is UUID"]]):
        return ""
    if (
        len(value) <= _FINGERPRINT_SIZE
        and not is_private
        and found[_AT["is hexadecimal"]]
        and _FINGERPRINT.search(text, max(0, start - _BEFORE), start)
    ):
        return ""
    if found[_AT["is UUID"]] and _names_record(text, start):
        return ""
    near = max(
        found[_AT[said]] if found[_AT[away]] < _NEAR + bool(is_set) else 0.0
        for said, away in (("strongest password", "words to it"), ("strongest key", "words to that"))
    )
    if max(named, near if is_set else 0.0) < _WEAKLY and not RANDOM.match(value):
        return ""
    named = max(named, near)
    is_other = found[_AT["other"]] > _IS_OTHER and found[_AT["key by one word"]] > _NAMES
    says_so = named >= (_NAMES_BEFORE_SIGN if found[_AT["joint"]] in STRICT else _NAMES)
    least = LEAST if says_so and not is_other else LEAST_UNNAMED
    if (
        found[_AT["is quoted"]]
        and password > _SURE
        and (
            (found[_AT["is said"]] and value.isalpha())
            or (found[_AT["joint"]] in STRICT and _MARKED.fullmatch(value))
        )
    ):
        least = LEAST_QUOTED
    if probability(found) < least:
        return ""
    if (
        _is_no_plain_text(text, start)
        or _CACHED.match(text, end)
        or (len(value) >= (_CUT_SIZE if key > password else _KEY_SIZE) and _CUT_OFF.match(text, end))
    ):
        return ""
    return "password" if password > max(key, _NAMES) else "secret or token" if key > _NAMES else "token"


def _is_on_chain(text: str, start: int, value: str, *, is_named: bool) -> bool:
    """True for an address or a signature that everyone may see.

    ``is_named``: whether a name says that it is a secret.
    """
    if not is_base58(value):
        return is_address(value)
    is_said = _ON_CHAIN.search(text, max(0, start - _BEFORE), start) is not None
    return (is_said or not is_named) if len(value) <= _MOST_OF_ADDRESS else (is_said and not is_named)


def _names_record(text: str, start: int) -> bool:
    """True after a name such as ``CityKey``, which names a record."""
    assigned = _ASSIGNED.search(text, max(0, start - _BEFORE), start)
    name = assigned["name"] if assigned else ""
    return _RECORD_KEY.fullmatch(name) is not None and not _QUALIFIERS.intersection(words(name))


def _is_no_plain_text(text: str, start: int) -> bool:
    """True within a name of something in a cloud, and within what is encrypted, as sops does."""
    first = max(0, start - _ENCRYPTED_SIZE)
    return is_arn(text, start) or text.rfind("ENC[", first, start) > text.rfind("]", first, start)


def probability(found: Sequence[float]) -> float:
    """That a value with some features is a secret."""
    tree = model()
    total: float = tree["start"]
    column, limit, low, high = tree["column"], tree["limit"], tree["low"], tree["high"]
    for node in tree["roots"]:
        while (at := column[node]) >= 0:
            node = low[node] if found[at] <= limit[node] else high[node]
        total += limit[node]
    return 1 / (1 + math.exp(-total))


def naming_start(text: str, start: int) -> int:
    """Where the words that name a secret start, if an operator joins them to it; else where it starts itself."""  # noqa: E501
    first = max(0, start - _BEFORE)
    assigned = _ASSIGNED.search(text, first, start)
    if assigned is None:
        return start
    places = [(each[0], assigned.start() + each.start()) for each in _WORD.finditer(assigned["name"])]
    for at, (word, place) in enumerate(places):
        said = meaning(word)
        if said[1] + said[2] > _NAMES:
            is_qualified = at > 0 and word.lower() == "key" and places[at - 1][0].lower() in _QUALIFIERS
            return places[at - 1][1] if is_qualified else place
    return start
