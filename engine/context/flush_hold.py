"""Notes that are not written by themselves, because whoever spoke through them may be nobody we know (M3).

Filters alone do not stop planted text; what does is that such notes are not written. So the tests here err on
the side of holding: what is held is kept in the record of the flush and waits for a person.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.context.flush_prompt import Note, bare
from engine.transcripts.turn import Turn

_RUN = 3
"""Words in a row that are compared: three equal ones are hardly ever chance."""
_COPIED = 0.5
"""Share of a note's runs that stand in tool output from which it counts as copied."""
_ONLY_THERE = 0.5
"""Share of a note's telling words that nobody but a tool has said, likewise."""
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


def why_held(note: Note, said: Voices) -> str:
    """Why a note waits for a person; empty when it may be written.

    Args:
        note: The note.
        said: What was said in the turns that it is about.
    """
    text = _plain(note.text)
    if _INSTRUCTION.search(text):
        return "looks like an instruction to a model"
    if note.source == "tool":
        return "comes from tool output, as the model says itself"
    if _is_from_tool(text, said):
        return "comes from tool output"
    person = _plain(said.person)
    if any(address not in person for address in _ADDRESS.findall(text)):
        return "names an address that no person wrote"
    return ""


def _is_from_tool(text: str, said: Voices) -> bool:
    words = _WORD.findall(text)
    tool, person, agent = (_WORD.findall(_plain(each)) for each in (said.tool, said.person, said.agent))
    # What the agent repeats from a tool is still the tool's; what a person says is theirs.
    runs = _runs(words) - _runs(person)
    if runs and len(runs & _runs(tool)) >= _COPIED * len(_runs(words)):
        return True
    telling = {word for word in words if len(word) > 3 or any(map(str.isdigit, word))}
    only_there = (telling & set(tool)) - set(person) - set(agent)
    return len(only_there) >= max(_LEAST_WORDS, _ONLY_THERE * len(telling))


def _runs(words: Sequence[str]) -> set[tuple[str, ...]]:
    return {tuple(words[start : start + _RUN]) for start in range(len(words) - _RUN + 1)}


def _plain(text: str) -> str:
    """A text as it reads: compatibility forms and case folded, invisible characters gone, blanks single."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(c for c in folded if unicodedata.category(c) != "Cf").split())


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
