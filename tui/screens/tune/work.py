"""What the tune screen asks of the engine, off the screen's thread, and the messages that come back."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from textual.message import Message

from engine.errors import AutopoiesisError
from tui.kit.lanes import Lane
from tui.kit.session import WorkbenchEngine
from tui.kit.work import ScreenWork

if TYPE_CHECKING:
    from engine.activation.policy import Cuts
    from engine.activation.tuning.fit import Proposal
    from engine.activation.tuning.replay import Figures
    from engine.activation.tuning.table import DecisionTable
    from engine.activation.tuning.tuning import Applied


@dataclass
class TableRead(Message):
    """The log was read, or could not be.

    ``labelled`` are ids of decisions whose labels reached the log, ``refused`` of those whose did not, with
    ``problem``. ``seconds`` is how long reading took.
    """

    table: DecisionTable | None = None
    overview: Mapping[str, Figures] = field(default_factory=dict)
    total: Figures | None = None
    labelled: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    problem: str = ""
    seconds: float = 0.0


@dataclass
class Proposed(Message):
    """Fitting a topic's cuts is done; ``proposal`` is ``None`` where it failed."""

    topic: str
    proposal: Proposal | None = None
    problem: str = ""


@dataclass
class Written(Message):
    """Cuts were written into a file, or could not be; ``wanted`` are those that were asked for."""

    applied: Applied | None = None
    wanted: Cuts | None = None
    undone: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class LabelWish:
    """A label to record: the row of a table, the decision it is about, and what to say."""

    table: DecisionTable
    index: int
    id: str
    useful: bool | None


@dataclass(frozen=True, slots=True)
class CutsWish:
    """Cuts to write, or the last ones to take back where there are none."""

    topic: str
    cuts: Cuts | None


Wish = LabelWish | CutsWish


class TuneWork(ScreenWork):
    """The lanes of one tune screen.

    Args:
        engine: What is asked.
        post: Takes messages from any thread.
    """

    def __init__(self, engine: WorkbenchEngine, post: Callable[[Message], object]) -> None:
        super().__init__(engine, post)
        self._reading: Lane[Literal["read"], TableRead] = self.lane(
            lambda _read: self._read(),
            lambda _read, message: message,
            lambda _read, error: TableRead(problem=error),
        )
        self._fits: Lane[str, Proposal] = self.lane(
            lambda topic: engine.tuning.propose(topic),
            lambda topic, proposal: Proposed(topic, proposal),
            lambda topic, error: Proposed(topic, problem=error),
        )
        self._writes: Lane[tuple[Wish, ...], TableRead] = self.lane(
            self._write,
            lambda _wishes, message: message,
            lambda _wishes, error: TableRead(problem=error),
            merge=lambda waiting, new: waiting + new,
            finish=True,
        )

    def start(self) -> None:
        """Listens to the engine and reads the log."""
        super().start()
        self.read()

    def stop(self) -> None:
        """Stops listening. Labels and cuts that are on their way are still written."""
        super().stop()
        gc.unfreeze()

    def read(self) -> None:
        """Reads what is new in the log: ``TableRead``."""
        self._reading.ask("read")

    def fit(self, topic: str) -> None:
        """Fits a topic's cuts, the newest wish first: ``Proposed``."""
        self._fits.ask(topic)

    def write(self, wish: Wish) -> None:
        """Records a label or writes cuts, in order: ``Written`` for cuts, then ``TableRead``."""
        self._writes.ask((wish,))

    def _read(self) -> TableRead:
        from engine.activation.tuning.replay import overview, total  # noqa: PLC0415 — only this screen needs it

        started = time.monotonic()
        table = self._engine.tuning.table()
        figures = overview(table)
        if self.listening:
            # To look for garbage among 100,000 decisions takes a quarter of a second, and a key would wait.
            gc.freeze()
        return TableRead(table, figures, total(figures.values()), seconds=time.monotonic() - started)

    def _write(self, wishes: tuple[Wish, ...]) -> TableRead:
        """Grants wishes one after the other; a label that is refused holds up none behind it."""
        labelled: list[str] = []
        refused: list[str] = []
        problem = ""
        for wish in wishes:
            if isinstance(wish, CutsWish):
                self._write_cuts(wish)
                continue
            try:
                self._label(wish)
                labelled.append(wish.id)
            except (AutopoiesisError, OSError) as error:
                refused.append(wish.id)
                problem = str(error)
        try:
            message = self._read()
        except (AutopoiesisError, OSError) as error:
            message = TableRead(problem=str(error))
        message.labelled, message.refused = tuple(labelled), tuple(refused)
        message.problem = problem or message.problem
        return message

    def _write_cuts(self, wish: CutsWish) -> None:
        tuning = self._engine.tuning
        undone = wish.cuts is None
        try:
            applied = tuning.undo() if wish.cuts is None else tuning.apply(wish.topic, wish.cuts)
        except (AutopoiesisError, OSError) as error:
            self._post(Written(undone=undone, problem=str(error)))
        else:
            self._post(Written(applied, wish.cuts, undone))

    def _label(self, wish: LabelWish) -> None:
        """Records a label; rows may have moved since the screen looked, so the id decides."""
        table = self._engine.tuning.table()
        index = wish.index
        if table is not wish.table and (index >= table.size or table.decision(index).id != wish.id):
            index = next((at for at in range(table.size) if table.decision(at).id == wish.id), -1)
            if index < 0:
                raise AutopoiesisError("the decision is not in the log any more")
        self._engine.tuning.label(index, wish.useful)
