"""Detectors for the kinds of triggers (spec 4.2), all working on a prepared ``Scan``.

=============  ====================================================  ================================
kind           fires on                                              see
=============  ====================================================  ================================
``pattern``    a regular expression, ignoring case                   ``engine.activation.patterns``
``keywords``   whole words and phrases, with their plurals           ``engine.activation.phrases``
``mention``    names and ``@`` handles of people                     ``engine.activation.phrases``
``sentiment``  shouting, or urgency words that are not negated       below
``code``       code in a language, fenced or not                     ``engine.activation.code``
``language``   the natural language of the message                   ``engine.activation.language``
``url``        links to a host, or below a path                      ``engine.activation.links``
``glob``       paths in tool calls                                   ``engine.activation.links``
=============  ====================================================  ================================

Each of these modules documents its limits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from engine.activation.code import code_blocks
from engine.activation.phrases import Phrase, is_negated, keyword, names
from engine.activation.scan import Scan, compiled
from engine.activation.trace import Event
from engine.topics.fields import word_set
from engine.topics.model import Trigger

URGENT = (
    *("urgent", "urgently", "asap", "emergency", "immediately", "right now", "right away"),
    *("as soon as possible", "sos", "mayday", "dringend", "sofort", "notfall", "umgehend", "urgence"),
    *("immédiatement", "tout de suite", "urgente", "urgentemente", "emergencia", "inmediatamente"),
    *("emergenza", "subito", "emergência", "imediatamente", "onmiddellijk", "spoed", "brådskande"),
    *("pilne", "срочно", "немедленно", "терміново", "acil", "緊急", "至急", "紧急", "긴급"),
)
"""Default words of a ``sentiment`` trigger."""

WEBHOOK_PREFIX = "webhook:"
CRON_SOURCE = "cron"

# Marks of full and half width, and emoji that stand for them, with an optional variation selector.
_REPEATED = (
    r"[!?¡¿！？]{2,}[!?！？1]|[‼⁉]\ufe0f?(?=[!?！？‼⁉❗❓])|(?:[❗❕❓❔‼⁉🚨🆘😡🤬😠😤😱]\ufe0f?){3,}|"
    r"[!?！？]{2}[❗❓‼⁉]\ufe0f?"
)
_CAPITALS = r"(?<![\w./\\@#$<{-])(?:[^\W\d_]['’])?[^\W\d_]{2,}(?:['’][^\W\d_]+)?(?![\w(/\\=}>-]|\.\w)"
_VOWELS = frozenset("AEIOUYÄÖÜÀÁÂÃÈÉÊËÌÍÎÒÓÔÕÙÚÛÅÆØĄĘÓŐŰАЕЁИОУЫЭЮЯІЇЄΑΕΗΙΟΥΩ")
_SHORT_SHOUTS = word_set(
    "AM ARE BE CAN DID DO GET GO HAS HEY HOW IS ITS ME MY NO NOT NOW OFF OH OMG OUT PLS SO STOP TOO UP "
    "WAS WE WHO WHY WTF YES YOU ALL BUT BAD BUG FIX NEW OLD ONE SEE SAY RUN WAY TRY END ANY OUR HIS HER "
    "SHE HIM DAY LOVE HATE NEED WANT HELP DOWN BACK THIS THAT WHAT WHEN SAID WILL WITH WORK STILL MUST "
    "MAKE DONE GONE BEEN HAVE HERE THEN THEM THEY LIKE LOOK KNOW GIVE TAKE TELL TALK READ SEND SHIP "
    "WAIT KILL LOST LATE HELL DAMN FUCK SHIT CRAP UGLY GOOD BEST EVER ONLY JUST EVEN VERY MUCH MORE "
    "LESS DOES DONT CANT WONT ISNT NEVER WRONG ICH DU ES IST DAS DER DIE NEIN NICHT JA WO WER WIR SIE "
    "HILFE JETZT GEHT MIR MICH KEIN NOCH AUCH SCHON NON OUI PAS EST QUE QUI MAIS VITE AIDE C'EST J'AI "
    "YA ESTO AYUDA POR QUÉ PERO MUY NIET HET EEN NU JE ДА НЕТ НЕ ЧТО КАК ГДЕ ЭТО ВСЁ ВСЕ"
)
# Also names of constants, states and columns: one of these alone is not a shout.
_STATES = word_set(
    "GET RUN NEW OLD ONE END OFF OUT UP DOWN BACK WORK DONE GONE READ SEND SHIP WAIT KILL LOST LATE GOOD "
    "BEST LIKE MAKE TAKE TALK TELL GIVE LOOK TRY DAY BUG BAD ALL ANY YES IS GO ONLY MORE LESS WITH WHEN THEN"
)
_LEVELS = (
    "ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL|CRITICAL|NOTICE|FAIL|FAILED|PASS|PASSED|SKIP|SKIPPED|OK|RUN"
)
_PASTED = (
    r"(?m)^(?:[ \t]*(?:={2,}|-{2,}|>{2,}|[$#%❯➜│|][ \t]|\[[^\]\n]*\]|"  # rules, prompts, tables, [level]
    rf"(?:{_LEVELS})(?:[ \t]*[:|]|[ \t]{{2,}}|[ \t]+[^\s]*[./_(\d])|"  # ERROR: …, FAILED tests/x.py
    r"\d{4}-\d\d-\d\d[T ]|\d\d:\d\d:\d\d|"  # a time in front
    r"[\w./\\-]+:\d+(?::\d+)?:|"  # file:line:
    r"(?:CREATE|ALTER|DROP|SELECT|INSERT|UPDATE|DELETE|WITH|GRANT|EXPLAIN|WHERE|FROM|JOIN)[ \t]+\w)|"
    r"(?:\t| {4,})\S).*$"
)
# Often capitalized between two abbreviations.
_CONNECTORS = word_set("A AND OR OF IN ON TO THE FOR BY AT AS VS VIA PER UND ODER ET OU Y E O EN")
_ACRONYMS = word_set(
    "ACID AJAX ARIA ASAP ASCII AUTH BIOS CORS CRUD CUDA DAG DDOS EBITDA EUR FAQ FYI GDPR GET HEAD HTTP "
    "HTTPS IDE IEEE IMAP INFO IOS JPEG JSON KPI LATEX LICENSE LTE MIME MIT MVP NASA NATO NOTE OAUTH OCR "
    "OECD OKR OPENAI OPTIONS PATCH POSIX POST PUT README REPL REST SAAS SELECT SEO SIGINT SIGKILL "
    "SIGTERM SLA SOAP SQL NOSQL TIFF TODO UEFI UNESCO UNICEF UNIX URI USA USAGE USB UTC UTF UUID VIP "
    "WARN WASM WARNING ERROR DEBUG XHTML YAML CHANGELOG DELETE FROM WHERE INSERT UPDATE TABLE JOIN "
    "ORDER NULL TRUE FALSE FIXME XXX HTML CSS XML API PDF CSV URL AWS GPU CPU RAM ID OK LLM MCP SDK CLI "
    "GUI SSH TLS SSL DNS VPN VAT IBAN BIC CEO CTO CFO COO HR PR MR QA UX UI EU UK US UN IT AI ML EMEA "
    "APAC COVID LASER RADAR IKEA OPEC ESA FIFA UEFA ISO LGBTQ MAGA NAFTA OPEX CAPEX SAP ERP CRM"
)


def phrases_of(trigger: Trigger) -> tuple[Phrase, ...]:
    """The phrases of a ``keywords``, ``mention`` or ``sentiment`` trigger."""
    if trigger.type == "mention":
        return tuple(phrase for word in trigger.words for phrase in names(word))
    words = URGENT if trigger.type == "sentiment" and not trigger.words else trigger.words
    return tuple(phrase for word in words if (phrase := keyword(word)) is not None)


def phrase_spans(phrases: Iterable[Phrase], scan: Scan) -> list[tuple[int, int]]:
    """The spans of any of the phrases in ``scan.text``, in order; the longest of overlapping ones."""
    spans = sorted(
        {span for phrase in phrases for span in phrase.spans(scan)}, key=lambda span: (span[0], -span[1])
    )
    kept: list[tuple[int, int]] = []
    for span in spans:
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return kept


def agitation_spans(scan: Scan) -> list[tuple[int, int]]:
    """The spans where a message shouts: runs of marks, or words in capitals.

    Marks are three or more of ``!`` and ``?``, or as many alarmed or angry emoji. Words are shouted if at
    least two are in capitals and are neither abbreviations nor small words between those; if nearly the whole
    message is in capitals, one is enough. A single one between other words is a shout only if people stress
    such a word (``NOT``, ``NEVER``) and it is not the name of a state (``ACTIVE``, ``NEW``). Code, pasted
    output, links, file names and identifiers are ignored.

    Limits: two consecutive unknown abbreviations that look like words (five letters, two vowels) count as
    words. Only scripts with capitals can shout, and a heading in capitals does.
    """
    text = scan.prose
    is_plain = text.isascii()
    spans: list[tuple[int, int]] = []
    if not is_plain or text.count("!") + text.count("?") >= 2:
        spans = [match.span() for match in compiled(_REPEATED).finditer(text)]
    if is_plain and compiled("[A-Z]['A-Z][A-Z]?").search(text) is None:
        return spans
    capitals = _capitals(text)
    if sum(_is_word(match[0]) for match in capitals) == 0:
        return spans
    own = _without_pasted(scan, text)
    if own != text:
        capitals = _capitals(own)
    if not capitals:
        return spans
    if _is_mostly_capitals(own):
        if len(capitals) >= 2 and any(_is_word(match[0]) for match in capitals):
            spans += [match.span() for match in capitals]
        return sorted(spans)
    shouted = [match for place, match in enumerate(capitals) if _is_shouted(own, capitals, place)]
    if sum(_is_word(match[0]) for match in shouted) >= 2:
        spans += [match.span() for match in shouted]
    return sorted(spans)


def _capitals(text: str) -> list[re.Match[str]]:
    return [match for match in compiled(_CAPITALS).finditer(text) if match[0].isupper()]


def _without_pasted(scan: Scan, text: str) -> str:
    """``text`` with unfenced code and lines of pasted output blanked out, offsets unchanged."""
    for block in code_blocks(scan):
        text = text[: block.start] + " " * (block.end - block.start) + text[block.end :]
    return compiled(_PASTED).sub(lambda match: " " * len(match[0]), text)


def _is_shouted(text: str, capitals: Sequence[re.Match[str]], place: int) -> bool:
    """Whether a word in capitals is stressed: it is next to another one, or people stress such words."""
    match = capitals[place]
    if not _is_word(match[0]) and not _is_long(match[0]):
        return False
    plain = match[0].replace("’", "'")
    if plain in _SHORT_SHOUTS and plain not in _STATES:
        return True
    return any(
        0 <= at < len(capitals)
        and (_is_word(capitals[at][0]) or _is_long(capitals[at][0]))
        and text[min(match.end(), capitals[at].end()) : max(match.start(), capitals[at].start())].isspace()
        for at in (place - 1, place + 1)
    )


def _is_word(capitals: str) -> bool:
    """Whether something in capitals is a word rather than an abbreviation."""
    plain = capitals.replace("’", "'")
    if plain in _ACRONYMS or plain in _CONNECTORS:
        return False
    return plain in _SHORT_SHOUTS or (len(plain) >= 5 and sum(letter in _VOWELS for letter in plain) >= 2)


def _is_long(capitals: str) -> bool:
    return len(capitals) >= 4 and capitals not in _ACRONYMS


def _is_mostly_capitals(text: str) -> bool:
    cased = [letter for letter in text if letter.isupper() or letter.islower()]
    return sum(letter.isupper() for letter in cased) > 0.8 * len(cased)


def sentiment_spans(
    trigger: Trigger, scan: Scan, agitation: Iterable[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The spans where a message is urgent: shouting, and urgency words that are not negated.

    Args:
        agitation: The result of ``agitation_spans``, the same for every trigger.
    """
    urgent = [
        (start, end)
        for start, end in phrase_spans(phrases_of(trigger), scan)
        if not (scan.text[start].isalnum() and is_negated(scan, start))
    ]
    return sorted({*agitation, *urgent})


def event_fits(trigger: Trigger, event: Event | None) -> bool:
    """Whether an event fires a ``webhook`` or ``cron`` trigger; case does not matter.

    - A due schedule is ``Event("cron", "<schedule>")``: it fires cron triggers with the same expression,
      ignoring white space.
    - A webhook is ``Event("<source>", "<event>")`` or ``Event("webhook:<source>", "<event>")``: it fires
      webhook triggers with the same source, and with the same event, its part before a dot, or no event.
    """
    if event is None:
        return False
    source, kind = event.source.strip().casefold(), event.event.strip().casefold()
    if trigger.type == "cron":
        return source == CRON_SOURCE and kind.split() == trigger.schedule.casefold().split()
    if source == CRON_SOURCE:
        return False
    source = source.removeprefix(WEBHOOK_PREFIX)
    return source == trigger.source.casefold() and trigger.event.casefold() in (
        "",
        kind,
        kind.partition(".")[0],
    )


def event_text(event: Event) -> str:
    """An event in one line: ``email new_message``."""
    return f"{event.source} {event.event}".strip()
