"""Drives the knowledge screen in tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.tui.conftest import Run
from tests.tui.knowledge_data import digest_view, notes_of_files, unclear_notes, write_knowledge
from tests.tui.screen_driven import ScreenDriven
from tui.screens.knowledge.pieces import TITLES, Group, name_of, sign_of
from tui.screens.knowledge.screen import KnowledgeScreen


class KnowledgeDriven(ScreenDriven[KnowledgeScreen]):
    """Drives a running knowledge screen."""

    kind = KnowledgeScreen

    def listed(self) -> list[tuple[str, str]]:
        """The sign and text of each item in the group."""
        pieces = self.screen.pieces
        found = [pieces.item_at(at) for at in range(pieces.row_count)]
        return [(sign_of(each).strip(), name_of(each)) for each in found]

    def selected(self) -> str:
        """The text of the selected item."""
        piece = self.screen.pieces.selected
        return name_of(piece) if piece is not None else ""

    def counts(self) -> dict[str, str]:
        """The item count of each group, after its mark if it needs attention."""
        return {item.group: f"{item.mark} {item.count}".strip() for item in self.screen.groups.items}

    async def group(self, name: Group) -> None:
        """Selects a group and goes to its items."""
        self.screen.groups.select(list(TITLES).index(name))
        await self.press("2")


@asynccontextmanager
async def open_knowledge(
    run: Run,
    size: tuple[int, int] = (120, 40),
    *,
    empty: bool = False,
    settle: bool = True,
    theme: str = "",
    **changes: Any,
) -> AsyncIterator[KnowledgeDriven]:
    """Opens the knowledge screen: ``async with open_knowledge(run, empty=True) as driven``."""
    async with run(size, theme=theme, **changes) as workbench:
        engine = workbench.engine
        engine.digest_view = digest_view("")
        if not empty:
            write_knowledge(engine.root)
            engine.digest_view = digest_view()
            engine.knowledge.notes.files = notes_of_files()
            engine.knowledge.notes.unclear = unclear_notes()
        driven = KnowledgeDriven(workbench.app, workbench.pilot, engine)
        await driven.send("K")
        await driven.pilot.pause()
        if settle:
            await driven.settle()
        yield driven
