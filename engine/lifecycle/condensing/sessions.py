"""The sessions of a day, each with its turns of that day."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engine.store.zone import local_day
from engine.transcripts.turn import Turn

if TYPE_CHECKING:
    from engine.conversations.conversations import Conversation, Conversations

MAX_SESSION_DAYS = 7
"""Sessions that began earlier are not considered."""

_DATED = re.compile(r"/(\d{4})[/-](\d\d)[/-](\d\d)[/-]")


@dataclass(frozen=True, slots=True)
class Session:
    """The part of a session that belongs to a day."""

    path: str
    id: str  # session id; may be empty
    name: str  # session id, or the file name without suffix
    turns: tuple[Turn, ...]  # of the day
    first: int  # number of the first of them, from 1


def sessions_of(
    conversations: Conversations, day: date, zone: str, since: datetime | None = None
) -> Iterator[Session]:
    """The person's sessions of a day by start time, each with its turns of the day, or of the rest of it
    ``since`` a time.
    """
    # Transcripts have times in minutes.
    begin = datetime.min.replace(tzinfo=UTC) if since is None else since.replace(second=0, microsecond=0)
    found: list[Conversation] = []
    for path in sorted(conversations.sizes()):
        dated = _DATED.search(path.replace("raw/conversations", "", 1))
        if dated is not None and not _may_be_of(dated, day):
            continue
        conversation = conversations.read(path)
        if conversation is not None and not conversations.author(path):
            found.append(conversation)
    for each in sorted(found, key=lambda each: (each.started, each.path)):
        places = [at for at, time in enumerate(each.times) if time >= begin and local_day(time, zone) == day]
        if not places:
            continue
        turns = tuple(each.turns[at] for at in places)
        name = each.session_id or PurePosixPath(each.path).stem
        yield Session(each.path, each.session_id, name, turns, each.first + places[0] + 1)


def _may_be_of(dated: re.Match[str], day: date) -> bool:
    try:
        began = date(*map(int, dated.groups()))
    except ValueError:
        return True
    return day - timedelta(days=MAX_SESSION_DAYS) <= began <= day + timedelta(days=1)
