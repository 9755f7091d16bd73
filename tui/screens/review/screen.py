"""The review screen: pending items, why they need review, and the decision on each (design 6.4, 8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Literal

from textual.app import ComposeResult
from textual.containers import Container

from engine.errors import AutopoiesisError
from engine.knowledge.proposed import GROUPS, TITLES, is_shown
from engine.knowledge.review import is_risky
from tui.kit.command import Need, command
from tui.kit.commands import WRITABLE, filters, goes_to
from tui.kit.full_screen import ListDetail, committed, unreadable
from tui.kit.lanes import Lane
from tui.kit.prompt import Mode
from tui.render.draw import Row, clip
from tui.render.figures import plural
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.screens.review.draw import (
    ItemPanel,
    QueuePanel,
    ReviewItem,
    SourceLines,
    draw_none,
    item_of,
    kind_of,
    source_lines,
    text_of,
)

if TYPE_CHECKING:
    from engine.knowledge.review import PendingItem, Reviewing, ReviewResult
    from tui.kit.bench import Bench

Verb = Literal["accept", "reject"]
NOTED = 40
"""Characters of an item shown in a notification."""
NARROW = 100
"""Below this many columns, the item goes under the list."""
NAMED = 42
"""Cells of an item shown in a question."""
ROOM = 10
"""Lines a question takes besides its list."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Items to accept or reject."""

    items: tuple[PendingItem, ...]
    verb: Verb
    text: str = ""
    """The edited text to accept instead of the single item's own."""
    sure: bool = False
    """The user confirmed a risky item."""

    def apply(
        self,
        review: Reviewing,
        ended: Callable[[str, bool], None],
        tell: Callable[..., None],
    ) -> None:
        """Processes the items in order; a failed one does not stop the others.

        Args:
            ended: Called with each item's id and whether it succeeded.
            tell: Shows a notification.
        """
        done: list[ReviewResult] = []
        for item in self.items:
            try:
                done.append(self._one(review, item))
            except (AutopoiesisError, OSError) as error:
                tell(f"{first_line(item.item.text)[:NOTED]}: {error}", error=True)
                ended(item.id, False)
            else:
                ended(item.id, True)
        if len(done) == 1:
            tell(_summary(done[0], self.verb))
        elif done:
            tell(_summary_of_all(done))

    def _one(self, review: Reviewing, item: PendingItem) -> ReviewResult:
        if self.verb == "reject":
            return review.reject(item.id)
        return review.accept(item.id, self.text, sure=self.sure)


def _summary(done: ReviewResult, verb: Verb) -> str:
    after = committed(done.commit, done.uncommitted)
    if verb == "reject":
        return f"rejected: {first_line(text_of(done.waiting))[:NOTED]} · {after}"
    if done.settled:
        return f"already accepted: {first_line(text_of(done.waiting))[:NOTED]} · {after}"
    place = f"{done.path}:{done.number}" if done.number else done.path or ", ".join(done.paths)
    return f"{'already there' if done.known else 'accepted'}: {place} · {after}"


def _summary_of_all(done: list[ReviewResult]) -> str:
    """The number of lines by file, and the last commit."""
    paths = Counter(path for each in done for path in (each.path, *each.paths) if path)
    counts = [f"{path} {number}" for path, number in paths.items()]
    known = sum(each.known for each in done)
    already = f"{known:,} already there" if known else ""
    last = committed(done[-1].commit, done[-1].uncommitted)
    parts = (f"accepted {plural(len(done), 'item')}", *counts, already, last)
    return " · ".join(part for part in parts if part)


Phase = Literal["loading", "error", "empty", "found"]


class ReviewState:
    def __init__(self) -> None:
        self.all: tuple[PendingItem, ...] | None = None
        self.problem = ""
        self.with_reviewed = False
        self.rewording: PendingItem | None = None
        self._saving: set[str] = set()
        self._saved: set[str] = set()
        self.sources: dict[str, SourceLines] = {}
        """The source of the item shown last, by its id."""

    @property
    def phase(self) -> Phase:
        if self.all is None:
            return "error" if self.problem else "loading"
        return "found" if self.listed() else "empty"

    @property
    def reviewed(self) -> int:
        """Number of items already reviewed."""
        return sum(bool(each.verdict) for each in self.all or ())

    def take(self, items: tuple[PendingItem, ...] | None, problem: str) -> bool:
        """Stores what was read; ``False`` if reading failed but an older result is shown."""
        if items is None:
            self.problem = problem
            return self.all is None
        self.problem, self.all = "", items
        self._saving -= self._saved  # the queue just read includes them
        self._saved.clear()
        return True

    def listed(self) -> list[PendingItem]:
        """The listed items by group, most frequent first, before filtering."""
        shown = [
            each
            for each in self.all or ()
            if (self.with_reviewed or not each.verdict) and is_shown(each.why, each.times)
        ]
        return sorted(shown, key=lambda each: (GROUPS.index(each.group), -each.times))

    def items(self, now: datetime) -> list[ReviewItem]:
        return [item_of(each, now, saving=each.id in self._saving) for each in self.listed()]

    def begin(self, items: tuple[PendingItem, ...]) -> tuple[PendingItem, ...]:
        """Marks items as being saved; returns those that were still pending."""
        fresh = tuple(each for each in items if not each.verdict and each.id not in self._saving)
        self._saving.update(each.id for each in fresh)
        return fresh

    def ended(self, name: str, *, done: bool) -> None:
        """Records that an item was saved, or that it stays pending."""
        if done:
            self._saved.add(name)
        else:
            self._saving.discard(name)


AN_ITEM = Need(lambda here: here.queue.selected, "no item is selected")
STILL_PENDING = Need(
    lambda here: (item := here.queue.selected) and item.is_pending, "the item is no longer pending"
)


class ReviewScreen(ListDetail, panels=("queue", "item"), lines=("wording",)):
    area = "review"
    news = frozenset({"status", "digest"})
    burst_s = 0.5  # a harvest queues its items in several events

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.state = ReviewState()
        engine = bench.engine
        self._looks = self.plain_lane(
            lambda: engine.knowledge.review.queue.all(), self._take, lambda problem: self._take(None, problem)
        )
        self.sources = self.lane(lambda item: source_lines(engine.files, item), self._take_source)
        self._decisions: Lane[Decision, None] = self.lane(
            lambda decision: decision.apply(
                bench.engine.knowledge.review, partial(self.later, self._ended), self.tell
            ),
            lambda _decision, _none: self.look(),
            in_turn=True,
            finish=True,
        )

    def body(self) -> ComposeResult:
        self.queue = QueuePanel(id="queue")
        self.item = ItemPanel(id="item")
        yield Container(self.queue, self.item, id="review")

    def look(self) -> None:
        self._looks.ask(None)

    # Display

    def shape(self, shown: tuple[str, ...]) -> dict[str, bool]:
        return {"-narrow": self.app.size.width < NARROW, "-low": self.alone}

    def show(self) -> None:
        state = self.state
        items = state.items(self.bench.clock.now())
        about = (state.phase, state.problem, state.reviewed, self.query_text)
        self.queue.show_items(items, self._note, about)
        self.show_selected()

    def show_selected(self) -> None:
        """Shows the selected item, and requests its source."""
        item = self.queue.selected
        source = self.state.sources.get(item.waiting.id) if item is not None else None
        shown = self.item.item
        other = item is not None and (shown is None or shown.waiting.id != item.waiting.id)
        self.item.show(item, source)
        if item is not None and source is None and other:
            self.sources.ask(item.waiting)
        self.update_footer()

    def _note(self, width: int, roles: Roles) -> list[Row]:
        state = self.state
        if state.phase == "loading":
            return [Row(("reading the review queue …", roles.faint))]
        if state.phase == "error":
            return unreadable("the review queue", state.problem, width, roles)
        if self.query_text:
            return [Row(("no item matches; esc shows all", roles.muted))]
        return draw_none(0 if state.with_reviewed else state.reviewed, width, roles)

    # Results

    def _take(self, items: tuple[PendingItem, ...] | None, problem: str = "") -> None:
        if not self.state.take(items, problem):
            self.say(problem, error=True)
        self.show()

    def _take_source(self, item: PendingItem, lines: SourceLines) -> None:
        self.state.sources = {item.id: lines}
        self.show_selected()

    # Navigation

    @command("enter o", "Enlarge the item", needs=[AN_ITEM])
    def enlarge_item(self) -> None:
        """Show the selected item over the whole area; press again to show both panels."""
        self.enlarge_in_turn("item")

    # The list

    @command("s", "Show or hide reviewed items", "reviewed", 12)
    def show_reviewed(self) -> None:
        """Also list items accepted or rejected before; press again to list only pending ones."""
        self.state.with_reviewed = not self.state.with_reviewed
        self.show()

    filter = filters("review", rank=14)

    @command("w", "Filter by this reason", needs=[AN_ITEM])
    def same_reason(self) -> None:
        """Show only items pending for the same reason; A then accepts them by group."""
        item = self.selected()
        if item is not None:
            self.narrow(item.why)

    @command("c", "Filter by this conversation", needs=[AN_ITEM])
    def same_conversation(self) -> None:
        """Show only items from the same conversation; A then accepts them by group."""
        item = self.selected()
        if item is not None:
            self.narrow(item.origin.name)

    def entered(self, mode: Mode, text: str) -> None:
        item, self.state.rewording = self.state.rewording, None
        self.leave_line()
        if mode != "reword" or item is None:
            return
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

    @command("a", "Accept the item", "accept", 0, needs=[AN_ITEM, STILL_PENDING, WRITABLE])
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

    @command("E", "Edit and accept the item", "edit, accept", 4, needs=[AN_ITEM, STILL_PENDING, WRITABLE])
    def reword(self) -> None:
        """Edit the item's text in the prompt; enter accepts the edited text, esc leaves the item pending."""
        item = self.selected()
        if item is not None and item.change is not None:
            self.say("a change of files cannot be reworded; e opens the file", error=True)
        elif item is not None:
            self.state.rewording = item
            self.open_line("wording", "reword", item.item.text)

    @command("x delete", "Reject the item", "reject", 2, needs=[AN_ITEM, STILL_PENDING, WRITABLE])
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

    @command("A", "Accept the group", "accept group", 10, needs=[AN_ITEM, STILL_PENDING, WRITABLE])
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

    @property
    def file(self) -> str:
        """The conversation of the selected item; empty if it no longer exists."""
        item = self.selected()
        return self.existing(item.source) if item is not None else ""

    @command("e", "Open the conversation at this line", "source", 8,
             needs=[AN_ITEM, Need(lambda here: here.file, "the conversation no longer exists")])  # fmt: skip
    def edit(self) -> None:
        """Open the conversation at the item's line in $VISUAL or $EDITOR."""
        item = self.selected()
        if item is not None:
            self.edit_file(self.file, item.line)
            self.sources.ask(item)

    @command("y", "Copy the item", "copy", 18, needs=[AN_ITEM])
    def copy_item(self) -> None:
        """Copy the text of the selected item."""
        item = self.selected()
        if item is not None:
            self.copy_text(text_of(item))

    @command("Y", "Copy everything shown", needs=[AN_ITEM])
    def copy(self) -> None:
        """Copy everything shown of the selected item."""
        self.copy_text(self.item.selected_text())

    # Panels

    focus_queue = goes_to("queue", "1", "the review queue", does="Go to the review queue.", rank=26)
    focus_item = goes_to("item", "2", "the item",
                         does="Go to the selected item: its text, why it needs review, and its source.",
                         rank=26)  # fmt: skip

    # State and results

    def _ended(self, name: str, done: bool) -> None:
        self.state.ended(name, done=done)
        if not done:
            self.show()


def _named(item: PendingItem, width: int) -> str:
    """An item's kind and text."""
    return f"{kind_of(item)}: {clip(first_line(item.item.text), width)}"
