"""Judges what a sentence of an agent's reply tells: what was done, what was found, or neither.

The ways in which agents report are too many for a list, in any language; ``data/README.md`` says what the
judge learned from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from engine.knowledge.harvest import proposals
from engine.meaning.wording import WORD, SentenceModel, wording
from engine.startup.lazy import expression

KINDS = ("done", "found", "other")
MODEL = SentenceModel(Path(__file__).parent / "data" / "replies.json")

_VERBS = (
    "added|fixed|removed|renamed|updated|implemented|changed|moved|replaced|rewrote|refactored|extracted|introduced"
    "|converted|simplified|modified|migrated"
)
_DID = expression(
    rf"\A(?:(?:i(?:['’]ve| have)? (?:also |now |just |successfully )?(?:{_VERBS}|created|merged|split|made)\b"
    rf"|(?:{_VERBS})\b"
    r"|now,? (?:the|when|both|all|every|an?|you|if)\b|now,? `|this (?:solves|fixes|ensures|makes"
    r"|prevents|lets"
    r"|allows)\b|(?:the|both|all|each) (?:\S+ ){1,7}(?:now|has been|have been)\b)"
    r"|(?:wrote|built|made|set up|put)\b"
    r"|(?!(?:bas|relat|requir|expect|detail|ne|block|fail|reject|suppos|limit|propos|recommend|suggest"
    r"|interest|unus|hundr)ed\b)[a-z]{2,}ed\b)",
    re.IGNORECASE,
)
"""The start of a sentence about what was done."""
PREPARES = expression(
    r"\A(?:(?:you(?:['’]re| are) (?:absolutely |completely )?right|(?:i['’]m )?sorry|i apologi[sz]e"
    r"|my (?:mistake|apologies)"
    r"|let me|let['’]s|here(?:['’]s| is| are) (?:the|an?|your|where|how)|thanks?|now (?:update|add|fix|run"
    r"|check|remove|create|i have)|first,|next,? (?:let|i)|checking"
    r"|looking|reading|running|perfect|great|good|ready to|(?:okay|alright),? (?:so|i|let|the user)"
    r"|(?:now )?i(?:['’]ll|['’]m (?:going to|using)|"
    r" (?:will|can|see|need to|think|understand|notice|want to)))\b(?!.{0,40}\b(?:fixed|works)\b)"
    r"|(?:好的|现在|首先|接下来|然后)?[，、,]?(?:让我|我(?:先|来|将|会|需要|看到|已经完整了解))"
    r"|(?:maintenant,? )?(?:je (?:comprends|vois|vais)|laisse[zs]?-moi|voyons|corrigeons|parfait)\b"
    r"|(?:ahora,? )?(?:d[ée]jame|voy a|veamos|entiendo|veo|tengo)\b"
    r"|(?:jetzt )?(?:ich (?:verstehe|sehe|werde)|lass mich|schauen wir)\b"
    r"|спасибо|(?:теперь )?(?:я (?:понимаю|сначала|сейчас)|давайте)|obrigad|gracias|danke|merci\b"
    r"|まず|では、|それでは|먼저|이제 )",
    re.IGNORECASE,
)
"""The start of a sentence about what the agent is about to do."""
REMAINS = expression(
    r"\b(?:next steps? (?:is|are|would)|remaining (?:tasks?|work|steps?|issues?)|remains? (?:to|open)|not yet"
    r"|still (?:needs?|fails?|to|open|misse?s?|has to|have to|not)|follow[- ]up|left to|haven['’]t been"
    r"|(?:has|have) not been|is blocked|waiting for you\w*|pending (?:your|on you)|once you"
    r"|you(?:['’]ll| will) (?:need|have) to|needs? to be|nächste|noch nicht|steht aus|reste|pendiente)\b",
    re.IGNORECASE,
)
"""What names work that is left."""
SETTLED = expression(
    r"\b(?:nothing|no (?:action|changes?|further|more)|already|saved|committed|was|were)\b", re.IGNORECASE
)
"""What names work that is done, or how things were."""
_FORMS = {
    "question": expression(r"[?？]\s*$"),
    "announces": expression(r"[:：]\s*$"),
    "ends": expression(r"[.。!！]$"),
    "cut": expression(r"…$"),
    "code": expression(r"`"),
    "symbol": expression(r"[\U0001F300-\U0001FAFF✅❌✓✗]"),
    "number": expression(r"\d"),
    "lower": expression(r"^[a-z]"),
    "i": expression(r"\bi\b", re.IGNORECASE),
    "you": expression(r"\byou", re.IGNORECASE),
    "now": expression(r"\bnow\b", re.IGNORECASE),
    "past": expression(r"\b\w+ed\b"),
    "did": _DID,
    "prepares": PREPARES,
    "remains": REMAINS,
    "settled": SETTLED,
    "passed": proposals.PASSED,
}
_WORDS_A_LENGTH = 4
_MAX_LENGTH = 8


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a sentence is judged; probabilities from 0 to 1, which sum to 1."""

    done: float
    found: float
    other: float

    @property
    def told(self) -> float:
        """The probability that it says what came of the work."""
        return self.done + self.found


@lru_cache(maxsize=4_096)
def judged(sentence: str, *, is_item: bool) -> Verdict:
    """The verdict on a sentence, which may be an item of a list."""
    return Verdict(*MODEL.probabilities(features(sentence, is_item=is_item)))


def features(sentence: str, *, is_item: bool) -> dict[str, float]:
    """The features of a sentence with their values: its wording, form and length."""
    found = wording(sentence)
    found.update((f"form:{name}", WORD) for name, form in _FORMS.items() if form.search(sentence))
    if is_item:
        found["form:item"] = WORD
    length = min(len(sentence.split()) // _WORDS_A_LENGTH, _MAX_LENGTH)
    found[f"length:{length}"] = WORD
    return found
