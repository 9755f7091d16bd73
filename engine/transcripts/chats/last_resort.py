"""Finds the prompts of a history whose sessions have neither a log nor another transcript."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, cast

from engine.redaction.detect import redacted
from engine.transcripts.chats.chat import Chat
from engine.transcripts.chats.prompts import names_session
from engine.transcripts.format import parse
from engine.transcripts.importers.log import Kind, id_in_name
from engine.transcripts.importers.merge import Said
from engine.transcripts.importers.run import discover
from engine.transcripts.importers.state import PROMPTS_FIELD, KnownSessions, shown_source
from engine.transcripts.places import head_fields, read_head

_DAYS = ("started", "ended", "cwd")


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts of a session that only a history has."""

    chat: Chat
    news: Literal["new", "grown", "imported"]


def digest_of(chat: Chat) -> str:
    """The fingerprint of one of several conversations in a file."""
    return hashlib.sha256(repr(chat.turns).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def prompts_left(chats: Iterable[Chat], source: Path, known: KnownSessions) -> Iterator[Prompts]:
    """The prompts of a history that no log and no other transcript has.

    Prompts whose session is not named are compared with the transcripts of their project and day.

    Args:
        source: The history, in the agent's folder.
    """
    others = _Transcripts(known)
    imported = {entry.session_id: entry for entry in known.sources.get(shown_source(source), [])}
    logged: dict[str, set[str]] = {}
    for chat in chats:
        kind = cast("Kind", chat.format)
        if kind not in logged:
            logs = [*discover(kind, source.parent), *discover(kind)]
            logged[kind] = {id_in_name(path) for path in logs}
        name = chat.session_id.lower()
        entry = imported.get(name)
        other = known.transcripts.get(name, "") if entry is None else ""
        # Another history may have other prompts of the session.
        is_parts = bool(other) and _is_prompts(known.workspace.root / other)
        if name in logged[kind] or (other and not is_parts):
            continue
        if not names_session(chat):
            chat = others.without_said(chat, entry.path if entry else "")
        if chat.turns and entry is None:
            yield Prompts(chat, "grown" if is_parts else "new")
        elif chat.turns and entry is not None:
            yield Prompts(chat, "imported" if entry.progress.source == digest_of(chat) else "grown")


def _is_prompts(path: Path) -> bool:
    """Whether a transcript has only what a history has."""
    return bool(head_fields(read_head(path), (PROMPTS_FIELD,))[PROMPTS_FIELD])


class _Transcripts:
    """What users said according to the transcripts, by project and day."""

    def __init__(self, known: KnownSessions) -> None:
        self._known = known

    @cached_property
    def _heads(self) -> list[tuple[Path, dict[str, str]]]:
        paths = (self._known.workspace.root / path for path in self._known.transcripts.values())
        return [(path, head_fields(read_head(path), _DAYS)) for path in paths]

    def without_said(self, chat: Chat, own: str) -> Chat:
        """The prompts of a project and day without those that a transcript has, except their ``own``."""
        day = f"{chat.started:%Y-%m-%d}" if chat.started else ""
        texts: list[str] = []
        for path, head in self._heads:
            is_then = head["started"][:10] <= day <= (head["ended"] or "9")[:10]
            if is_then and head["cwd"] in ("", chat.cwd) and path != self._known.workspace.root / own:
                turns = parse(path.read_bytes(), "").turns
                texts += [redacted(turn.text) for turn in turns if turn.role == "user"]
        said = Said(texts)
        return replace(chat, turns=tuple(turn for turn in chat.turns if not said.take(redacted(turn.text))))
