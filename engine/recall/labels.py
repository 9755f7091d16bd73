"""What a person said of passages told, or that would have been: useful or noise.

``logs/told-YYYY-MM.jsonl``, append-only; the latest label of a passage beside a prompt counts. Labels are
examples for the person's own model (``engine.recall.own``), and noise is not told again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from engine.startup.records import dataclass
from engine.store.monthly import MonthlyLog, text_in, whole_in

if TYPE_CHECKING:
    from engine.store.files import Files
    from engine.store.monthly import LogStamp, Record

KIND = "told"


class Place(NamedTuple):
    """A prompt or a passage in a transcript."""

    path: str
    line: int  # its first, from 1; 0 if unknown


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of a workspace."""

    useful: Mapping[tuple[Place, Place], bool]  # by prompt and passage
    noise: frozenset[Place]  # passages of which noise was said last

    @property
    def sessions(self) -> frozenset[str]:
        """The transcripts with labelled prompts."""
        return frozenset(prompt.path for prompt, _ in self.useful)

    def of_prompt(self, prompt: Place) -> dict[Place, bool]:
        """The labelled passages of a prompt."""
        return {passage: useful for (at, passage), useful in self.useful.items() if at == prompt}

    def is_noise(self, passage: Place, prompt: Place | None = None) -> bool:
        """Whether a passage is not to be told again, except beside the prompt it was labelled at."""
        return passage in self.noise and (prompt is None or (prompt, passage) not in self.useful)


class LabelLog:
    """Writes and reads the labels. Thread-safe."""

    def __init__(self, files: Files, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._months = MonthlyLog(files, KIND, clock)
        self._known: tuple[LogStamp, Labels] = ((), Labels({}, frozenset()))

    def label(self, prompt: Place, passages: Iterable[Place], useful: bool) -> None:
        """Labels passages of a prompt.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        at = self._clock().isoformat()
        for passage in passages:
            record = {"at": at, "prompt": list(prompt), "passage": list(passage), "useful": useful}
            self._months.append(record)

    def read(self) -> Labels:
        """All labels; cached until the log changes."""
        stamp = self._months.stamp()
        known, labels = self._known
        if stamp != known:
            found: dict[tuple[Place, Place], bool] = {}
            last: dict[Place, bool] = {}
            for record in self._months.records():
                if (label := _label_of(record)) is not None:
                    prompt, passage, useful = label
                    found[prompt, passage] = last[passage] = useful
            labels = Labels(found, frozenset(place for place, useful in last.items() if not useful))
            self._known = (stamp, labels)
        return labels


def _label_of(record: Record) -> tuple[Place, Place, bool] | None:
    """The label in a record; ``None`` if it is malformed."""
    try:
        prompt, passage = (
            Place(text_in(path), whole_in(line)) for path, line in (record["prompt"], record["passage"])
        )
        return prompt, passage, record["useful"] is True
    except (KeyError, TypeError, ValueError):
        return None
