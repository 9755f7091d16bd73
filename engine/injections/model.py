"""Records of the injection log: what a used prompt held, and what of it was useful (spec 6.3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from engine.activation.decisions import hash_of
from engine.context.compiled import OFFER_LINES
from engine.context.delimiters import one_line
from engine.redaction.detect import redacted
from engine.startup.records import dataclass
from engine.store.monthly import list_in, text_in, whole_in

if TYPE_CHECKING:
    from engine.context.compiled import Section
    from engine.store.monthly import Record

RECORDED_PRIORITIES = (2, 3)
"""Topics with their subscriptions, and search results: the sections chosen for a message."""

WHY_CHARACTERS = 120
"""Recorded of the reason for a section."""

_HASH_CHARACTERS = 32
_HASHED_CHARACTERS = 20_000


@dataclass(frozen=True, slots=True)
class InjectedSection:
    """A section of a prompt, without its text."""

    path: str
    lines: str  # as in ``Section``; empty for the whole file
    priority: int  # 2 or 3
    tokens: int  # of its text
    score: float | None  # relevance, if it was ranked
    was_useful: bool | None = None  # whether the reply used it; None if not known yet
    why: str = ""  # the reason, at most ``WHY_CHARACTERS``; empty if not recorded
    judged: bool = False  # whether ``was_useful`` is a person's judgement

    @property
    def is_offer(self) -> bool:
        """Whether it only tells of a playbook that may apply, and is useful if the agent opens it."""
        return self.priority == 2 and self.lines == OFFER_LINES


@dataclass(frozen=True, slots=True)
class RulesShown:
    """The rules in a prompt."""

    held: tuple[str, ...]  # ids
    called: tuple[str, ...]  # of these, the ones triggered by the message
    tokens: int  # of all of them


@dataclass(frozen=True, slots=True)
class Injection:
    """A prompt that was used."""

    id: str
    at: str  # when it was compiled, ISO 8601, UTC
    session_id: str  # empty if unknown
    turn: str  # the key of its message's turn; the expected one until its exchange is known
    message_hash: str  # ``message_hash`` of the message
    tokens: int  # of the whole prompt
    budget: int  # tokens
    sections: tuple[InjectedSection, ...]  # in prompt order
    finished: bool = False  # whether its exchange is over, so that nothing more will be learned
    is_claimed: bool = False  # whether its exchange is known
    rules: RulesShown | None = None  # None if not recorded
    by: str = ""  # the agent whose hook injected it; empty for our own prompts

    @property
    def useful(self) -> tuple[InjectedSection, ...]:
        return tuple(section for section in self.sections if section.was_useful)


@dataclass(frozen=True, slots=True)
class UseNote:
    """What is known about the use of an injection so far."""

    injection: str  # its id
    at: str  # ISO 8601, UTC
    turn: str  # the key of the message
    was_useful: tuple[bool | None, ...]  # by section, in prompt order
    paths: tuple[str, ...]  # files that become useful with this note
    finished: bool  # whether the exchange is over
    gone: tuple[str, ...] = ()  # files that a person judged not useful after all
    by_person: bool = False  # a person's judgement, which later replies do not change


def message_hash(text: str) -> str:
    """A hash of the start of a message: without white space, which shells, agents and transcripts change, and
    with secrets redacted, as in a transcript. Hooks cut very long messages.
    """
    return hash_of(" ".join(redacted(text).split())[:_HASHED_CHARACTERS])[:_HASH_CHARACTERS]


def injected(sections: Iterable[Section], *, explained: bool = False) -> tuple[InjectedSection, ...]:
    """The sections of a prompt to record, with their reasons if ``explained``."""
    return tuple(
        InjectedSection(
            section.source,
            section.lines,
            section.priority,
            section.tokens,
            None if section.score is None else round(section.score, 4),
            why=one_line(section.why, WHY_CHARACTERS) if explained else "",
        )
        for section in sections
        if section.priority in RECORDED_PRIORITIES and section.source
    )


def record_of_injection(injection: Injection) -> Record:
    rules = {} if injection.rules is None else {"rules": asdict(injection.rules)}
    return {
        "id": injection.id,
        "at": injection.at,
        "session": injection.session_id,
        "turn": injection.turn,
        "message": injection.message_hash,
        "tokens": injection.tokens,
        "budget": injection.budget,
        "sections": [
            {
                key: value
                for key, value in asdict(section).items()
                if key not in ("was_useful", "judged") and (value or key != "why")
            }
            for section in injection.sections
        ],
        **rules,
        **({"by": injection.by} if injection.by else {}),
    }


def record_of_note(note: UseNote) -> Record:
    return {key: value for key, value in asdict(note).items() if value or key not in ("gone", "by_person")}


def entry_of(record: Record) -> Injection | UseNote | None:
    """The injection or note in a record; None if it is malformed."""
    try:
        return _note(record) if "was_useful" in record else _injection(record)
    except (KeyError, TypeError):
        return None


def noted(injection: Injection, note: UseNote) -> Injection:
    """An injection updated by a note; useful sections stay useful unless a person judges otherwise."""
    states = (*note.was_useful, *[None] * len(injection.sections))

    def updated(section: InjectedSection, state: bool | None) -> InjectedSection:
        if state is None or (not note.by_person and (section.judged or section.was_useful)):
            return section
        return replace(section, was_useful=state, judged=note.by_person)

    sections = tuple(map(updated, injection.sections, states))
    if note.by_person:
        return replace(injection, sections=sections)
    return replace(
        injection,
        turn=note.turn,
        sections=sections,
        finished=injection.finished or note.finished,
        is_claimed=True,
    )


def _injection(record: Record) -> Injection:
    return Injection(
        id=text_in(record["id"]),
        at=text_in(record["at"]),
        session_id=text_in(record["session"]),
        turn=text_in(record["turn"]),
        message_hash=text_in(record["message"]),
        tokens=whole_in(record["tokens"]),
        budget=whole_in(record["budget"]),
        sections=tuple(
            InjectedSection(
                text_in(section["path"]),
                text_in(section["lines"]),
                whole_in(section["priority"]),
                whole_in(section["tokens"]),
                None if section["score"] is None else float(section["score"] + 0.0),
                why=text_in(section.get("why", "")),
            )
            for section in list_in(record["sections"])
        ),
        rules=_rules(record["rules"]) if "rules" in record else None,
        by=text_in(record.get("by", "")),
    )


def _rules(tree: Record) -> RulesShown:
    held, called = (tuple(map(text_in, list_in(tree[name]))) for name in ("held", "called"))
    return RulesShown(held, called, whole_in(tree["tokens"]))


def _note(record: Record) -> UseNote:
    states = list_in(record["was_useful"])
    if not all(state is None or isinstance(state, bool) for state in states):
        raise TypeError("expected true, false or null for each section")
    return UseNote(
        injection=text_in(record["injection"]),
        at=text_in(record["at"]),
        turn=text_in(record["turn"]),
        was_useful=tuple(states),
        paths=tuple(map(text_in, list_in(record["paths"]))),
        finished=record["finished"] is True,
        gone=tuple(map(text_in, list_in(record.get("gone", [])))),
        by_person=record.get("by_person") is True,
    )
