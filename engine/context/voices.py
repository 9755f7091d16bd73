"""Whether what a model took out of a conversation may be written by itself, or waits for a person (M3).

Filters alone do not stop planted text; what does is that what may be planted is not written. So the tests
here err on the side of holding: what is held is kept, and a person decides.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from engine.context.quoting import bare
from engine.transcripts.turn import Turn

_RUN = 3
"""Words in a row that are compared: three equal ones are hardly ever chance."""
_COPIED = 0.5
"""Share of a text's runs that stand in tool output from which it counts as copied."""
_ONLY_THERE = 0.5
"""Share of a text's telling words that nobody but a tool has said, likewise."""
_LEAST_WORDS = 2


@dataclass(frozen=True, slots=True)
class Voices:
    """What was said in some turns, by whom.

    Attributes:
        person: What people wrote.
        agent: What the agent wrote.
        tool: Everything else: what tools were asked and gave back, and what systems said.
    """

    person: str
    agent: str
    tool: str


def voices(turns: Iterable[Turn]) -> Voices:
    """What was said in some turns, by whom, without what was injected into them."""
    said: dict[str, list[str]] = {"user": [], "agent": [], "system": []}
    for turn in map(bare, turns):
        said[turn.role].append(turn.text)
        said["system"] += [f"{tool.summary}\n{tool.result}" for tool in turn.tools]
    return Voices(*("\n".join(said[role]) for role in ("user", "agent", "system")))


def why_doubtful(text: str, said: Voices, *, is_tool: bool = False) -> str:
    """Why a text waits for a person; empty when it may be written.

    Args:
        text: What was taken out of the turns.
        said: What was said in them.
        is_tool: Whether the model itself says that it is from a tool.
    """
    text = plain(text)
    if is_instruction(text):
        return "looks like an instruction to a model"
    if is_tool:
        return "comes from tool output, as the model says itself"
    if is_from_tool(text, said):
        return "comes from tool output"
    person = heard(said).person.text
    if any(address not in person for address in _ADDRESS.findall(text)):
        return "names an address that no person wrote"
    return ""


def is_instruction(text: str) -> bool:
    """Whether a text speaks to a model, or asks for what only a plan for one would."""
    return _INSTRUCTION.search(plain(text)) is not None


def is_from_tool(text: str, said: Voices) -> bool:
    """Whether a plain text says what a tool said and no person did."""
    words, known = words_of(text), heard(said)
    tool, person, agent = known.tool, known.person, known.agent
    # What the agent repeats from a tool is still the tool's; what a person says is theirs.
    runs = _runs(words) - person.runs
    if runs and len(runs & tool.runs) >= _COPIED * len(_runs(words)):
        return True
    telling = telling_words(words) or set(words)
    only_there = (telling & tool.words) - person.words - agent.words
    return len(only_there) >= max(_LEAST_WORDS, _ONLY_THERE * len(telling))


@dataclass(frozen=True, slots=True)
class Heard:
    """What one voice said, as it is compared.

    Attributes:
        text: In plain letters.
        words: Its words.
        runs: Every three words in a row.
    """

    text: str
    words: frozenset[str]
    runs: frozenset[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class AllHeard:
    """What all voices said, as it is compared."""

    person: Heard
    agent: Heard
    tool: Heard


@lru_cache(maxsize=2)
def heard(said: Voices) -> AllHeard:
    """What was said, ready to be compared; remembered, since many texts are taken out of one conversation."""
    return AllHeard(_heard(said.person), _heard(said.agent), _heard(said.tool))


def _heard(said: str) -> Heard:
    text = plain(said)
    words = words_of(text)
    return Heard(text, frozenset(words), frozenset(_runs(words)))


def words_of(text: str) -> list[str]:
    """The words and numbers of a plain text."""
    return _WORD.findall(text)


def telling_words(words: Iterable[str]) -> set[str]:
    """The words that say what a text is about."""
    return {word for word in words if len(word) > 3 or any(map(str.isdigit, word))}


def plain(text: str) -> str:
    """A text as it reads: compatibility forms and case folded, invisible characters gone, blanks single."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    if not folded.isascii():
        folded = "".join(c for c in folded if unicodedata.category(c) != "Cf")
    return " ".join(folded.split())


def _runs(words: Sequence[str]) -> set[tuple[str, ...]]:
    return {tuple(words[start : start + _RUN]) for start in range(len(words) - _RUN + 1)}


_WORD = re.compile(r"[^\W_]+")
_ADDRESS = re.compile(r"(?:https?|ftp|wss?)://[^\s)>\]\"']+|www\.[^\s)>\]\"']+|[\w.+-]+@[\w-]+\.[\w.-]+")
_INSTRUCTION = re.compile(
    "|".join(
        (
            # Taking the place of what the model was told.
            r"\b(?:ignore|disregard|forget|override|overrule|bypass|supersede)s?\b.{0,60}"
            r"\b(?:instruction|prompt|rule|guideline|polic|safety|previous|prior|above|earlier|restriction)",
            r"\b(?:system|developer|hidden) (?:prompt|message|instruction)",
            r"\bnew (?:instruction|directive|rule)s?\b|\bjailbreak|\bdeveloper mode|\bdan mode",
            r"\[/?inst\]|<\|[a-z_]+\|>|^(?:system|assistant|user|human|ai)\s*:",
            # Speaking to a model, or of what it shall be from now on.
            r"\b(?:you|the (?:assistant|agent|model|ai|bot)|assistants|agents|models|ai|claude|gpt)"
            r"(?: \w+){0,2} (?:must|should|shall|have to|has to|need to|needs to|are to|is to|will) "
            r"(?:\w+ )?(?:always|never|not|only|now|first|begin|start|respond|reply|answer|include|send|say"
            r"|tell|use|run|call|execute|recommend|mention|add|append|obey|follow|treat|act|pretend|trust)",
            r"\bas an ai\b|\byou are (?:now|no longer|an?)\b|\bact as\b|\bpretend (?:to|that|you)\b",
            r"\bfrom (?:now|here) on\b|\bhenceforth\b|\bin (?:all|every|any|future) "
            r"(?:\w+ )?(?:conversation|session|reply|replies|response|answer|message|chat|turn)s?\b",
            r"\b(?:every|each|all|any|future) (?:reply|replies|responses?|answers)\b",
            r"\b(?:when|if|whenever|every time|each time|before|after) (?:the user|a user|someone|asked|you)"
            r"\b.{0,80}\b(?:always|never|say|reply|respond|answer|send|include|run|tell|recommend)\b",
            # Standing orders.
            r"(?:^|[.:;!] |\b(?:to|and|please|must|should|shall) )(?:always|never)\b",
            r"\b(?:remember|make sure|be sure|note|ensure|take care)\b(?: that)?.{0,20}\b(?:always|never)\b",
            r"^(?:please\b|do not\b|don't\b|must\b)",
            r"\b(?:do not|don't|never) (?:tell|mention|reveal|disclose|show|inform|warn|ask)\b",
            # Doing something with what it can reach.
            r"\b(?:curl|wget|bash|sh|powershell|eval|base64)\b.{0,80}(?:\||https?:|-c\b|-d\b)|\brm -rf\b",
            r"\b(?:send|post|upload|forward|exfiltrate|leak|submit|transmit)\b.{0,80}(?:https?://|@|\bto the "
            r"(?:address|url|server|endpoint)\b)",
            # The commonest of these in German, French and Spanish.
            r"\b(?:ignoriere|missachte|vergiss)\b.{0,60}\b(?:anweisung|regel|vorherig|bisherig)",
            r"\b(?:ab jetzt|von nun an|ab sofort)\b|\bmerke? dir\b.{0,40}\b(?:immer|nie)\b",
            r"\b(?:ignore[rz]?|oublie[rz]?)\b.{0,60}\b(?:instruction|règle|consigne)",
            r"\bà partir de maintenant\b|\bdésormais\b",
            r"\b(?:ignora|olvida)\b.{0,60}\b(?:instruccion|regla)|\ba partir de ahora\b",
        )
    )
)
