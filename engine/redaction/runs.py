"""Secrets without a known prefix: long runs of random letters and digits after the tag of some service.

Also as the value of an environment variable, unless that is named after an id, a hash or the like.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

from engine.redaction.values import is_mixed, is_placeholder
from engine.startup.lazy import expression

_UPPER = string.ascii_uppercase + string.digits + "_"
_WORD = string.ascii_letters + string.digits + "_-"
_AFTER_DOT = expression(r"\.[\w-]{6}(?:\.(?=[\w-]{27})|[A-Za-z0-9]{18}(?![\w-]))", re.ASCII)
_DOTTED = expression(r"(?<![\w.-])(?:[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,40}|s\.[A-Za-z0-9]{24})(?![\w-])")
"""Tokens of Discord's bots and of older versions of Vault."""
_AFTER_TAG = tuple(expression(each + r"[A-Za-z0-9]{12}") for each in "_-")
"""Two expressions, as one with a set of characters takes twice the time."""
_TAGGED = expression(
    r"(?<![./+])(?<!\d=)(?P<tag>[a-z]{2,8}\d?|[A-Z]{2,8})[_-](?P<rest>[\w-]{30,400}+)(?![\w+/=-])", re.ASCII
)
_AFTER_EQUALS = expression(
    r"=[\"']?(?P<value>[A-Za-z0-9](?=[A-Za-z]{0,14}[0-9])[\w+/=.-]{19,400}+)(?![\w/+.:(\[-])",
    re.ASCII,
)
_NAMES_OTHER = expression(
    r"(?:^|_)(?:\w*ID|SHA\d*|\w*HASH|COMMIT|DIGEST|CHECKSUM|PUBLIC|PUB|VERSION|REV|REF|ETAG|CURSOR|NONCE|IMAGE|TAG|"
    r"FILE|PATH|DIR|NAME|BRANCH|HOST|CERT|CERTIFICATE|FINGERPRINT)(?:_|$)"
)
_NOT_SECRET = expression(
    r"(?:pk|pub|public|sha|md|hash|id|uid|uuid|kid|nonce|etag|cache|index|main|chunk|img|image|blob|tree|commit|rs|ig|ws|"
    r"msg|toolu|srvtoolu|req|request|call|fc|chatcmpl|cmpl|resp|gen|run|thread|asst|step|file|batch|evt|event|item|conv|"
    r"trace|span|cus|ftjob|sess|session|user|org|proj|project|job|task|cs|pi|price|prod|sub|rec|snap|node|pr|prr)\d?",
    re.IGNORECASE,
)
"""Tags of public keys, of hashes and of ids."""


def runs(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and kind of each secret without a known prefix."""
    for middle in _AFTER_DOT.finditer(text):
        match = _DOTTED.search(text, max(0, middle.start() - 30), middle.end() + 44)
        if match is not None and is_mixed(match[0]):
            yield *match.span(), "token"
    for match in _AFTER_EQUALS.finditer(text):
        first = _start(text, match.start(), _UPPER)
        name = text[first : match.start()]
        if first and (text[first - 1].isalnum() or text[first - 1] in "-./$?&"):
            continue
        if name[:1].isalpha() and not _NAMES_OTHER.search(name) and _is_random(match["value"]):
            yield *match.span("value"), "variable"
    for after in _AFTER_TAG:
        covered_to = 0
        for middle in after.finditer(text):
            if middle.start() >= covered_to:
                match = _TAGGED.match(text, _start(text, middle.start(), _WORD))
                covered_to = middle.end() if match is None else match.end()
                if (
                    match is not None
                    and not _NOT_SECRET.fullmatch(match["tag"])
                    and _is_random(match["rest"])
                ):
                    yield *match.span(), "token"


def _start(text: str, end: int, letters: str) -> int:
    """Where the run of ``letters`` that ends at ``end`` starts."""
    return (
        end - 60 + len(text[end - 60 : end].rstrip(letters)) if end >= 60 else len(text[:end].rstrip(letters))
    )


def _is_random(value: str) -> bool:
    part = value[:200]
    has_all = any(map(str.islower, part)) and any(map(str.isupper, part)) and any(map(str.isdigit, part))
    return has_all and is_mixed(part) and not is_placeholder(value)
