"""The topics screen: what each would have done in the past, and new ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Self

from textual.app import ComposeResult
from textual.containers import Container

from tui.kit.command import Need, command
from tui.kit.commands import WRITABLE, filters, goes_to, labels
from tui.kit.full_screen import ListDetail, committed, unreadable
from tui.kit.lanes import Lane
from tui.kit.panel import Motion
from tui.render.draw import Row, wrap
from tui.render.figures import count
from tui.render.roles import Roles
from tui.screens.topics.draw import PastPanel, TopicItem, TopicsPanel, draw_draft, draw_message

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.engine import Engine
    from engine.playbooks.draft import Draft
    from engine.playbooks.past import PastRow, Replay
    from engine.playbooks.playbooks import Made, Quote, Utterances
    from tui.kit.bench import Bench

MOST_MESSAGES = 1_000
"""The newest messages that are played here; the command plays more."""
_FEW = 5
"""Ways to ask from which no model is offered."""


def read_items(engine: Engine) -> tuple[TopicItem, ...]:
    """The topics, those that agents proposed first."""
    proposed = [TopicItem(each.name, each.when, draft=each) for each in engine.playbooks.proposed()]
    return (
        *proposed,
        *(TopicItem(each.name, each.description, each.path) for each in engine.library.topics),
    )


A_MESSAGE = Need(lambda here: here.past.selected, "no past message is selected")
A_LABEL = Need(lambda here: here._labels, "no label to undo")
A_PROPOSAL = Need(lambda here: here.draft, "no agent proposed it")
A_FILE = Need(lambda here: here.file, "the selection is not a file")
NO_MATCH = "nothing matches; esc shows all"
SOMETHING = Need(lambda here: here.past.selected or here.draft, "no past message is selected")


class TopicsScreen(ListDetail, panels=("topics", "past"), lines=("words",)):
    area = "topics-area"
    news = frozenset({"status"})

    def __init__(self, bench: Bench, name: str = "") -> None:
        super().__init__(bench)
        engine = bench.engine
        self.items: tuple[TopicItem, ...] | None = None
        self.problem = self.unplayed = ""
        self.progress = ""
        """How far the past has been played."""
        self._wanted = name
        """The topic to select once it is listed."""
        self._reads = self.plain_lane(
            lambda: read_items(engine), self._take, lambda problem: self._take((), problem)
        )
        self._plays = self.plain_lane(
            lambda: engine.playbooks.replay_all(self._report, most=MOST_MESSAGES),
            self._take_played,
            lambda problem: self._take_played(None, problem),
        )
        playbooks = bench.engine.playbooks
        self._labels: list[tuple[str, PastRow]] = []
        """Labels given here, with the message as it was before."""
        self._writes: Lane[tuple[str, PastRow, bool | None], None] = self.lane(
            lambda asked: playbooks.label_row(*asked),
            lambda *_: None,
            self._unwritten,
            in_turn=True,
            finish=True,
        )
        self._forms: Lane[bool, tuple[Draft, Quote | None]] = self.lane(
            self._read_form, self._take_form, self._refused
        )
        self._asks: Lane[Draft, Utterances] = self.lane(playbooks.utterances, self._take_ways, self._refused)
        self._makes: Lane[Callable[[], Made], Made] = self.lane(
            lambda make: make(),
            lambda _make, made: self._made(made),
            self._refused,
            in_turn=True,
            finish=True,
        )

    def body(self) -> ComposeResult:
        self.topics = TopicsPanel(id="topics")
        self.past = PastPanel(id="past")
        yield Container(self.topics, self.past, id=self.area)

    def look(self) -> None:
        self._reads.ask(None)

    def begin(self) -> None:
        super().begin()
        self.play()

    def play(self) -> None:
        """Plays the past again; until then, the figures are those of the last time."""
        self.progress = "playing your past …"
        self._plays.ask(None)

    def select(self, name: str) -> None:
        """Selects a topic now, or once it is listed."""
        self._wanted = name
        self.look()

    # Display

    def show(self) -> None:
        replays = self.bench.replays or {}
        items = [
            replace(item, replay=None if item.draft else replays.get(item.name)) for item in self.items or ()
        ]
        self.topics.below = self.progress if items else ""
        about = (self.problem, self.items is None, self.topics.query_text)
        self.topics.show_items(items, self._list_note, about)
        names = [self.topics.item_at(row).name for row in range(self.topics.row_count)]
        found = names.index(self._wanted) if self._wanted in names else -1
        if found >= 0:
            self.topics.select(found, by_hand=False)
            self._wanted = ""
        self.show_selected()

    def show_selected(self) -> None:
        item = self.topics.selected
        name = item.name if item is not None else ""
        self.past.show_replay(
            name,
            item.replay if item else None,
            self._past_note,
            (self.progress, self.unplayed, self.past.query_text),
        )
        self.update_footer()

    def _list_note(self, width: int, roles: Roles) -> list[Row]:
        if self.problem:
            return unreadable("the topics", self.problem, width, roles)
        words = "reading …" if self.items is None else "no topics yet: a makes one"
        if self.items:
            words = NO_MATCH
        return [Row((words, roles.faint))]

    def _past_note(self, width: int, roles: Roles) -> list[Row]:
        item = self.topics.selected
        if item is not None and item.draft is not None:
            words = "an agent proposed it: o reads it, w writes it, x turns it down"
        elif self.unplayed:
            return unreadable("the past", self.unplayed, width, roles)
        elif item is None or item.replay is None:
            words = self.progress
        elif not item.replay.messages:
            words = "there are no past messages: autopoiesis import"
        elif self.past.query_text:
            words = NO_MATCH
        else:
            words = "it would not have fired on any past message, nor nearly"
        return wrap([(words, roles.muted)], width)

    # Results

    def _report(self, done: int, total: int) -> None:
        if done % 25 == 0 and done < total:
            self.progress = f"playing your past: {count(done)} of {count(total)} messages"
            self.later(self.show)

    def _take(self, items: tuple[TopicItem, ...], problem: str = "") -> None:
        self.items, self.problem = items, problem
        self.show()

    def _take_played(self, replays: Mapping[str, Replay] | None, problem: str = "") -> None:
        self.bench.replays, self.unplayed, self.progress = replays, problem, ""
        self.show()

    def relabelled(self, topic: str, row: PastRow, useful: bool | None) -> None:
        """Shows a label at once."""
        replays = self.bench.replays or {}
        if topic in replays:
            self.bench.replays = {**replays, topic: replays[topic].labelled_as(row.id, useful)}
            self.show()

    @classmethod
    def over(cls, bench: Bench) -> Self:
        """The screen for the selected topic."""
        return cls(bench, bench.selected_topic)

    # Navigation

    def close(self) -> None:
        if self._labels:
            self.bench.conductor.learn()
        super().close()

    focus_topics = goes_to("topics", "1", "the topics", ": how each would have done in your past")
    focus_past = goes_to("past", "2", "the past messages",
                         ": those the selected topic would have fired on, or nearly")  # fmt: skip

    filter = filters("list", rank=10)

    @property
    def listed(self) -> TopicsPanel | PastPanel:
        """The list in use, which is filtered by itself."""
        used = self.panel_before if self.in_line else self.panel_in_use
        return self.past if used == "past" else self.topics

    @command("enter", "Judge its past messages", "its past", 2, panels=["topics"])
    def judge(self) -> None:
        """Go to the past messages of the selected topic, to label them with y and n."""
        self.go_to("past")

    # Past messages

    def label(self, useful: bool) -> None:
        row, item = self.past.selected, self.topics.selected
        if row is not None and item is not None:
            self._labels.append((item.name, row))
            self._writes.ask((item.name, row, useful))
            self.relabelled(item.name, row, useful)
            self.past.move(Motion.DOWN)

    def _unwritten(self, asked: tuple[str, PastRow, bool | None], problem: str) -> None:
        name, row, _ = asked
        self.relabelled(name, row, row.useful)
        self.say(problem, error=True)

    label_useful, label_noise = labels(
        "Label the topic as {} for the selected message, then go to the next message.",
        "Label the message:", 1, [A_MESSAGE], panels=["past"],
    )  # fmt: skip

    @command("u z", "Undo the last label", "undo", 3, needs=[A_LABEL, WRITABLE])
    def unlabel(self) -> None:
        """Undo the last label given here, and go to its message."""
        name, row = self._labels.pop()
        self._writes.ask((name, row, row.useful))
        self.relabelled(name, row, row.useful)
        self.past.select_key(row.id)

    @command("o space", "Open the message", "open", 6, needs=[SOMETHING])
    def open_it(self) -> None:
        """Open the selected message in full, with triggers and score; or the topic an agent proposed."""
        item, row = self.topics.selected, self.past.selected
        if item is not None and item.draft is not None:
            self.page("proposed", partial(draw_draft, item.draft))
        elif item is not None and row is not None:
            self.page("message", partial(draw_message, row, item.name))

    # Making

    @command("a", "Make a new topic", "new", 4, needs=[WRITABLE])
    def new(self) -> None:
        """Fill in a form in $VISUAL or $EDITOR: title, when it applies, what to do, ways to ask. If a model
        is configured, it can write the ways to ask; the cost is said first.
        """
        self._edit_form(None, asks=True)

    def _edit_form(self, draft: Draft | None, *, asks: bool) -> None:
        self.edit_file(self.bench.engine.playbooks.open_form(draft))
        self._forms.ask(asks)

    def _read_form(self, asks: bool) -> tuple[Draft, Quote | None]:
        playbooks = self.bench.engine.playbooks
        draft = playbooks.read_form()
        return draft, playbooks.quote(draft) if asks and len(draft.examples) < _FEW else None

    def _take_form(self, _asks: bool, found: tuple[Draft, Quote | None]) -> None:
        draft, quote = found
        make = partial(self._makes.ask, partial(self.bench.engine.playbooks.create, draft, from_form=True))
        if quote is None:
            make()
            return
        price = "a price that is not known" if quote.usd is None else f"at most ${quote.usd:.4f}"
        question = (
            f"Have {quote.model} write ways to ask for “{draft.title}”, for {price}?\nYou can edit them."
        )
        self.ask("ways to ask", question, "Ask the model", partial(self._asks.ask, draft), make)

    def _take_ways(self, draft: Draft, written: Utterances) -> None:
        self._edit_form(replace(draft, examples=(*draft.examples, *written.examples)), asks=False)

    @command("w", "Write the proposed topic", "write", 12, needs=[A_PROPOSAL, WRITABLE])
    def write_it(self) -> None:
        """Write the topic that an agent proposed to topics/. From then on it is told when it fires."""
        item = self.topics.selected
        if item is not None:
            make = partial(self.bench.engine.playbooks.accept, item.name)
            self.ask(
                "write",
                f"Write the topic {item.name}?\no shows it in full.",
                "Write",
                partial(self._makes.ask, make),
            )

    @command(
        "x",
        "Turn the proposed topic down",
        "turn down",
        13,
        panels=["topics"],
        needs=[A_PROPOSAL, WRITABLE],
    )
    def turn_down(self) -> None:
        """Turn down the topic that an agent proposed; git keeps it."""
        item = self.topics.selected
        if item is not None:
            self._makes.ask(partial(self.bench.engine.playbooks.reject, item.name))

    def _made(self, made: Made) -> None:
        self.say(f"{made.path}: {committed(made.commit.revision, made.commit.why)}")
        self.select(made.name)
        self.play()

    def _refused(self, _asked: object, problem: str) -> None:
        self.say(problem, error=True)

    @command("e", "Edit the topic", "edit", 8, needs=[A_FILE])
    def edit(self) -> None:
        """Open the selected topic in $VISUAL or $EDITOR, then play the past to it again."""
        self.edit_file(self.file)
        self.look()
        self.play()

    def rescan(self) -> None:
        """Re-read all files, and play the past again."""
        super().rescan()
        self.play()

    @property
    def draft(self) -> Draft | None:
        """What an agent proposed, if that is selected."""
        return self.topics.selected.draft if self.topics.selected is not None else None

    @property
    def file(self) -> str:
        item = self.topics.selected
        return self.existing(item.path) if item is not None else ""
