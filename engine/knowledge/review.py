"""What waits for a person before it becomes knowledge (design 6.4, robustness M3).

``logs/review-YYYY-MM.jsonl`` holds a record for each item that was held, and one for each that was settled.
Nothing is ever taken out of it, so an item that was turned down once never comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from engine.errors import HarvestRefused
from engine.knowledge.edit import Held
from engine.knowledge.item import CATEGORIES, Category, Item, Origin, Voice
from engine.monthly import MonthlyLog

if TYPE_CHECKING:
    from engine.monthly import Record
    from engine.store.files import Files

KIND = "review"

Verdict = Literal["accepted", "rejected"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True, slots=True)
class Waiting:
    """An item that waits, or has waited.

    Attributes:
        id: ``item_id`` of the item.
        at: Since when, ISO 8601, UTC.
        item: The item.
        why: Why it was held.
        origin: The conversation and the day of the harvest.
        source: The conversation's file.
        sha256: Of the conversation's bytes.
        line: The line of the source that says it, from 1; 0 where none was found.
        said: That line, as much of it as is of use.
        verdict: What a person decided; empty while it waits.
        text: What was accepted in its place, where that was edited.
    """

    id: str
    at: str
    item: Item
    why: str
    origin: Origin
    source: str
    sha256: str
    line: int = 0
    said: str = ""
    verdict: Verdict | Literal[""] = ""
    text: str = ""


class ReviewQueue:
    """Writes and reads what waits. Safe to use from several processes.

    Args:
        files: The workspace's write path.
        clock: Now, UTC.
    """

    def __init__(self, files: Files, clock: Callable[[], datetime]) -> None:
        self._files = files
        self._clock = clock
        self._log = MonthlyLog(files, KIND, clock)

    def all(self) -> tuple[Waiting, ...]:
        """Every item that was ever held, oldest first."""
        found: dict[str, Waiting] = {}
        for record in self._log.records():
            item = waiting_of(record)
            if item is not None:
                found.setdefault(item.id, item)
                continue
            name, verdict = record.get("id"), record.get("verdict")
            if isinstance(name, str) and name in found and verdict in VERDICTS:
                text = record.get("text", "")
                found[name] = replace(
                    found[name], verdict=cast("Verdict", verdict), text=text if isinstance(text, str) else ""
                )
        return tuple(found.values())

    def waiting(self) -> tuple[Waiting, ...]:
        """What waits now, oldest first."""
        return tuple(each for each in self.all() if not each.verdict)

    def get(self, name: str) -> Waiting:
        """An item that waits, by its id or the beginning of it.

        Raises:
            HarvestRefused: None or several are called so.
        """
        found = [each for each in self.waiting() if name and each.id.startswith(name)]
        if len(found) != 1:
            what = "several items that wait are called" if found else "no item that waits is called"
            raise HarvestRefused(f"{what} {name!r:.40}", cure="list them: autopoiesis review list")
        return found[0]

    def put(self, items: Iterable[Waiting]) -> int:
        """Puts items up for review; those that ever were, are not put up again. Gives how many were new.

        Raises:
            WriteFailed, ReadOnly: Some are not recorded.
        """
        with self._files.lock():
            known = {each.id for each in self.all()}
            new = [each for each in items if each.id not in known]
            for each in new:
                self._log.append(tree_of(each))
        return len(new)

    def settle(self, name: str, verdict: Verdict, text: str = "") -> None:
        """Records what a person decided.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        record: dict[str, Any] = {
            "at": self._clock().isoformat(timespec="seconds"),
            "id": name,
            "verdict": verdict,
        }
        if text:
            record["text"] = text
        self._log.append(record)

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that the queue is in, for a commit."""
        return tuple(month.name for month in self._log.stamp())


def waiting_for(
    held: Iterable[Held],
    *,
    at: str,
    origin: Origin,
    source: str,
    sha256: str,
    where: Callable[[Item], tuple[int, str]],
) -> tuple[Waiting, ...]:
    """Held items as they are put up.

    Args:
        held: The items.
        at: Now.
        origin: The conversation and the day.
        source: The conversation's file.
        sha256: Of its bytes.
        where: The line of the source that says an item, and what it says.
    """
    return tuple(
        Waiting(each.id, at, each.item, each.why, origin, source, sha256, *where(each.item)) for each in held
    )


def tree_of(each: Waiting) -> dict[str, Any]:
    """An item as a record holds it."""
    record = {
        "at": each.at,
        "id": each.id,
        "category": each.item.category,
        "said": each.item.text,
        "file": each.item.path,
        "voice": each.item.voice,
        "why": each.why,
        "name": each.origin.name,
        "day": each.origin.day,
        "source": each.source,
        "sha256": each.sha256,
        "line": each.line,
        "beside": each.said,
    }
    return {
        name: value for name, value in record.items() if value or name in ("at", "id", "category", "said")
    }


def waiting_of(record: Record) -> Waiting | None:
    """The item that a record holds; ``None`` where it holds none."""
    try:
        category = record["category"]
        voice = record.get("voice", "")
        if category not in CATEGORIES or voice not in get_args(Voice):
            return None
        texts = {
            name: record.get(name, "")
            for name in ("why", "name", "day", "source", "sha256", "beside", "file")
        }
        line = record.get("line", 0)
        known = (record["at"], record["id"], record["said"], *texts.values())
        if not all(isinstance(text, str) for text in known) or not isinstance(line, int):
            return None
    except KeyError:
        return None
    return Waiting(
        id=record["id"],
        at=record["at"],
        item=Item(cast("Category", category), record["said"], texts["file"], cast("Voice", voice)),
        why=texts["why"],
        origin=Origin(texts["name"], texts["day"]),
        source=texts["source"],
        sha256=texts["sha256"],
        line=line,
        said=texts["beside"],
    )
