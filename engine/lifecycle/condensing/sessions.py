"""What happened on a day: the sessions of that day, each with what it marks and how it ended."""

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

LONGEST_DAYS = 7
"""A session that began longer ago is not looked for."""

_DATED = re.compile(r"/(\d{4})[/-](\d\d)[/-](\d\d)[/-]")
_SLUG = re.compile(r"^(?:\d{4}-\d\d-\d\d-)?(?:\d{4}-)?(?:ses_[0-9a-zA-Z]+-)?")
_KEPT = frozenset({"decisions", "facts", "tasks_done", "tasks_open", "questions"})


@dataclass(frozen=True, slots=True)
class Session:
    """One session, as far as it belongs to a day."""

    path: str
    id: str  # its session id; empty where it has none
    name: str  # the same, or its file's name without suffix
    title: str  # in words
    turns: tuple[Turn, ...]  # those of the day, by number
    first: int  # number of the first of them, from 1
    items: tuple[Item, ...]  # what it marks, and the sentence in which the agent sums up at its end
    held: int  # how many more wait for a person, because they may be an outsider's


def sessions_of(
    conversations: Conversations, day: date, zone: str, since: datetime | None = None
) -> Iterator[Session]:
    """The sessions of a day, in the order in which they began; of each what was said of the day, or of the
    rest of it ``since`` a moment.

    Nothing that a harvest would hold for a person is among their items (robustness M3, X8), but for that what
    the agent sums up is its own word.
    """
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
        # A transcript names minutes.
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
    return day - timedelta(days=LONGEST_DAYS) <= began <= day + timedelta(days=1)


def _items(before: Sequence[Turn], turns: Sequence[Turn]) -> tuple[tuple[Item, ...], int]:
    """What may stand in a journal of what turns say; and how much is left for a harvest to put up."""
    said = voices_of(before)
    summed_up = [item for item in proposed(turns) if item.why == WHY["summary"]]
    found: list[Item] = []
    held = 0
    for item in (*marked(turns), *summed_up):
        doubt = why_held(item, said)
        if doubt is not None and doubt.reason != WHY["summary"]:
            held += 1
        elif item.category in _KEPT:
            found.append(item)
    return tuple(found), held
