"""The knowledge screen as a test drives it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.tui.conftest import Run
from tests.tui.knowledge_data import digest_view, notes_of_files, unclear_notes, write_knowledge
from tests.tui.screen_driven import ScreenDriven
from tui.screens.knowledge.groups import TITLES, Group
from tui.screens.knowledge.pieces import name_of, sign_of
from tui.screens.knowledge.screen import KnowledgeScreen


class Knowing(ScreenDriven[KnowledgeScreen]):
    """A running knowledge screen and the hand that drives it."""

    kind = KnowledgeScreen

    def listed(self) -> list[tuple[str, str]]:
        """Sign and words of what is in the group."""
        pieces = self.screen.pieces
        found = [pieces.item_at(at) for at in range(pieces.row_count)]
        return [(sign_of(each).strip(), name_of(each)) for each in found]

    def selected(self) -> str:
        """What the selected thing says."""
        piece = self.screen.pieces.selected
        return name_of(piece) if piece is not None else ""

    def counts(self) -> dict[str, str]:
        """How much is in each group, and what is to be seen to."""
        return {item.group: f"{item.mark} {item.count}".strip() for item in self.screen.groups.items}

    async def group(self, name: Group) -> None:
        """Goes into a group."""
        self.screen.groups.select(list(TITLES).index(name))
        await self.press("2")


@asynccontextmanager
async def knowing(
    run: Run,
    size: tuple[int, int] = (120, 40),
    *,
    empty: bool = False,
    settle: bool = True,
    theme: str = "",
    **changes: Any,
) -> AsyncIterator[Knowing]:
    """Opens the knowledge screen: ``async with knowing(run, empty=True) as driven``."""
    async with run(size, theme=theme, **changes) as driven:
        engine = driven.engine
        engine.digest_view = digest_view("")
        if not empty:
            write_knowledge(engine.root)
            engine.digest_view = digest_view()
            engine.knowledge.notes.files = notes_of_files()
            engine.knowledge.notes.unclear = unclear_notes()
        held = Knowing(driven.app, driven.pilot, engine)
        await held.send("K")
        await held.pilot.pause()
        if settle:
            await held.settle()
        yield held
