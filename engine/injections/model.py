"""What a prompt that was used held, and whether it was of use, as the log keeps it (spec 6.3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from engine.activation.decision import hash_of
from engine.context.delimiters import one_line
from engine.startup.records import dataclass
from engine.store.monthly import list_in, text_in, whole_in

if TYPE_CHECKING:
    from engine.context.compiled import Section
    from engine.store.monthly import Record

RECORDED_PRIORITIES = (2, 3)
"""Topics with their subscriptions, and what search found: the parts of a prompt that were chosen for its
message."""

WHY_CHARACTERS = 120
"""Of what is recorded of why a section was told."""

_HASH_CHARACTERS = 32


@dataclass(frozen=True, slots=True)
class InjectedSection:
    """A section of a prompt, without its text."""

    path: str
    lines: str  # as in ``Section``; empty for the whole file
    priority: int  # 2 or 3
    tokens: int  # of its text
    score: float | None  # relevance, where it was ranked
    was_useful: bool | None = None  # whether the reply made use of it; ``None`` while that cannot be told
    why: str = ""  # why an agent was told it, at most ``WHY_CHARACTERS``; empty where it was not recorded
    judged: bool = False  # whether ``was_useful`` is a person's word


@dataclass(frozen=True, slots=True)
class RulesShown:
    """Which of the person's rules a prompt held."""

    held: tuple[str, ...]  # ids
    called: tuple[str, ...]  # of these, those that the message called for
    tokens: int  # that all of them took


@dataclass(frozen=True, slots=True)
class Injection:
    """A prompt that was used."""

    id: str
    at: str  # when it was compiled, ISO 8601, UTC
    session_id: str  # empty where none was named
    turn: str  # the key of the turn that it answers; the one expected, until its exchange is known
    message_hash: str  # ``message_hash`` of the message
    tokens: int  # of the whole prompt
    budget: int  # tokens
    sections: tuple[InjectedSection, ...]  # in the order in which they stood in it
    finished: bool = False  # whether its exchange is over, so that nothing more will be known
    is_claimed: bool = False  # whether its exchange is known
    rules: RulesShown | None = None  # ``None`` where it was not recorded
    by: str = ""  # the agent whose hook was told it; empty for a prompt of our own

    @property
    def useful(self) -> tuple[InjectedSection, ...]:
        """The sections that were of use."""
        return tuple(section for section in self.sections if section.was_useful)


@dataclass(frozen=True, slots=True)
class UseNote:
    """What an exchange has shown about an injection so far."""

    injection: str  # its id
    at: str  # ISO 8601, UTC
    turn: str  # the key of the message
    was_useful: tuple[bool | None, ...]  # by section, in their order
    paths: tuple[str, ...]  # files that were not known to have been of use before this note
    finished: bool  # whether the exchange is over
    gone: tuple[str, ...] = ()  # files that were, and of which a person says that they were not
    by_person: bool = False  # whether a person says so; nothing that a reply shows changes that


def message_hash(text: str) -> str:
    """Names a message by its words: white space does not matter, since shell, agent and transcript change
    it."""
    return hash_of(" ".join(text.split()))[:_HASH_CHARACTERS]


def injected(sections: Iterable[Section], *, explained: bool = False) -> tuple[InjectedSection, ...]:
    """Those sections of a prompt that are recorded; ``explained``, with why each is in it."""
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
    """The record of a new injection."""
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
    """The record of a note."""
    return {key: value for key, value in asdict(note).items() if value or key not in ("gone", "by_person")}


def entry_of(record: Record) -> Injection | UseNote | None:
    """What a record holds; ``None`` when it is of another form."""
    try:
        return _note(record) if "was_useful" in record else _injection(record)
    except (KeyError, TypeError):
        return None


def noted(injection: Injection, note: UseNote) -> Injection:
    """An injection with what a note says of it; what was of use once stays so, unless a person says not."""
    states = (*note.was_useful, *[None] * len(injection.sections))

    def known(section: InjectedSection, state: bool | None) -> InjectedSection:
        if state is None or (not note.by_person and (section.judged or section.was_useful)):
            return section
        return replace(section, was_useful=state, judged=note.by_person)

    sections = tuple(map(known, injection.sections, states))
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
        raise TypeError("a section was of use, was not, or it is not known")
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
