"""What the knowledge screen asks of the engine, off the screen's thread, and the messages that come back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from textual.message import Message

from engine.errors import AutopoiesisError
from engine.knowledge.category_files import CATEGORY_FILES, CategoryFile, entries
from engine.store.header import locate
from tui.kit.full_screen import committed
from tui.kit.lanes import Lane
from tui.kit.messages import Said
from tui.kit.session import WorkbenchEngine
from tui.kit.work import ScreenWork
from tui.screens.knowledge.groups import CategoryRead, Group, Held
from tui.screens.knowledge.reading import EntryLinks, EntryText

if TYPE_CHECKING:
    from engine.knowledge.entries import EntryScan
    from engine.knowledge.notes import FileNotes, Rebinding


@dataclass(frozen=True, slots=True)
class DigestWish:
    """What is to become of the digest."""

    do: Literal["turn off", "make anew"]


@dataclass(frozen=True, slots=True)
class BindWish:
    """Notes and the file that they belong to.

    Attributes:
        old: The path that the notes have.
        new: The file, absolute.
        name: The same as notes would name it.
    """

    old: str
    new: str
    name: str


Change = DigestWish | BindWish


@dataclass
class LookedAt(Message):
    """What is known was looked at, or could not be, which ``problem`` says."""

    held: Held | None = None
    problem: str = ""


@dataclass
class UnclearFound(Message):
    """The notes were found whose file is not clear; ``None`` where that could not be asked."""

    unclear: tuple[Rebinding, ...] | None
    problem: str = ""


@dataclass
class TextRead(Message):
    """The file of an entry was read."""

    location: str
    text: EntryText


@dataclass
class LinksRead(Message):
    """The references of an entry were looked for."""

    location: str
    links: EntryLinks


@dataclass
class ChangeEnded(Message):
    """Something was changed, or could not be."""


class KnowledgeWork(ScreenWork):
    """The lanes of one knowledge screen.

    Args:
        engine: What is asked.
        post: Takes messages from any thread.
    """

    def __init__(self, engine: WorkbenchEngine, post: Callable[[Message], object]) -> None:
        super().__init__(engine, post)
        self._looks: Lane[None, Held] = self.lane(
            lambda _none: self._look(),
            lambda _none, held: LookedAt(held),
            lambda _none, problem: LookedAt(problem=problem),
        )
        self._questions: Lane[None, tuple[Rebinding, ...]] = self.lane(
            lambda _none: engine.knowledge.notes.questions(),
            lambda _none, unclear: UnclearFound(unclear),
            lambda _none, problem: UnclearFound(None, problem),
        )
        self._texts: Lane[str, EntryText] = self.lane(self._text, TextRead)
        self._links: Lane[str, EntryLinks] = self.lane(
            self._links_of, LinksRead, lambda location, why: LinksRead(location, EntryLinks(problem=why))
        )
        self._changes: Lane[tuple[Change, ...], None] = self.lane(
            self._change,
            lambda _wishes, _none: ChangeEnded(),
            merge=lambda waiting, new: waiting + new,
            finish=True,
        )

    def look(self) -> None:
        """Looks at all that is known: ``LookedAt``, and later ``UnclearFound``."""
        self._looks.ask(None)
        self._questions.ask(None)

    def text(self, location: str) -> None:
        """Reads an entry: ``TextRead``; then looks for its references: ``LinksRead``."""
        self._texts.ask(location)
        self._links.ask(location)

    def change(self, wish: Change) -> None:
        """Changes something and says what came of it: ``ChangeEnded``."""
        self._changes.ask((wish,))

    def _look(self) -> Held:
        engine = self._engine
        problems: dict[Group, str] = {}
        notes: tuple[FileNotes, ...] = ()
        scan: EntryScan | None = None
        try:
            notes = engine.knowledge.notes.all()
        except (AutopoiesisError, OSError) as error:
            problems["notes"] = str(error)
        try:
            scan = engine.knowledge_entries.scan()
        except (AutopoiesisError, OSError) as error:
            problems["entries"] = problems["skills"] = str(error)
        categories = {file.path: self._category(file) for file in CATEGORY_FILES}
        return Held(categories, notes, scan, engine.knowledge.digest.view(), problems)

    def _category(self, file: CategoryFile) -> CategoryRead:
        try:
            return CategoryRead(entries(self._engine.files.read(file.path), file.path))
        except FileNotFoundError:
            return CategoryRead()
        except (AutopoiesisError, OSError) as error:
            return CategoryRead(problem=str(error))

    def _text(self, location: str) -> EntryText:
        try:
            data = self._engine.files.read(location)
            return EntryText(data[locate(data).body :].decode("utf-8", "replace").lstrip("\r\n"))
        except FileNotFoundError:
            return EntryText(problem="the entry is not here any more")
        except (AutopoiesisError, OSError) as error:
            return EntryText(problem=str(error))

    def _links_of(self, location: str) -> EntryLinks:
        """References of all of the entry's files, and those that lead to any of them from elsewhere."""
        scan = self._engine.knowledge_entries.scan()
        links = self._engine.knowledge_entries.links(scan)
        folder = location.rpartition("/")[0]
        outward = tuple(each for each in links.of(folder) if not each.target.startswith(f"{folder}/"))
        inward = tuple(each for each in links.to(location) if not each.source.startswith(f"{folder}/"))
        return EntryLinks(outward, inward)

    def _change(self, wishes: tuple[Change, ...]) -> None:
        """Does one after the other; one that is refused holds up none behind it."""
        for wish in wishes:
            try:
                told = self._bound(wish) if isinstance(wish, BindWish) else self._switched(wish)
                self._post(Said(told))
            except (AutopoiesisError, OSError) as error:
                self._post(Said(str(error), trouble=True))

    def _switched(self, wish: DigestWish) -> str:
        knowledge = self._engine.knowledge
        if wish.do == "turn off":
            if not knowledge.digest.turn_off():
                return "the digest was off already"
            made = knowledge.commit(knowledge.digest.paths, "memory: digest turned off")
            return f"the digest is off; R makes it anew · {committed(made.revision, made.why)}"
        if not knowledge.digest.regenerate(force=True):
            return "the digest says already what the files say"
        made = knowledge.commit(knowledge.digest.paths, "memory: digest made anew")
        view = knowledge.digest.view()
        state = f"{view.size:,} of {view.limit:,} bytes" if view.on else "there is nothing to say yet"
        return f"digest made anew: {state} · {committed(made.revision, made.why)}"

    def _bound(self, wish: BindWish) -> str:
        knowledge = self._engine.knowledge
        moved = knowledge.notes.rebind(wish.old, wish.new)
        made = knowledge.commit((moved.notes,), f"memory: the notes of {wish.old} belong to {moved.path}")
        return f"{moved.notes}: notes of {moved.path} now · {committed(made.revision, made.why)}"
