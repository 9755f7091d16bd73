"""Detectors for the kinds of triggers (spec 4.2), all working on a prepared ``Scan``.

=============  ====================================================  ================================
kind           fires on                                              see
=============  ====================================================  ================================
``pattern``    a regular expression, ignoring case                   ``engine.activation.patterns``
``keywords``   whole words and phrases, with their plurals           ``engine.activation.phrases``
``mention``    names and ``@`` handles of people                     ``engine.activation.phrases``
``sentiment``  shouting, or urgency words that are not negated       below
``code``       fenced code in a language, any code                      below
``language``   the natural language of the message                   ``engine.activation.language``
``url``        links to a host, or below a path                      ``engine.activation.links``
``glob``       paths in tool calls                                   ``engine.activation.links``
=============  ====================================================  ================================

Each of these modules documents its limits. Code is what its writer marks as code: a block is in the language
that its fence names; one without a name, and code between backticks in a line, is in none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from engine.activation.negation import is_denied
from engine.activation.phrases import Phrase, keyword, names
from engine.activation.scan import Scan
from engine.activation.trace import Event
from engine.startup.lazy import expression
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

CRON_SOURCE = "cron"

# Marks of full and half width, and emoji that stand for them, with an optional variation selector.
_REPEATED = expression(r"(?:[!?！？‼⁉❗❕❓❔🚨🆘😡🤬😠😤😱]\ufe0f?){3,}")
_SENTENCE = expression(r"[^.!?！？\n]+")
_MIN_WORDS = 3
_MIN_LETTERS = 10
_NOT_CODE = word_set("text txt plain plaintext none output log markdown md mdx quote mermaid")


def phrases_of(trigger: Trigger) -> tuple[Phrase, ...]:
    """The phrases of a ``keywords``, ``mention`` or ``sentiment`` trigger; none of any other."""
    if trigger.type not in ("keywords", "mention", "sentiment"):
        return ()
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
    """The spans where a message shouts: three marks or alarmed emoji in a row, or a sentence in capitals.

    A sentence has three words and ten letters or more, of which nearly all are capitals. Code and links are
    ignored.
    """
    spans = [match.span() for match in _REPEATED.finditer(scan.prose)]
    for match in _SENTENCE.finditer(scan.prose):
        cased = [letter for letter in match[0] if letter.isupper() or letter.islower()]
        capitals = sum(map(str.isupper, cased))
        if capitals >= _MIN_LETTERS and capitals > 0.9 * len(cased) and len(match[0].split()) >= _MIN_WORDS:
            start = match.end() - len(match[0].lstrip())
            spans.append((start, start + len(match[0].strip())))
    return sorted(spans)


def sentiment_spans(
    phrases: Iterable[Phrase], scan: Scan, agitation: Iterable[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The spans where a message is urgent: shouting, and urgency words that are not denied.

    Args:
        agitation: The result of ``agitation_spans``, the same for every trigger.
    """
    urgent = [
        (start, end)
        for start, end in phrase_spans(phrases, scan)
        if not (scan.text[start].isalnum() and is_denied(scan.text, start))
    ]
    return sorted({*agitation, *urgent})


def event_fits(trigger: Trigger, event: Event) -> bool:
    """Whether an event fires a ``webhook`` or ``cron`` trigger; case does not matter.

    - A due schedule is ``Event("cron", "<schedule>")``: it fires cron triggers with the same expression,
      ignoring white space.
    - A webhook is ``Event("<source>", "<event>")``: it fires webhook triggers with the same source, and with
      the same event, its part before a dot, or no event.
    """
    source, kind = event.source.strip().casefold(), event.event.strip().casefold()
    if trigger.type == "cron":
        return source == CRON_SOURCE and kind.split() == trigger.schedule.casefold().split()
    if source in (CRON_SOURCE, "") or source != trigger.source.casefold():
        return False
    return trigger.event.casefold() in ("", kind, kind.partition(".")[0])


def event_text(event: Event) -> str:
    """An event in one line: ``email new_message``."""
    return f"{event.source} {event.event}".strip()


def matches_language(language: str, wanted: Sequence[str]) -> bool:
    """Whether code in a language is in one of those of a ``code`` trigger, if it has any."""
    return not wanted or language in {each.strip().lower().lstrip(".") for each in wanted}


def code_blocks(scan: Scan) -> list[tuple[str, int, int]]:
    """All code of a message, in order: its language in lower case, empty if it is not named, start and end.

    Fences marked as text are not code.
    """
    fenced = [(_fence_language(info), start, end) for info, start, end in scan.fences]
    code = [block for block in fenced if block[0] not in _NOT_CODE]
    code += [("", start, end) for start, end in scan.inline_code]
    return sorted(code, key=lambda block: block[1])


def _fence_language(info: str) -> str:
    word = re.split(r"[\s,:]", info.strip().lstrip("{").strip(), maxsplit=1)[0]
    return word.rstrip("}").lower().lstrip(".")
