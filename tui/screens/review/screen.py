"""The review screen: what can be done there, one method for each command."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from textual import on

from engine.knowledge.reviewing import is_risky
from tui.kit.command import Need, Situation, command
from tui.kit.commands import WRITABLE, goes_to
from tui.kit.editor import file_of
from tui.kit.lanes import Lane
from tui.kit.prompt import PromptLine
from tui.render.draw import clip
from tui.render.figures import plural
from tui.render.safe import first_line
from tui.screens.review.layout import ReviewLayout
from tui.screens.review.queue import KINDS, text_of
from tui.screens.review.settling import Settling, Verb

if TYPE_CHECKING:
    from engine.knowledge.review import Waiting
    from tui.kit.bench import Bench

NAMED = 42
"""Cells of an item in a question."""
ROOM = 10
"""Lines of the smallest screen that a question takes beside what it lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewSituation(Situation):
    """What the commands of this screen depend on."""

    listed_waiting: int = 0
    """How many of the items that are listed wait."""
    held: bool = False
    """An item that was held for review is selected."""
    waits: bool = False
    """It is not settled, nor being settled."""


AN_ITEM: Need[ReviewSituation] = Need(lambda here: here.held, "no item is selected")
STILL_WAITS: Need[ReviewSituation] = Need(lambda here: here.waits, "the item is settled, or being settled")


class ReviewScreen(ReviewLayout, panels=("queue", "item"), lines=("wording",)):
    """The review screen, with its commands."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self._settlings: Lane[Settling, None] = self.lane(
            lambda wanted: wanted.settle(
                bench.engine.knowledge.review, partial(self.later, self._ended), self.tell
            ),
            lambda _wanted, _none: self.look(),
            in_turn=True,
            finish=True,
        )

    # Moving about

    @command("enter", "o", title="Show the item over the whole area", needs=[AN_ITEM])
    def enlarge_item(self) -> None:
        """Show the selected item over the whole area; once more shows both panels again."""
        if self.zoomed == "item":
            self.enlarge(None)
            self.focus_panel("queue")
        else:
            self.enlarge("item")
            self.focus_panel("item")

    def back(self) -> None:
        """Back out one level: leave the line, show both panels, drop the filter, return to the workbench."""
        if self.in_line:
            if self.prompt.mode == "filter":
                self.narrow("")
            self.state.rewording = None
            self.leave_line()
        elif self.zoomed is not None:
            self.unzoom()
        elif self.state.query:
            self.narrow("")
        elif self.alone and self.panel_in_use == "item":
            self.focus_panel("queue")
        else:
            self.dismiss(None)

    # What is listed

    @command("s", title="Show settled items, or only what waits", footer="settled", rank=12)
    def show_settled(self) -> None:
        """List also what was accepted and rejected before; once more only what waits."""
        self.state.with_settled = not self.state.with_settled
        self.show()

    @command("slash", title="Filter the list", footer="filter", rank=14)
    def filter(self) -> None:
        """Narrow the list to the items that hold what is typed, while it is typed."""
        self.open_line("wording", "filter", self.state.query, "review")

    @command("w", title="Only what waits for this reason", needs=[AN_ITEM])
    def same_reason(self) -> None:
        """Narrow the list to what waits for the same reason as the selected item; A then accepts all
        of it.
        """
        item = self.selected()
        if item is not None:
            self.narrow(item.why)

    @command("c", title="Only what waits of this conversation", needs=[AN_ITEM])
    def same_conversation(self) -> None:
        """Narrow the list to what waits of the selected item's conversation; A then accepts all of it."""
        item = self.selected()
        if item is not None:
            self.narrow(item.origin.name)

    def narrow(self, query: str) -> None:
        """Narrows the list while it is typed."""
        self.state.query = query
        self.show()

    @on(PromptLine.Entered)
    def _entered(self, entered: PromptLine.Entered) -> None:
        item, self.state.rewording = self.state.rewording, None
        self.leave_line()
        if entered.mode != "reword" or item is None:
            return
        text = entered.value.strip()
        if text:
            self._accept(item, "" if text == item.item.text else text)
        else:
            self.say("an item cannot be empty; x rejects it", error=True)

    # Settling

    def selected(self) -> Waiting | None:
        """The item that the keys are about."""
        item = self.queue.selected
        return item.waiting if item is not None else None

    def listed_waiting(self) -> tuple[Waiting, ...]:
        """The items in the list that wait, oldest first."""
        queue = self.queue
        rows = (queue.item_at(at) for at in range(queue.row_count))
        return tuple(each.waiting for each in rows if each.waits)

    @command("a", title="Accept the item", footer="accept", rank=0, needs=[AN_ITEM, STILL_WAITS, WRITABLE])
    def accept(self) -> None:
        """Make the selected item knowledge as it is: its line is written, the digest made anew, and
        committed.
        """
        item = self.selected()
        if item is not None:
            self._accept(item)

    def _accept(self, item: Waiting, text: str = "") -> None:
        """Accepts an item; one that could do harm only after a second word."""
        if not is_risky(item, text):
            self._settle((item,), "accept", text)
            return
        why = "Your wording reads like an order or hides something." if text else f"It {item.why}."
        meant = replace(item, item=replace(item.item, text=text or item.item.text))
        question = (
            f"{_named(meant, 4 * NAMED)}\n{why}\n"
            "As knowledge it stands in front of every conversation to come. This is committed."
        )
        self.ask(
            "accept what could do harm",
            question,
            "Accept it all the same",
            partial(self._settle, (item,), "accept", text, sure=True),
        )

    @command(
        "E",
        title="Edit the item, then accept it", footer="edit, accept", rank=4,
        needs=[AN_ITEM, STILL_WAITS, WRITABLE],
    )  # fmt: skip
    def reword(self) -> None:
        """Edit the item's text in the line; enter accepts what stands there, esc leaves the item waiting."""
        item = self.selected()
        if item is not None and item.change is not None:
            self.say("a change of files is accepted as it is; e opens the file", error=True)
        elif item is not None:
            self.state.rewording = item
            self.open_line("wording", "reword", item.item.text)

    @command(
        "x", "delete",
        title="Reject the item", footer="reject", rank=2,
        needs=[AN_ITEM, STILL_WAITS, WRITABLE],
    )  # fmt: skip
    def reject(self) -> None:
        """Turn the selected item down: it becomes no knowledge and never comes back; asks first."""
        item = self.selected()
        if item is None:
            return
        question = (
            f"{_named(item, 2 * NAMED)}\n"
            "It becomes no knowledge and never comes back. This is committed, and there is no undo here."
        )
        self.ask("reject the item", question, "Reject", partial(self._settle, (item,), "reject"))

    @command(
        "A",
        title="Accept all that are listed", footer="accept all", rank=10,
        needs=[Need(lambda here: here.listed_waiting, "no listed item waits"), WRITABLE],
    )  # fmt: skip
    def accept_all(self) -> None:
        """Accept every listed item that waits, but for what could do harm; w, c and / narrow them. Asks
        first.
        """
        listed = self.listed_waiting()
        items = tuple(each for each in listed if not is_risky(each))
        if not items:
            self.say("all that is listed could do harm: a accepts one of them", error=True)
            return
        left = len(listed) - len(items)
        room = max(3, self.app.size.height - ROOM)
        named = [f"· {_named(each, NAMED)}" for each in items]
        if len(named) > room:
            hidden = len(named) - room + 1
            named = [*named[: room - 1], f"… and {hidden:,} more that have no room here; / narrows the list"]
        question = "\n".join(
            (
                f"{plural(len(items), 'item')} would become knowledge as they are:",
                *named,
                *([f"{plural(left, 'item')} that could do harm will wait on."] if left else []),
                "Each is a commit, and there is no undo here.",
            )
        )
        self.ask("accept all", question, f"Accept {len(items):,}", partial(self._settle, items, "accept"))

    def _settle(self, items: tuple[Waiting, ...], verb: Verb, text: str = "", *, sure: bool = False) -> None:
        after = self.queue.next_waiting(frozenset(each.id for each in items))
        fresh = self.state.begin(items)
        if not fresh:
            self.say("it is being settled already")
            return
        self._settlings.ask(Settling(fresh, verb, text, sure))
        self.show()
        if after:
            self.queue.select_key(after)

    # The source

    def file(self) -> str:
        """The conversation of the selected item; empty where it is gone."""
        item = self.selected()
        return file_of(self.bench.engine.workspace.root, item.source) if item is not None else ""

    @command(
        "e",
        title="Open the conversation at its line", footer="source", rank=8,
        needs=[AN_ITEM, Need(lambda here: here.file, "the conversation is not here any more")],
    )  # fmt: skip
    def edit(self) -> None:
        """Open the conversation at the line that says it, in $VISUAL or $EDITOR."""
        item = self.selected()
        if item is not None:
            self.edit_file(self.file(), item.line)
            self.sources.ask(item)

    @command("y", title="Copy the item", footer="copy", rank=18, needs=[AN_ITEM])
    def copy_item(self) -> None:
        """Copy the text of the selected item (OSC 52, also over SSH)."""
        item = self.selected()
        if item is not None:
            self.copy_text(text_of(item))

    @command("Y", title="Copy all that is shown of the item", needs=[AN_ITEM])
    def copy(self) -> None:
        """Copy all that is shown of the selected item."""
        self.copy_text(self.item.selected_text())

    def rescan(self) -> None:
        """Look at every file again, and at what waits."""
        super().rescan()
        self.look()

    # Panels

    focus_queue = goes_to("queue", "1", "what waits", does="Go to the list of what waits for you.", rank=26)
    focus_item = goes_to(
        "item", "2", "the item",
        does="Go to the selected item: what it says, why it was held, and where it comes from.", rank=26,
    )  # fmt: skip

    # What the keys depend on, and what comes in

    @property
    def situation(self) -> ReviewSituation:
        item = self.queue.selected
        return self.situated(
            ReviewSituation,
            filtered=bool(self.state.query),
            file=self.file(),
            held=item is not None,
            waits=item is not None and item.waits,
            listed_waiting=len(self.listed_waiting()),
        )

    def _ended(self, name: str, done: bool) -> None:
        self.state.ended(name, done=done)
        if not done:
            self.show()


def _named(item: Waiting, width: int) -> str:
    """What kind of thing it is, and what it says."""
    return f"{KINDS[item.item.category]}: {clip(first_line(item.item.text), width)}"
