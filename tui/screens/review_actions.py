"""What the review screen does for each command: one method per action, found by the command's class."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from engine.knowledge.reviewing import is_risky
from tui.commands import review
from tui.commands.command import ReviewPanel
from tui.draw import clip
from tui.editor import file_of
from tui.figures import plural
from tui.render.review_queue import KINDS, text_of
from tui.safe import first_line
from tui.screens.review_work import SettleWish, Verb
from tui.screens.screen_actions import ScreenActions
from tui.widgets.prompt import Mode

if TYPE_CHECKING:
    from engine.knowledge.review import Waiting
    from tui.screens.review import ReviewScreen

NAMED = 42
"""Cells of an item in a question."""
ROOM = 10
"""Lines of the smallest screen that a question takes beside what it lists."""


class ReviewActions(ScreenActions[ReviewPanel]):
    """The actions of one review screen."""

    screen: ReviewScreen

    def __init__(self, screen: ReviewScreen) -> None:
        super().__init__(screen)
        self.doing |= {
            review.Leave: self.back,
            review.Accept: self.accept,
            review.Reject: self.reject,
            review.Reword: self.reword,
            review.AcceptAll: self.accept_all,
            review.ShowItem: self.show_item,
            review.ShowSettled: self.show_settled,
            review.FilterQueue: self.filter,
            review.SameReason: self.same_reason,
            review.SameConversation: self.same_conversation,
            review.EditSource: self.edit,
            review.CopyItem: self.copy_item,
            review.CopyAbout: self.copy,
            review.FocusQueue: partial(self.go_to, "queue"),
            review.FocusItem: partial(self.go_to, "item"),
        }

    # Moving about

    def stops(self) -> tuple[ReviewPanel, ...]:
        """The panels, in view or not: where only one has room, tab brings the next."""
        return self.screen.panels if self.screen.zoomed is None else self.screen.in_view()

    def show_item(self) -> None:
        """Gives the item the whole area, or takes it back."""
        if self.screen.zoomed == "item":
            self.enlarge(None)
            self.screen.focus_panel("queue")
        else:
            self.enlarge("item")
            self.screen.focus_panel("item")

    def enlarge(self, name: ReviewPanel | None) -> None:
        """Gives a panel the whole area, or each its own again."""
        super().enlarge(name)
        self.screen.update_footer()

    def back(self) -> None:
        """Leaves the innermost level there is."""
        screen = self.screen
        if screen.in_line:
            if screen.prompt.mode == "filter":
                self.narrow("")
            screen.state.rewording = None
            screen.leave_line()
        elif screen.zoomed is not None:
            self.unzoom()
        elif screen.state.query:
            self.narrow("")
        elif screen.alone and screen.panel_in_use == "item":
            screen.focus_panel("queue")
        else:
            screen.dismiss(None)

    # What is listed

    def show_settled(self) -> None:
        """Lists settled items too, or no more."""
        self.screen.state.with_settled = not self.screen.state.with_settled
        self.screen.show()

    def filter(self) -> None:
        """Takes the keys into the line, to type what to look for."""
        self.screen.open_line("wording", "filter", self.screen.state.query, "review")

    def same_reason(self) -> None:
        """Narrows the list to what waits for the same reason."""
        item = self.selected()
        if item is not None:
            self.narrow(item.why)

    def same_conversation(self) -> None:
        """Narrows the list to what waits of the same conversation."""
        item = self.selected()
        if item is not None:
            self.narrow(item.origin.name)

    def narrow(self, query: str) -> None:
        """Narrows the list while it is typed."""
        self.screen.state.query = query
        self.screen.show()

    def entered(self, mode: Mode, value: str) -> None:
        """A line was ended with enter."""
        screen = self.screen
        item, screen.state.rewording = screen.state.rewording, None
        screen.leave_line()
        if mode != "reword" or item is None:
            return
        if not value.strip():
            screen.say("an item cannot be empty; x rejects it", trouble=True)
            return
        self._accept(item, "" if value.strip() == item.item.text else value.strip())

    # Settling

    def selected(self) -> Waiting | None:
        """The item that the keys are about."""
        item = self.screen.queue.selected
        return item.waiting if item is not None else None

    def listed_waiting(self) -> tuple[Waiting, ...]:
        """The items in the list that wait, oldest first."""
        queue = self.screen.queue
        rows = (queue.item_at(at) for at in range(queue.row_count))
        return tuple(each.waiting for each in rows if each.waits)

    def accept(self) -> None:
        """Accepts the selected item."""
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

    def reword(self) -> None:
        """Takes the keys into the line, with the item's text in it."""
        item = self.selected()
        if item is not None:
            self.screen.state.rewording = item
            self.screen.open_line("wording", "reword", item.item.text)

    def reject(self) -> None:
        """Asks, then rejects the selected item."""
        item = self.selected()
        if item is None:
            return
        question = (
            f"{_named(item, 2 * NAMED)}\n"
            "It becomes no knowledge and never comes back. This is committed, and there is no undo here."
        )
        self.ask("reject the item", question, "Reject", partial(self._settle, (item,), "reject"))

    def accept_all(self) -> None:
        """Asks, with every item named, then accepts them; what could do harm waits on."""
        listed = self.listed_waiting()
        items = tuple(each for each in listed if not is_risky(each))
        if not items:
            self.screen.say("all that is listed could do harm: a accepts one of them", trouble=True)
            return
        left = len(listed) - len(items)
        room = max(3, self.screen.app.size.height - ROOM)
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
        screen = self.screen
        after = screen.queue.next_waiting(frozenset(each.id for each in items))
        fresh = screen.state.begin(items)
        if not fresh:
            screen.say("it is being settled already")
            return
        screen.work.settle(SettleWish(fresh, verb, text, sure))
        screen.show()
        if after:
            screen.queue.select_item(after)

    # The source

    def file(self) -> str:
        """The conversation of the selected item; empty where it is gone."""
        item = self.selected()
        return file_of(self.screen.bench.engine.workspace.root, item.source) if item is not None else ""

    def edit(self) -> None:
        """Opens the conversation at the line that says it."""
        item = self.selected()
        if item is not None:
            self.edit_file(self.file(), item.line)
            self.screen.work.source(item)

    def copy_item(self) -> None:
        """Copies what the item says."""
        item = self.selected()
        if item is not None:
            self.copy_text(text_of(item))

    def copy(self) -> None:
        """Copies all that is shown of it."""
        self.copy_text(self.screen.item.selected_text())

    def rescan(self) -> None:
        """Looks at every file again, and at what waits."""
        super().rescan()
        self.screen.work.look()


def _named(item: Waiting, width: int) -> str:
    """What kind of thing it is, and what it says."""
    return f"{KINDS[item.item.category]}: {clip(first_line(item.item.text), width)}"
