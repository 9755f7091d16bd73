"""What waits for a person, because its real author may be a stranger (M3).

Filters alone do not stop planted text; not writing what may be planted does. So the tests here err on the
side of holding: what is held is kept, and a person decides. An item is the person's or the agent's own as far
as its distinctive words are; once the agent has read text from outside, what it says in words not used before
may be an outsider's, in whatever language or wording.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from engine.activation.function_words import WORDS
from engine.provenance.disguise import account_numbers, is_disguised, odd_paths
from engine.provenance.instructions import is_hostile_act, is_instruction
from engine.provenance.voices import (
    SAID_AGAIN,
    AllHeard,
    Heard,
    Voices,
    heard,
    is_from_tool,
    particulars,
    plain,
    stem_of,
    telling_words,
    words_of,
)
from engine.redaction.detect import redact

_GROUNDED = 0.4
"""Share of a text's telling words that a person or the agent must have used themselves."""
_SPOKEN = 0.5
"""The same of what is said about a person's wishes, which only that person can know."""
_FIRM = 0.75
"""The same of what is said after outside text was read: words of the person, of before, or of commands."""
_SHOWN = 0.5
"""The same where the text names what the agent's own commands have shown."""

SECRET = "holds what looks like a secret"
INSTRUCTION = "looks like an instruction to a model"
PATH_INSTRUCTION = "names a path that looks like an instruction to a model"
ACT = "wants a safeguard gone, a secret given away or unknown code run"
DISGUISED = "is written so that it hides something"
ODD_PATH = "names a path that decides how an agent or a machine acts, or that leads out of the workspace"
ACCOUNT = "names an account for payments that no person named"
ADDRESS = "names an address that no person wrote"
PREFERENCE = "says what a person wants, and no person said it"
SAYS_TOOL = "comes from tool output, as the model says itself"
TOOL = "comes from tool output"
UNSAID = "is in words that neither a person nor the agent used"
UNNAMED = "names something that neither a person nor the agent named"
OUTSIDE = "may rest on what was read from outside"

REPEATED = frozenset({TOOL, SAYS_TOOL, UNSAID, UNNAMED})
"""Reasons of what is mostly the work of an agent that repeats its tools."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a text waits for a person."""

    why: str  # one clause
    read: tuple[str, ...] = ()  # what had been read from outside, where that is why


def doubt_of(
    text: str,
    said: Voices,
    *,
    path: str = "",
    is_tool: bool = False,
    needs_ground: bool = True,
    may_order: bool = False,
) -> Doubt | None:
    """Why a text waits for a person; ``None`` when it may be written.

    Args:
        path: The file that it is a note of.
        needs_ground: Whether it must use words that were said.
        may_order: Whether it may tell a model what to do, as a rule does that a person has set.
    """
    why = _risk(text, path, said, may_order=may_order) or _unheard(
        text, said, is_tool=is_tool, needs_ground=needs_ground
    )
    if why:
        return Doubt(why, said.reads if why in REPEATED else ())
    known, whole = heard(said), f"{path} {text}"
    if _is_firm(whole, known):
        return None
    if said.reads:
        return None if _is_shown(whole, known) else Doubt(OUTSIDE, said.reads)
    return Doubt(TOOL) if known.passages.share(_telling(text)) >= SAID_AGAIN else None


def _risk(text: str, path: str, said: Voices, *, may_order: bool = False) -> str:
    """Why a text is dangerous from any author, or from any but a person."""
    whole = f"{path} {text}"
    if redact(whole)[1]:
        return SECRET
    if is_instruction(text) and not may_order:
        return INSTRUCTION
    if is_disguised(whole):
        return DISGUISED
    if path and is_instruction(path):
        return PATH_INSTRUCTION
    person = heard(said).person
    if is_hostile_act(text) and _share(_telling(text), person) < _FIRM:
        return ACT
    known = f"{person.text} {plain(said.results)}"
    if any(plain(odd) not in known for odd in odd_paths(whole)):
        return ODD_PATH
    letters = re.sub(r"\s", "", person.text)
    if any(plain(number) not in letters for number in account_numbers(text)):
        return ACCOUNT
    if any(address not in person.text for address in _ADDRESS.findall(plain(text))):
        return ADDRESS
    return ""


def _unheard(text: str, said: Voices, *, is_tool: bool, needs_ground: bool) -> str:
    """Why a text is not what the person or the agent said."""
    read, known = plain(text), heard(said)
    if is_tool:
        return SAYS_TOOL
    if is_from_tool(read, said):
        return TOOL
    if not needs_ground:
        return ""
    words = _telling(text)
    if _share(words, known.person, known.agent, known.results) < _GROUNDED:
        return UNSAID
    named = (known.person.text, known.agent.text, known.results.text)
    if any(
        not any(name in text for text in named) for name in particulars(text) if any(map(str.isalpha, name))
    ):
        return UNNAMED
    if _WISH.search(read) and _share(words, known.person) < _SPOKEN:
        return PREFERENCE
    return ""


def _is_firm(text: str, known: AllHeard) -> bool:
    """Whether a text rests on what was said without anything from outside: most of its words, and all that it
    names and counts.
    """
    return _names_known(text, known) and _share(_telling(text), known.firm) >= _FIRM


def _is_shown(text: str, known: AllHeard) -> bool:
    """Whether a text tells of what the agent's own commands have shown, in words most of which are known."""
    is_shown = any(len(each) > 1 and each in known.results.text for each in particulars(text))
    known_words = _share(_telling(text), known.firm, known.person)
    return is_shown and _names_known(text, known) and known_words >= _SHOWN


def _names_known(text: str, known: AllHeard) -> bool:
    return all(each in known.firm.text or each in known.person.text for each in particulars(text))


def voice_of(text: str, said: Voices) -> Literal["person", "agent", "tool", ""]:
    """Who said what a text says, by its words; empty where no voice did."""
    if is_from_tool(plain(text), said):
        return "tool"
    words, known = _telling(text), heard(said)
    if _share(words, known.person, known.agent) < _GROUNDED:
        return ""
    return "person" if _share(words, known.person) >= _share(words, known.agent) else "agent"


def _telling(text: str) -> set[str]:
    """The words that say what a text is about; everyday ones only where there are no others."""
    words = words_of(plain(text))
    telling = telling_words(words)
    return telling - _everyday() - _TELLERS or telling or set(words)


_TELLERS = frozenset(
    """
    user person wants prefers likes asked wishes needs agreed said nutzer möchte will bevorzugt wünscht
    utilisateur personne veut préfère souhaite usuario persona quiere prefiere пользователь хочет просит 用户
    """.split()  # noqa: SIM905 — one word a line would hide the rest of the module
)
"""How a model says that something is the person's wish; the person says it in the first person."""


@lru_cache(maxsize=1)
def _everyday() -> frozenset[str]:
    return frozenset(word for words in WORDS.values() for word in words.split())


def _share(words: Iterable[str], *voices: Heard) -> float:
    """Share of words that some voices used, in whatever form; 1 where there are no words."""
    stems = [stem_of(word) for word in words]
    found = sum(any(stem in voice.stems for voice in voices) for stem in stems)
    return found / len(stems) if stems else 1.0


_ADDRESS = re.compile(r"(?:https?|ftp|wss?)://[^\s)>\]\"']+|www\.[^\s)>\]\"']+|[\w.+-]+@[\w-]+\.[\w.-]+")
_WISH = re.compile(
    r"\b(?:user|person|owner|customer|client|developer|human|benutzer|nutzer|kunde|utilisateur|usuario"
    r"|usuário|utente"
    r"|пользовател\w*)s?\b"
    r".{0,40}\b(?:prefer|want|like|wish|expect|need|authori[sz]e|approve|allow|agree|trust|bevorzug|will"
    r"|möchte"
    r"|wünscht|erlaubt|préfère|veut|souhaite|prefiere|quiere|prefere|quer|preferisce|vuole|предпочита|хочет"
    r"|жела)\w{0,4}\b"
    r"|(?:用户|使用者|用戶|ユーザー|사용자).{0,12}(?:希望|喜欢|偏好|要求|想要|允许|授权|好む|望|希望|원)"
)
