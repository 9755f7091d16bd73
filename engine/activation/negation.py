"""Requests not to do something: “don't review the PR”, “bitte nicht deployen” (spec 4.2).

Words are negated if a negator stands at most three words before them in the same clause, or around them. Only
requests count: “the deploy doesn't work” and “I can't deploy” are about a deploy. Known are the negators of a
dozen languages in their usual places; whatever is not recognized counts as not negated.
"""

from __future__ import annotations

import re

from engine.startup.lazy import expression

_CHARACTERS = 120
"""Characters read on each side."""

# Most words have no negator nearby, and need no further look.
_ANY = expression(
    r"n['’]|\b(?:no[nt]?|never|without|ne|pas|nicht|nie\w*|kein\w*|ohne|sans|sin|não|sem|senza|не|без"
    r"|(?:do(?:es)?|did|should|must|need)nt|geen|zonder|inte|ikke|ut[ae]n|uden)\b|[别別不无無勿]|しな",
    re.IGNORECASE,
)

# A clause ends here; after a condition or a question word it requests nothing.
_BREAK = expression(
    r"[.!?;:,](?=\s|$)|[\n()…。！？；：，、—–]|\s-\s|\b(?:but|until|till|before|after|because|since|though|then"
    r"|instead|just|aber|sondern|bis|bevor|weil|dann|mais|avant|puis|pero|sino|hasta|antes|mas|maar|totdat)\b"
    r"|(?P<condition>\b(?:if|unless|when|why|how|what|whether|where|which|wenn|falls|warum|wie|ob|si|quand"
    r"|pourquoi|comment|cuando|cómo|waarom)\b)",
    re.IGNORECASE,
)
# What a request begins with.
_START = (
    r"(?:^\W*|\b(?:please|pls|you|we|also|so|and|or|ok|okay|now|to|let['’]?s|favor|svp|stp)\s+)"
    r"(?:(?:really|definitely|absolutely|ever)\s+)?"
)
# “Don't forget to …” asks for it, and “don't see a …” states a fact.
_NO_STATEMENT = (
    r"(?!\s+(?:forget|hesitate|only|you|we|have(?!\s+to)|know|see|understand|get|find|remember|like|mind|worry"
    r"|sure|let|idea|problem|longer|olvides|consigo|puedo|sé|hay|oublier)\b)"
)
_BETWEEN = r"(?:\s+\S+){0,3}\W*$"
_BEFORE = expression(
    rf"{_START}(do\s+not|don['’]?t|never|not|no(?:\s+need)?|não|non|ne\s+pas|(?:ne\s+|n['’])(?!oubli)\w+\s+(?:pas|plus|jamais)|не)"
    rf"{_NO_STATEMENT}{_BETWEEN}"
    r"|\b((?:should|must|need)(?:\s+not|n['’]?t)(?!\s+(?:it|this|that|the|have|be\s+t?here)\b)"
    r"|(?:do|does|did)(?:\s+not|n['’]?t)\s+(?:have\s+to|think|(?:need|want)(?=\s+(?:(?:\w+\s+)?to|an?|any|another)\b|\W*$))"
    rf"|not\s+to|no\s+need|kein(?:e[nmrs]?)?|pas\s+besoin){_BETWEEN}"
    r"|\b(without|ohne|sans|sin|sem|senza|zonder|utan|uden|uten|без)(?:\s+\S+)?\W*$"
    r"|(?<!\w)(ne\s|n['’])\W*$|(不要|别|別|不用|无需|無需|请勿)\S{0,2}$",
    re.IGNORECASE,
)
# These words also state facts, which an auxiliary in the clause gives away.
_STATED = expression(rf"\b(nicht|nie(?:mals)?|niet|geen|inte|ikke){_BETWEEN}", re.IGNORECASE)
_FACT = expression(
    r"\b(?:kann|konnten?|können|ist|sind|war|waren|hat|haben|wird|wurde|geht|klappt|funktioniert|läuft|weiß|verstehe"
    r"|kan|kon|is|werkt|loopt|weet|begrijp|er|är|fungerar|fungerer|virker|vet|ved)\b",
    re.IGNORECASE,
)
_AFTER = expression(
    r"\s+((?:is|are|was)(?:\s+not|n['’]?t)\s+(?:needed|necessary|required))\b|\s*[をは]?(し(?:ないで|なくて))",
    re.IGNORECASE,
)
_GERMAN_AFTER = expression(
    r"(?:\s+(?:d(?:en|as|ie|em|er)\s+\w+|das|es|sie|ihn|bitte|noch|jetzt|heute|auch|erstmal)){0,3}?\s+(nicht)"
    r"\s*(?:$|[.,;!\n])",
    re.IGNORECASE,
)
_DENIED = expression(
    r"\b(?:not|\w+n['’]t|no|never|nothing|hardly|nor|without|nicht|kein\w*|nichts|nie|ohne|pas|sans|non|sin|nunca|niet"
    r"|geen)\W+(?:\w+\W+)?$",
    re.IGNORECASE,
)


def negator(text: str, start: int, end: int) -> str:
    """The words that negate the request for a span, such as ``don't``; empty if it is not negated."""
    before, after = text[max(0, start - _CHARACTERS) : start], text[end : end + _CHARACTERS]
    if not _ANY.search(before) and not _ANY.search(after):
        return ""
    breaks = [*_BREAK.finditer(before)]
    if breaks and breaks[-1]["condition"]:
        return ""
    clause = before[breaks[-1].end() :] if breaks else before
    found = _BEFORE.search(clause) or _AFTER.match(after)
    if found is None and not _FACT.search(clause):
        found = _STATED.search(clause)
    if found is None and clause.strip().lower() in ("", "bitte"):
        found = _GERMAN_AFTER.match(after)
    return next(filter(None, found.groups())).strip() if found else ""


def is_denied(text: str, start: int) -> bool:
    """Whether a statement denies what follows, as in “nothing very urgent”."""
    return _DENIED.search(re.split(r"[.!?;:\n]", text[max(0, start - 40) : start])[-1]) is not None
