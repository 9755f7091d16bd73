"""The sessions of a day, each with its marked items and closing summary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engine.knowledge.harvest.markers import marked
from engine.knowledge.harvest.proposals import proposed
from engine.knowledge.item import Item
from engine.knowledge.proposed import WHY, why_held
from engine.provenance.spoken import voices_of
from engine.store.zone import local_day
from engine.transcripts.turn import Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.conversations.conversations import Conversation, Conversations

MAX_SESSION_DAYS = 7
"""Sessions that began earlier are not considered."""

_DATED = re.compile(r"/(\d{4})[/-](\d\d)[/-](\d\d)[/-]")
_SLUG = re.compile(r"^(?:\d{4}-\d\d-\d\d-)?(?:\d{4}-)?(?:ses_[0-9a-zA-Z]+-)?")
_KEPT = frozenset({"decisions", "facts", "tasks_done", "tasks_open", "questions"})


@dataclass(frozen=True, slots=True)
class Session:
    """The part of a session that belongs to a day."""

    path: str
    id: str  # session id; may be empty
    name: str  # session id, or the file name without suffix
    title: str  # in words
    turns: tuple[Turn, ...]  # of the day
    first: int  # number of the first of them, from 1
    items: tuple[Item, ...]  # marked items, and the agent's closing summary
    held: int  # items left out because they may come from an outsider


def sessions_of(
    conversations: Conversations, day: date, zone: str, since: datetime | None = None
) -> Iterator[Session]:
    """The sessions of a day by start time, each with its turns of the day, or of the rest of it ``since`` a
    time.

    Items that a harvest would hold for review are left out (robustness M3, X8), except the agent's summary.
    """
    # Transcripts have times in minutes.
    begin = datetime.min.replace(tzinfo=UTC) if since is None else since.replace(second=0, microsecond=0)
    found: list[Conversation] = []
    for path in sorted(conversations.sizes()):
        dated = _DATED.search(path.replace("raw/conversations", "", 1))
        if dated is not None and not _may_be_of(dated, day):
            continue
        conversation = conversations.read(path)
        if conversation is not None:
            found.append(conversation)
    for each in sorted(found, key=lambda each: (each.started, each.path)):
        places = [at for at, time in enumerate(each.times) if time >= begin and local_day(time, zone) == day]
        if not places:
            continue
        turns = tuple(each.turns[at] for at in places)
        items, held = _items(each.turns[: places[-1] + 1], turns)
        stem = PurePosixPath(each.path).stem
        title = _SLUG.sub("", stem).replace("-", " ").strip() or stem
        if why_held(Item("notes", title, voice="agent"), voices_of(turns)) is not None:
            title = each.session_id or "a session"
        yield Session(
            each.path,
            each.session_id,
            each.session_id or stem,
            title,
            turns,
            each.first + places[0] + 1,
            items,
            held,
        )


def _may_be_of(dated: re.Match[str], day: date) -> bool:
    try:
        began = date(*map(int, dated.groups()))
    except ValueError:
        return True
    return day - timedelta(days=MAX_SESSION_DAYS) <= began <= day + timedelta(days=1)


def _items(before: Sequence[Turn], turns: Sequence[Turn]) -> tuple[tuple[Item, ...], int]:
    """Items of the turns that may go into a journal, and the number left for a harvest."""
    voices = voices_of(before)
    summaries = [item for item in proposed(turns) if item.why == WHY["summary"]]
    found: list[Item] = []
    held = 0
    for item in (*marked(turns), *summaries):
        doubt = why_held(item, voices)
        if doubt is not None and doubt.reason != WHY["summary"]:
            held += 1
        elif item.category in _KEPT:
            found.append(item)
    return tuple(found), held
