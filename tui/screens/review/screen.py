"""The review screen's commands, one method each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from textual import on

from engine.knowledge.proposed import TITLES
from engine.knowledge.reviewing import is_risky
from tui.kit.command import Need, Situation, command
from tui.kit.commands import WRITABLE, goes_to
from tui.kit.editor import file_of
from tui.kit.lanes import Lane
from tui.kit.prompt import PromptLine
from tui.render.draw import clip
from tui.render.figures import plural
from tui.render.safe import first_line
from tui.screens.review.decisions import Decision, Verb
from tui.screens.review.layout import ReviewLayout
from tui.screens.review.queue import kind_of, text_of

if TYPE_CHECKING:
    from engine.knowledge.review import PendingItem
    from tui.kit.bench import Bench

NAMED = 42
"""Cells of an item shown in a question."""
ROOM = 10
"""Lines a question takes besides its list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewSituation(Situation):
    item: bool = False
    """An item is selected."""
    is_pending: bool = False
    """The selected item is pending."""


AN_ITEM: Need[ReviewSituation] = Need(lambda here: here.item, "no item is selected")
STILL_PENDING: Need[ReviewSituation] = Need(lambda here: here.is_pending, "the item is no longer pending")


class ReviewScreen(ReviewLayout, panels=("queue", "item"), lines=("wording",)):
    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self._decisions: Lane[Decision, None] = self.lane(
            lambda decision: decision.apply(
                bench.engine.knowledge.review, partial(self.later, self._ended), self.tell
            ),
            lambda _decision, _none: self.look(),
            in_turn=True,
            finish=True,
        )

    # Navigation

    @command("enter", "o", title="Enlarge the item", needs=[AN_ITEM])
    def enlarge_item(self) -> None:
        """Show the selected item over the whole area; press again to show both panels."""
        if self.zoomed == "item":
            self.enlarge(None)
            self.focus_panel("queue")
        else:
            self.enlarge("item")
            self.focus_panel("item")

    def back(self) -> None:
        """Go back one level: leave the prompt, show both panels, clear the filter, close the screen."""
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

    # The list

    @command("s", title="Show or hide reviewed items", footer="reviewed", rank=12)
    def show_reviewed(self) -> None:
        """Also list items accepted or rejected before; press again to list only pending ones."""
        self.state.with_reviewed = not self.state.with_reviewed
        self.show()

    @command("slash", title="Filter the list", footer="filter", rank=14)
    def filter(self) -> None:
        """Filter the list as you type."""
        self.open_line("wording", "filter", self.state.query, "review")

    @command("w", title="Filter by this reason", needs=[AN_ITEM])
    def same_reason(self) -> None:
        """Show only items pending for the same reason; A then accepts them by group."""
        item = self.selected()
        if item is not None:
            self.narrow(item.why)

    @command("c", title="Filter by this conversation", needs=[AN_ITEM])
    def same_conversation(self) -> None:
        """Show only items from the same conversation; A then accepts them by group."""
        item = self.selected()
        if item is not None:
            self.narrow(item.origin.name)

    def narrow(self, query: str) -> None:
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

    # Accepting and rejecting

    def selected(self) -> PendingItem | None:
        item = self.queue.selected
        return item.waiting if item is not None else None

    def listed_pending(self) -> tuple[PendingItem, ...]:
        """The pending items in the list, oldest first."""
        queue = self.queue
        rows = (queue.item_at(at) for at in range(queue.row_count))
        return tuple(each.waiting for each in rows if each.is_pending)

    @command("a", title="Accept the item", footer="accept", rank=0, needs=[AN_ITEM, STILL_PENDING, WRITABLE])
    def accept(self) -> None:
        """Accept the selected item as it is: write it to its file, update the digest, and commit."""
        item = self.selected()
        if item is not None:
            self._accept(item)

    def _accept(self, item: PendingItem, text: str = "") -> None:
        """Accepts an item; asks for confirmation if it is risky."""
        if not is_risky(item, text):
            self._decide((item,), "accept", text)
            return
        reason = "Your wording reads like an instruction or hides text." if text else f"It {item.why}."
        reworded = replace(item, item=replace(item.item, text=text or item.item.text))
        question = (
            f"{_named(reworded, 4 * NAMED)}\n{reason}\n"
            "Accepted items can become part of every prompt. The change will be committed."
        )
        self.ask(
            "accept a risky item",
            question,
            "Accept anyway",
            partial(self._decide, (item,), "accept", text, sure=True),
        )

    @command(
        "E",
        title="Edit and accept the item", footer="edit, accept", rank=4,
        needs=[AN_ITEM, STILL_PENDING, WRITABLE],
    )  # fmt: skip
    def reword(self) -> None:
        """Edit the item's text in the prompt; enter accepts the edited text, esc leaves the item pending."""
        item = self.selected()
        if item is not None and item.change is not None:
            self.say("a change of files cannot be reworded; e opens the file", error=True)
        elif item is not None:
            self.state.rewording = item
            self.open_line("wording", "reword", item.item.text)

    @command(
        "x", "delete",
        title="Reject the item", footer="reject", rank=2,
        needs=[AN_ITEM, STILL_PENDING, WRITABLE],
    )  # fmt: skip
    def reject(self) -> None:
        """Reject the selected item permanently; asks first."""
        item = self.selected()
        if item is None:
            return
        question = (
            f"{_named(item, 2 * NAMED)}\n"
            "It will not be added and will not come back. This is committed and cannot be undone here."
        )
        self.ask("reject the item", question, "Reject", partial(self._decide, (item,), "reject"))

    @command(
        "A",
        title="Accept the group", footer="accept group", rank=10,
        needs=[AN_ITEM, STILL_PENDING, WRITABLE],
    )  # fmt: skip
    def accept_group(self) -> None:
        """Accept every listed pending item of the selected one's group, such as all commands. Asks first;
        risky items are accepted one at a time."""
        selected = self.selected()
        if selected is None or selected.group == "risky":
            self.say("risky items are accepted one at a time, with a", error=True)
            return
        items = tuple(each for each in self.listed_pending() if each.group == selected.group)
        room = max(3, self.app.size.height - ROOM)
        named = [f"· {_named(each, NAMED)}" for each in items]
        if len(named) > room:
            hidden = len(named) - room + 1
            named = [*named[: room - 1], f"… and {hidden:,} more; / filters the list"]
        head = f"Accept {plural(len(items), 'item')} as written: {TITLES[selected.group]}"
        question = "\n".join((head, *named, "Each is committed separately and cannot be undone here."))
        accept = partial(self._decide, items, "accept")
        self.ask("accept the group", question, f"Accept {len(items):,}", accept)

    def _decide(
        self, items: tuple[PendingItem, ...], verb: Verb, text: str = "", *, sure: bool = False
    ) -> None:
        after = self.queue.next_pending(frozenset(each.id for each in items))
        fresh = self.state.begin(items)
        if not fresh:
            self.say("it is already being saved")
            return
        self._decisions.ask(Decision(fresh, verb, text, sure))
        self.show()
        if after:
            self.queue.select_key(after)

    # The source

    def file(self) -> str:
        """The conversation of the selected item; empty if it no longer exists."""
        item = self.selected()
        return file_of(self.bench.engine.workspace.root, item.source) if item is not None else ""

    @command(
        "e",
        title="Open the conversation at this line", footer="source", rank=8,
        needs=[AN_ITEM, Need(lambda here: here.file, "the conversation no longer exists")],
    )  # fmt: skip
    def edit(self) -> None:
        """Open the conversation at the item's line in $VISUAL or $EDITOR."""
        item = self.selected()
        if item is not None:
            self.edit_file(self.file(), item.line)
            self.sources.ask(item)

    @command("y", title="Copy the item", footer="copy", rank=18, needs=[AN_ITEM])
    def copy_item(self) -> None:
        """Copy the text of the selected item."""
        item = self.selected()
        if item is not None:
            self.copy_text(text_of(item))

    @command("Y", title="Copy everything shown", needs=[AN_ITEM])
    def copy(self) -> None:
        """Copy everything shown of the selected item."""
        self.copy_text(self.item.selected_text())

    # Panels

    focus_queue = goes_to("queue", "1", "the review queue", does="Go to the review queue.", rank=26)
    focus_item = goes_to(
        "item", "2", "the item",
        does="Go to the selected item: its text, why it needs review, and its source.", rank=26,
    )  # fmt: skip

    # State and results

    @property
    def situation(self) -> ReviewSituation:
        item = self.queue.selected
        return self.situated(
            ReviewSituation,
            filtered=bool(self.state.query),
            file=self.file(),
            item=item is not None,
            is_pending=item is not None and item.is_pending,
        )

    def _ended(self, name: str, done: bool) -> None:
        self.state.ended(name, done=done)
        if not done:
            self.show()


def _named(item: PendingItem, width: int) -> str:
    """An item's kind and text."""
    return f"{kind_of(item)}: {clip(first_line(item.item.text), width)}"
