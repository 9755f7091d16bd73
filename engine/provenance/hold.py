"""Decides which text is held for review because an outsider may have written it (M3).

Filters alone do not stop planted text; refusing to write it unseen does. So these checks err on the side of
holding: a held text is kept, and a person decides. A text counts as the person's or the agent's own if its
distinctive words are theirs. Once the agent has read text from outside, anything it says in new words may be
an outsider's, whatever the language or wording.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from engine.provenance.disguise import is_disguised
from engine.provenance.everyday import EVERYDAY
from engine.provenance.instructions import is_hostile_act, is_instruction, is_takeover
from engine.provenance.voices import (
    VoiceIndex,
    Voices,
    VoicesIndex,
    distinctive_words,
    index_voices,
    is_from_tool,
    particulars,
    plain,
    stem_of,
    words_of,
)
from engine.redaction.detect import redact
from engine.startup.lazy import expression

_GROUNDED = 0.4
"""Share of a text's distinctive words that the person or the agent must have used themselves."""
_TRUSTED = 0.75
"""The same once outside text has been read; only words that cannot come from it count."""
_SHOWN = 0.5
"""The same if the text names something the agent's own commands have shown."""

SECRET = "contains what looks like a secret"
INSTRUCTION = "looks like an instruction to a model"
PATH_INSTRUCTION = "names a path that looks like an instruction to a model"
ACT = "asks to disable a safeguard, give away a secret or run unknown code"
DISGUISED = "uses look-alike letters"
SAYS_TOOL = "comes from tool output, according to the model"
TOOL = "comes from tool output"
ADDRESS = "names an address that no person wrote"
UNSAID = "is in words that neither a person nor the agent used"
UNNAMED = "names something that neither a person nor the agent named"
OUTSIDE = "may be based on text from outside"

PASTED = "may be pasted: "
"""Prefix of the reason for words that a person may not have typed."""

REPEATED = frozenset({TOOL, SAYS_TOOL, UNSAID, UNNAMED})
"""Reasons that mostly apply when an agent repeats its tools."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """The reason a text is held for review."""

    reason: str  # one clause
    sources: tuple[str, ...] = ()  # the outside sources that had been read, if they are the reason


def doubt_of(
    text: str,
    voices: Voices,
    *,
    path: str = "",
    is_tool: bool = False,
    needs_ground: bool = True,
    may_order: bool = False,
) -> Doubt | None:
    """Why a text is held for review; ``None`` if it may be written.

    Args:
        path: The file the note is about.
        needs_ground: Whether the text must use words from the conversation.
        may_order: Whether the text may instruct a model, as a rule set by a person does.
    """
    reason = _risk(text, path, voices, may_order=may_order) or _unspoken(
        text, voices, is_tool=is_tool, needs_ground=needs_ground
    )
    if reason:
        return Doubt(reason, voices.reads if reason in REPEATED else ())
    known, whole = index_voices(voices), f"{path} {text}"
    if _is_trusted(whole, known):
        return None
    if known.passages.repeats(_distinctive(text)) and (pasted := _pasted(text, voices)):
        return Doubt(pasted)
    if voices.reads:
        return None if _is_shown(whole, known) else Doubt(OUTSIDE, voices.reads)
    return Doubt(TOOL) if known.passages.repeats(_distinctive(text)) else None


def _risk(text: str, path: str, voices: Voices, *, may_order: bool = False) -> str:
    """Why a text is dangerous from any author, or from anyone but a person; empty if it is not."""
    whole = f"{path} {text}"
    if redact(whole)[1]:
        return SECRET
    if not may_order and (is_takeover(text) or (is_instruction(text) and not _may_order(text, voices))):
        return INSTRUCTION
    if is_disguised(whole):
        return DISGUISED
    if path and is_instruction(path):
        return PATH_INSTRUCTION
    person = index_voices(voices).person
    if is_hostile_act(text) and _share(_distinctive(text), person) < _TRUSTED:
        return ACT
    if any(address not in person.text for address in _ADDRESS.findall(plain(text))):
        return ADDRESS
    return ""


def _may_order(text: str, voices: Voices) -> bool:
    """True if an order is in words that the person plainly typed: lessons are often worded like orders."""
    return _share(_distinctive(text), index_voices(voices).person) >= _TRUSTED


def _pasted(text: str, voices: Voices) -> str:
    """The reason if a text is in words that a person may have pasted."""
    words = set(map(stem_of, _distinctive(text)))
    for passage in voices.pasted:
        if len(words & set(map(stem_of, words_of(plain(passage.text))))) >= _TRUSTED * len(words):
            return f"{PASTED}{passage.why}"
    return ""


def _unspoken(text: str, voices: Voices, *, is_tool: bool, needs_ground: bool) -> str:
    """Why a text does not come from the person or the agent; empty if it does."""
    read, known = plain(text), index_voices(voices)
    if is_tool:
        return SAYS_TOOL
    if is_from_tool(read, voices):
        return _pasted(text, voices) or TOOL
    if not needs_ground:
        return ""
    words = _distinctive(text)
    if _share(words, known.person, known.agent, known.results) < _GROUNDED:
        return UNSAID
    named = (known.person.text, known.agent.text, known.results.text)
    if any(
        not any(name in text for text in named) for name in particulars(text) if any(map(str.isalpha, name))
    ):
        return UNNAMED
    return ""


def _is_trusted(text: str, known: VoicesIndex) -> bool:
    """True if most words of a text, and everything it names and counts, are free of outside influence."""
    return _names_known(text, known) and _share(_distinctive(text), known.trusted) >= _TRUSTED


def _is_shown(text: str, known: VoicesIndex) -> bool:
    """True if a text reports what the agent's own commands have shown, mostly in known words."""
    is_shown = any(len(each) > 1 and each in known.results.text for each in particulars(text))
    known_words = _share(_distinctive(text), known.trusted, known.person, known.results)
    return is_shown and _names_known(text, known) and known_words >= _SHOWN


def _names_known(text: str, known: VoicesIndex) -> bool:
    shown = (known.trusted.text, known.person.text, known.results.text)
    return all(any(each in text for text in shown) for each in particulars(text))


def voice_of(text: str, voices: Voices) -> Literal["person", "agent", "tool", ""]:
    """Who said what a text says, judged by its words; empty if no one did."""
    if is_from_tool(plain(text), voices):
        return "tool"
    words, known = _distinctive(text), index_voices(voices)
    if _share(words, known.person, known.agent) < _GROUNDED:
        return ""
    return "person" if _share(words, known.person) >= _share(words, known.agent) else "agent"


def _distinctive(text: str) -> set[str]:
    """The words that tell what a text is about; everyday words only if there are no others."""
    words = words_of(plain(text))
    found = distinctive_words(words)
    return found - EVERYDAY - _ATTRIBUTION or found or set(words)


_ATTRIBUTION = frozenset(
    """
    user person wants prefers likes asked wishes needs agreed said nutzer möchte will bevorzugt wünscht
    utilisateur personne veut préfère souhaite usuario persona quiere prefiere пользователь хочет просит 用户
    """.split()  # noqa: SIM905 — one word a line would hide the rest of the module
)
"""Words with which a model attributes a wish to the person, who would use the first person."""


def _share(words: Iterable[str], *indexes: VoiceIndex) -> float:
    """Share of words that any of the voices used, in any form; 1 if there are no words."""
    stems = [stem_of(word) for word in words]
    found = sum(any(stem in index.stems for index in indexes) for stem in stems)
    return found / len(stems) if stems else 1.0


_ADDRESS = expression(r"(?:https?|ftp|wss?)://[^\s)>\]\"']+|www\.[^\s)>\]\"']+|[\w.+-]+@[\w-]+\.[\w.-]+")
