"""What each kind of trigger looks for (spec 4.2): one function per kind, all on a prepared ``Scan``.

Only ``pattern`` is missing here; regular expressions need the care of ``engine.activation.patterns``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from engine.activation.code import CodeBlock, matches_language
from engine.activation.links import Link, link_matches
from engine.activation.phrases import Phrase, is_denied, keyword, name
from engine.activation.scan import Scan
from engine.activation.trace import Event
from engine.topics.fields import word_set
from engine.topics.model import Trigger

URGENT = (
    "urgent",
    "urgently",
    "asap",
    "emergency",
    "immediately",
    "right now",
    "sos",
    "dringend",
    "sofort",
    "notfall",
)
"""The words a ``sentiment`` trigger listens for when it names none itself."""

WEBHOOK_PREFIX = "webhook:"
CRON_SOURCE = "cron"

_REPEATED = re.compile(r"[!?¡¿！？]{2,}[!?！？1]")
_CAPITALS = re.compile(r"(?<![\w./\\@#$<{-])[^\W\d_]{2,}(?:['’][^\W\d_]+)?(?![\w(/\\=}>-]|\.\w)")
_VOWEL = re.compile(r"[AEIOUYÄÖÜÀÁÂÈÉÊÌÍÒÓÔÙÚÅÆØАЕИОУЫЭЮЯ]")
_SHORT_SHOUTS = word_set(
    "AM ARE BE CAN DID DO GET GO HAS HEY HOW IS IT ITS ME MY NO NOT NOW OFF OH OMG ON OUT PLS SO STOP "
    "THE TO TOO UP US WAS WE WHO WHY WTF YES YOU ALL AND BUT BAD BUG FIX NEW OLD ONE ICH DU ES IST DAS "
    "DER DIE NEIN NICHT JA WAS WO WER HILFE JETZT"
)
_ACRONYMS = word_set(
    "ACID AJAX ARIA ASAP ASCII AUTH BIOS CORS CRUD CUDA DAG DDOS EBITDA EUR FAQ FYI GDPR GET HEAD HTTP "
    "HTTPS IDE IEEE IMAP INFO IOS JPEG JSON KPI LATEX LICENSE LTE MIME MIT MVP NASA NATO NOTE OAUTH OCR "
    "OECD OKR OPENAI OPTIONS PATCH POSIX POST PUT README REPL REST SAAS SELECT SEO SIGINT SIGKILL "
    "SIGTERM SLA SOAP SQL TIFF TODO UEFI UNESCO UNICEF UNIX URI USA USAGE USB UTC UTF UUID VIP WARN "
    "WASM WARNING ERROR DEBUG XHTML YAML CHANGELOG DELETE FROM WHERE INSERT UPDATE TABLE JOIN ORDER "
    "NULL TRUE FALSE FIXME XXX HTML CSS XML API PDF CSV URL AWS GPU CPU RAM ID OK LLM MCP SDK CLI GUI "
    "SSH TLS SSL DNS VPN VAT IBAN BIC CEO CTO CFO COO HR PR MR QA UX UI EU UK UN IT AI ML"
)


@lru_cache(maxsize=8192)
def phrases_of(trigger: Trigger) -> tuple[Phrase, ...]:
    """The phrases a ``keywords``, ``mention`` or ``sentiment`` trigger looks for."""
    make = name if trigger.type == "mention" else keyword
    words = trigger.words
    if trigger.type == "sentiment" and not words:
        words = URGENT
    found = (make(word) for word in words)
    return tuple(phrase for phrase in found if phrase is not None)


def phrase_spans(phrases: Iterable[Phrase], scan: Scan) -> list[tuple[int, int]]:
    """Where any of the phrases stands in ``scan.text``, in order; of overlapping ones the longest."""
    spans = sorted(
        {span for phrase in phrases for span in phrase.spans(scan)}, key=lambda span: (span[0], -span[1])
    )
    kept: list[tuple[int, int]] = []
    for span in spans:
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return kept


def link_spans(trigger: Trigger, links: Iterable[Link]) -> list[tuple[int, int]]:
    """Where the links a ``url`` trigger names stand in the text."""
    return [(link.start, link.end) for link in links if link_matches(link, trigger.words)]


def code_spans(trigger: Trigger, blocks: Iterable[CodeBlock]) -> list[tuple[int, int]]:
    """Where code in the languages a ``code`` trigger names stands in the text."""
    return [(block.start, block.end) for block in blocks if matches_language(block, trigger.words)]


def agitation_spans(scan: Scan) -> list[tuple[int, int]]:
    """Where a message raises its voice: three or more ``!`` or ``?`` in a row, or two or more shouted words.

    Capitals count as shouting when at least one of the words is no acronym. Code, links, file names and
    identifiers are left out.
    """
    text = scan.prose
    spans = [match.span() for match in _REPEATED.finditer(text)]
    shouted = [match for match in _CAPITALS.finditer(text) if match[0].isupper()]
    if len(shouted) >= 2 and any(_is_word(match[0]) for match in shouted):
        voiced = [match.span() for match in shouted if _is_word(match[0]) or _is_long(match[0])]
        spans += voiced if len(voiced) >= 2 else []
    return sorted(spans)


def _is_word(capitals: str) -> bool:
    """Whether a word in capitals reads as a word rather than as an abbreviation."""
    if capitals in _ACRONYMS:
        return False
    if capitals in _SHORT_SHOUTS:
        return True
    return len(capitals) >= 5 and len(_VOWEL.findall(capitals)) >= 2


def _is_long(capitals: str) -> bool:
    return len(capitals) >= 4 and capitals not in _ACRONYMS


def sentiment_spans(
    trigger: Trigger, scan: Scan, agitation: Iterable[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Where a message turns urgent: where it raises its voice, and urgency words that are not denied.

    Args:
        trigger: Names the words.
        scan: The message.
        agitation: What ``agitation_spans`` found in it, the same for every trigger.
    """
    heard = [
        (start, end)
        for start, end in phrase_spans(phrases_of(trigger), scan)
        if not (scan.text[start].isalnum() and is_denied(scan, start))
    ]
    return sorted({*agitation, *heard})


def event_fits(trigger: Trigger, event: Event | None) -> bool:
    """Whether an event is the one a ``webhook`` or ``cron`` trigger waits for.

    - A schedule that came due is ``Event("cron", "<schedule>")``: it fires the cron triggers whose expression
      is the same but for white space and case.
    - A webhook is ``Event("<source>", "<event>")`` or ``Event("webhook:<source>", "<event>")``: it fires the
      webhook triggers with the same source, and the same event or none. Case does not matter.
    """
    if event is None:
        return False
    source, kind = event.source.strip().casefold(), event.event.strip().casefold()
    if trigger.type == "cron":
        return source == CRON_SOURCE and kind.split() == trigger.schedule.casefold().split()
    if source == CRON_SOURCE:
        return False
    source = source.removeprefix(WEBHOOK_PREFIX)
    return source == trigger.source.casefold() and trigger.event.casefold() in ("", kind)


def event_text(event: Event) -> str:
    """An event in one line: ``email new_message``."""
    return f"{event.source} {event.event}".strip()
