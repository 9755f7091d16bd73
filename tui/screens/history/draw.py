"""How commits, and the diff, file or blame beside them, are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from rich.style import Style
from textual.message import Message

from engine.store.paths import transcript_name
from tui.kit.rows import FACT, KeyedRows, Note, SelectablePage
from tui.render.draw import Piece, Row, clip, clip_start, labelled, wrap
from tui.render.figures import count, local, plural, sizes
from tui.render.roles import Roles
from tui.render.safe import first_line, visible, visible_lines
from tui.screens.context.draw import TextPage, TextPanel, diff_lines

if TYPE_CHECKING:
    from datetime import datetime

    from engine.history.model import Blame, BlamedLine, ChangedFile, Entry, FileDiff, Kind, Learned, UndoPlan

FLAG = "⚑"
CONVERSATION = "“"
WORDED, NAMED = 74, 100
"""Minimum widths for the type as a word, and for the conversation's name."""
NEAR = 60
"""Older commits are fetched this many rows before the last one."""
_SHORT: dict[Kind, str] = {
    "conversation": "conv", "memory": "mem", "identity": "ident", "maintenance": "maint",
    "explore": "expl", "extract": "extr", "other": "–",
}  # fmt: skip
_WORD, _ABBREVIATED = 12, 5
_CONVERSATION, _TAG = 30, 26
Phase = Literal["loading", "error", "found"]
CHOSEN = "▸"
MAX_FILES = 2_000
"""Files listed per commit."""
_LABEL = 9
_CONVERSATIONS = -2
"""Row number of the first conversation; later ones count downwards."""
_MAX_CONVERSATIONS = 20
_MAX_LINES = 500
_CHANGES = {"A": "added", "M": "changed", "D": "deleted", "R": "renamed", "T": "type changed"}
_BROAD = 70
"""Minimum width for a conversation column."""
_ORIGIN = 24
MAX_DIFF_LINES = 2_000
"""Lines shown of a diff, and of each file of an undo."""
MAX_FILE_LINES = 20_000
_BLOCKED = 4
"""Obstacles to an undo, and files it leaves alone, that are listed."""
_BINARY_CHECK = 8_000
"""Bytes searched for a NUL, which marks a binary file."""


@dataclass(frozen=True, slots=True)
class CommitRow:
    entry: Entry = field(hash=False)
    revision: str
    tags: tuple[str, ...] = ()
    """Its snapshots, without the ``memory/`` prefix."""


def kind_style(kind: Kind, roles: Roles) -> Style:
    """The colour of a commit type."""
    return {
        "conversation": roles.tier2, "memory": roles.active, "identity": roles.gate,
        "explore": roles.tier1, "extract": roles.accent,
    }.get(kind, roles.muted)  # fmt: skip


def minute(at: datetime) -> str:
    """Local time to the minute."""
    return local(at).strftime("%Y-%m-%d %H:%M")


def short_time(at: datetime, year: int) -> str:
    """Local time in eleven cells; only the date for other years."""
    return local(at).strftime("%m-%d %H:%M" if local(at).year == year else "%Y-%m-%d ")


def conversation_name(path: str) -> str:
    """A conversation's short name: its file or folder name; of a transcript, the slug."""
    name = path.rstrip("/").rpartition("/")[2]
    return transcript_name(first_line(name.rpartition(".")[0] or name))[1]


def draw_commit_row(item: CommitRow, width: int, roles: Roles, *, year: int, query: str, chosen: bool) -> Row:
    """A row: time, type, snapshot and conversation marks, subject, and the conversation's name.

    Args:
        year: The current year.
    """
    entry, kind = item.entry, item.entry.kind
    worded = width >= WORDED
    row = Row((minute(entry.at) if worded else short_time(entry.at, year), roles.muted))
    row.gap(2 if worded else 1)
    word, room = (kind, _WORD) if worded else (_SHORT[kind], _ABBREVIATED)
    row.fit(word, room, kind_style(kind, roles)).gap()
    named = width >= NAMED
    row.add(FLAG if item.tags else " ", roles.gate)
    if not named:
        row.add(CONVERSATION if entry.sessions else " ", roles.faint)
    row.gap()
    right = Row()
    if worded and item.tags:
        right.add(clip(", ".join(item.tags), _TAG), roles.gate).gap(2 if named else 0)
    if named:
        right.fit(conversation_name(entry.sessions[0]) if entry.sessions else "", _CONVERSATION, roles.faint)
    text = first_line(entry.title) or "(no subject)"
    text = clip(text, max(4, width - row.cells - (right.cells + 2 if right.cells else 0)))
    words = roles.strong if chosen else roles.normal if entry.title.strip() else roles.faint
    row.add_found(text, query, words, roles.accent + Style(underline=True))
    return row.right(right, width).cut(width)


def draw_none(phase: Phase, problem: str, narrowed: str, more: bool, width: int, roles: Roles) -> list[Row]:
    """Explains why there are no rows.

    Args:
        problem: Why the history cannot be read.
        narrowed: What the list is filtered by, after "no commit".
        more: There are older commits that were not searched.
    """
    if phase == "loading":
        return [Row(("reading …", roles.faint))]
    if phase == "error":
        rows = wrap([("! ", roles.error), (problem, roles.normal)], width, indent=2)
        return [*rows, Row(), Row(("ctrl+r", roles.accent), (" tries again", roles.muted))]
    rest = "; enter in the filter searches older commits" if more else "; esc shows all"
    return wrap([(f"no commit {narrowed}{rest}", roles.muted)], width)


class CommitsPanel(KeyedRows[CommitRow], panel="commits", number="1", words="history"):
    """One row per commit; older ones are loaded on scrolling down."""

    always_lit = True
    signs = (
        (FLAG, "snapshot: this state has a name"),
        (CONVERSATION, "learned from a conversation; c shows it"),
    )

    class NearEnd(Message):
        """Few rows are left below the visible ones."""

    heading = ""
    year = 0

    def key(self, item: CommitRow) -> str:
        return item.revision

    def show_commits(self, items: Sequence[CommitRow], note: Note, about: object, *, heading: str) -> None:
        """Shows commits.

        Args:
            heading: The number of commits read and the filters, for the frame.
        """
        self.heading = heading
        self.show_items(items, note, about)
        self.summarise()

    def row(self, item: CommitRow, width: int, chosen: bool) -> Row:
        return draw_commit_row(item, width, self.roles, year=self.year, query=self.query_text, chosen=chosen)

    def searchable(self, item: CommitRow) -> Sequence[str]:
        revision = item.revision[: max(4, len(self.query_text))]
        return item.entry.subject, revision, *item.entry.sessions, *item.tags

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if self.scroll_offset.y + self.size.height + NEAR >= self.row_count:
            self.post_message(self.NearEnd())

    def summarise(self) -> None:
        parts = [self.heading, f"/{self.query_text} {count(self.row_count)}" if self.query_text else ""]
        item = self.selected
        below = ""
        if item is not None and self.size.width < NAMED:
            below = ", ".join((*item.tags, *map(conversation_name, item.entry.sessions[:1])))
            below = clip(below, max(8, self.size.width - 6)) if cell_len(below) else ""
        self.set_frame(" · ".join(filter(None, parts)), below)

    def text_of(self, item: CommitRow) -> str:
        return f"{item.revision} {item.entry.subject}"


@dataclass(frozen=True, slots=True)
class CommitView:
    item: CommitRow
    files: tuple[ChangedFile, ...] | None
    """``None`` while loading."""
    chosen: str
    """The path of the file shown next to the commit."""
    problem: str = ""


def letter_style(letter: str, roles: Roles) -> Style:
    return {"A": roles.active, "D": roles.error}.get(letter, roles.gate)


def draw_commit(view: CommitView, width: int, roles: Roles) -> list[tuple[Row, int]]:
    """Draws a commit: rows, each with the number of the file or conversation it is about, or ``FACT``."""
    entry, kind = view.item.entry, view.item.entry.kind
    head = [(kind, kind_style(kind, roles)), ("  ", roles.normal)] if kind != "other" else []
    rows = [(row, FACT) for row in wrap([*head, (entry.title or "(no subject)", roles.strong)], width)]
    at = f"{minute(entry.at)}  {entry.author}"
    rows += [(row, FACT) for row in labelled("at", at, width, _LABEL, roles.normal, tone=roles.muted)]
    rows.append((Row().fit("commit", _LABEL, roles.muted).add(entry.revision, roles.normal).cut(width), FACT))
    for tag in view.item.tags:
        rows.append((Row().fit("snapshot", _LABEL, roles.muted).add(f"{FLAG} {tag}", roles.gate), FACT))
    for number, path in enumerate(entry.sessions[:_MAX_CONVERSATIONS]):
        label = "" if number else "from"
        name = clip_start(path, max(8, width - _LABEL))
        rows.append((Row().fit(label, _LABEL, roles.muted).add(name, roles.tier2), _CONVERSATIONS - number))
    if len(entry.sessions) > _MAX_CONVERSATIONS:
        more = f"and {plural(len(entry.sessions) - _MAX_CONVERSATIONS, 'other')}"
        rows.append((Row().gap(_LABEL).add(more, roles.muted), FACT))
    rows += [(Row(), FACT), *_files(view, width, roles)]
    lines = visible_lines(entry.body)
    if lines:
        rows += [(Row(), FACT), (Row(("message", roles.muted)), FACT)]
        rows += [(row, FACT) for line in lines[:_MAX_LINES] for row in wrap([(line, roles.normal)], width)]
        if len(lines) > _MAX_LINES:
            rows.append((Row((f"{_MAX_LINES} of {len(lines):,} lines shown", roles.gate)), FACT))
    return rows


def _files(view: CommitView, width: int, roles: Roles) -> list[tuple[Row, int]]:
    if view.problem:
        return [(row, FACT) for row in wrap([("! ", roles.error), (view.problem, roles.normal)], width)]
    if view.files is None:
        return [(Row(("loading files …", roles.faint)), FACT)]
    if not view.files:
        note = "a merge without changes of its own" if len(view.item.entry.parents) > 1 else "no files"
        return [(Row((note, roles.muted)), FACT)]
    rows = [(Row((plural(len(view.files), "file"), roles.muted)), FACT)]
    for number, file in enumerate(view.files[:MAX_FILES]):
        chosen = file.path == view.chosen
        row = Row((f"{CHOSEN} " if chosen else "  ", roles.accent))
        row.add(f"{file.letter}  ", letter_style(file.letter, roles))
        name = f"{file.earlier} → {file.path}" if file.earlier else file.path
        row.add(clip_start(name, max(8, width - row.cells)), roles.strong if chosen else roles.normal)
        rows.append((row, number))
    if len(view.files) > MAX_FILES:
        rows.append((Row((f"{MAX_FILES:,} of {len(view.files):,} files shown", roles.gate)), FACT))
    return rows


class CommitPanel(SelectablePage[CommitView], panel="commit", number="2"):
    """Message, time, conversations and files; the selected file is shown next to it."""

    always_lit = True
    signs = tuple((letter, words) for letter, words in _CHANGES.items())
    nothing = "no commit is selected"

    def subject(self, view: CommitView) -> object:
        return view.item.revision, view.files is None

    def draw_view(self, view: CommitView, width: int) -> list[tuple[Row, int]]:
        return draw_commit(view, width, self.roles)

    def initial_row(self) -> int:
        view = self.view
        files = view.files if view is not None else None
        at = next((at for at, file in enumerate(files or ()) if view and file.path == view.chosen), -1)
        return next((row for row, each in enumerate(self.items) if at >= 0 and each.line == at), 0)

    @property
    def file(self) -> ChangedFile | None:
        files = self.view.files if self.view is not None else None
        return files[self.line] if files and 0 <= self.line < len(files) else None

    @property
    def conversation(self) -> str:
        """The path of the selected conversation, or of the first one."""
        sessions = self.view.item.entry.sessions if self.view is not None else ()
        at = _CONVERSATIONS - self.line
        return sessions[at] if 0 <= at < len(sessions) else sessions[0] if sessions else ""

    @property
    def on_conversation(self) -> bool:
        return self.line <= _CONVERSATIONS

    def summarise(self) -> None:
        self.set_frame(self.view.item.revision[:8] if self.view is not None else "")


@dataclass(frozen=True, slots=True)
class BlameRow:
    """A line and the commit it comes from."""

    line: BlamedLine = field(hash=False)
    entry: Entry | None = field(hash=False)
    """``None`` if the line is not committed yet."""
    number: int
    first: bool
    """The previous line is from another commit."""

    @property
    def conversation(self) -> str:
        """The path of the conversation the line came from, or its name if the path is unknown."""
        return next((each.path or each.name for each in self.line.taught), "")


def blame_rows(blame: Blame) -> tuple[BlameRow, ...]:
    by_name = {each.revision: each for each in blame.commits}
    before = [""] + [each.revision for each in blame.lines]
    return tuple(
        BlameRow(line, by_name.get(line.revision), line.number, at == 0 or line.revision != before[at])
        for at, line in enumerate(blame.lines)
    )


class BlamePanel(KeyedRows[BlameRow], panel="blame", number="3"):
    """A row for each line; values repeated from the row above are left blank."""

    path, banner = "", ""

    def show_blame(self, rows: tuple[BlameRow, ...], path: str, banner: str) -> None:
        other = (path, banner) != (self.path, self.banner)
        self.path, self.banner = path, banner
        self._cache.clear()
        self.show_items(rows, from_top=other)
        self.summarise()

    def key(self, item: BlameRow) -> int:
        return item.number

    def row(self, item: BlameRow, width: int, chosen: bool) -> Row:
        roles, entry = self.roles, item.entry
        row = Row().fit(item.line.revision[:7] if item.first else "", 7, roles.accent).gap()
        day = local(entry.at).strftime("%Y-%m-%d") if entry is not None else "not yet"
        row.fit(day if item.first else "", 10, roles.muted).gap()
        if width >= _BROAD:
            row.fit(conversation_name(item.conversation), min(_ORIGIN, width // 4), roles.tier2).gap()
        row.fit(str(item.number), len(str(len(self.items))), roles.faint, "right").gap()
        return row.add(clip(item.line.text, max(4, width - row.cells)), roles.normal)

    def summarise(self) -> None:
        item = self.selected
        total = f"{count(self.cursor + 1)} of {count(len(self.items))}" if item is not None else ""
        taught = conversation_name(item.conversation) if item is not None else ""
        self.set_frame(" · ".join(filter(None, (self.path, self.banner))), "  ".join(
            filter(None, (clip(taught, max(8, self.size.width - 20)), total))
        ))  # fmt: skip

    def text_of(self, item: BlameRow) -> str:
        return visible(item.line.text)


View = Literal["diff", "file", "blame", "conversation", "undo"]
Pieces = Callable[[Roles], Sequence[Sequence[Piece]]]


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """A text and the heading above it."""

    page: TextPage
    head: Pieces
    """Paragraphs."""
    line: int = 0
    """The line to scroll to, from 0."""


class ShownPanel(TextPanel):
    """A text below a fixed heading."""

    number = "3"
    words = ""

    def show_text(self, text: Text | None, title: str) -> None:
        if text is None:
            self.show(TextPage(()), None, title)
            return

        def head(width: int, roles: Roles) -> list[Row]:
            rows = [row for pieces in text.head(roles) for row in wrap(pieces, width, indent=2)]
            return [*rows, Row(("─" * width, roles.line))] if rows else []

        self.show(text.page, head, title, line=max(0, text.line - 2))


def problem_text(problem: str) -> Text:
    return Text(TextPage(()), lambda roles: [[("! ", roles.error), (problem, roles.normal)]])


def note_text(note: str) -> Text:
    return Text(TextPage(()), lambda roles: [[(note, roles.muted)]])


def counts_of(added: int, removed: int, roles: Roles) -> list[Piece]:
    """``+3 −1``."""
    return [(f"+{count(added)} ", roles.active if added else roles.faint),
            (f"−{count(removed)}", roles.error if removed else roles.faint)]  # fmt: skip


def _shown_of(shown: int, total: int, roles: Roles) -> list[Piece]:
    return [(f"  {count(shown)} of {count(total)} lines shown", roles.gate)] if shown < total else []


def diff_text(letter: str, diff: FileDiff) -> Text:
    lines = diff.text.split("\n")[:-1] if diff.text else []
    signs, texts = diff_lines(lines[:MAX_DIFF_LINES])
    name = f"{diff.earlier} → {diff.path}" if diff.earlier else diff.path

    def head(roles: Roles) -> list[list[Piece]]:
        if diff.binary:
            detail: list[Piece] = [("binary file", roles.muted)]
        elif not lines:
            detail = [("no changes in content", roles.muted)]
        else:
            detail = [*counts_of(diff.added, diff.removed, roles), *_shown_of(len(texts), len(lines), roles)]
        return [[(f"{letter}  ", roles.gate), (name, roles.strong), ("  ", roles.normal), *detail]]

    return Text(TextPage(texts, signs=signs), head)


def file_text(entry: Entry, path: str, data: bytes, today: bytes | None, learned: Learned | None) -> Text:
    """A file at a commit.

    Args:
        today: Its current content; ``None`` if it no longer exists.
        learned: The search that led here, if any.
    """
    binary = b"\0" in data[:_BINARY_CHECK]
    lines = [] if binary else visible_lines(data.decode("utf-8", "surrogateescape"))
    texts = tuple(lines[:MAX_FILE_LINES])
    now = "deleted since" if today is None else "unchanged since" if today == data else "changed since"
    hit = learned.first if learned is not None else None
    line = hit.line if hit is not None and hit.path == path else 0

    def head(roles: Roles) -> list[list[Piece]]:
        banner: list[Piece] = [
            (f"as of {minute(entry.at)}", roles.gate + Style(bold=True, reverse=True)),
            (f"  {entry.revision[:8]}  ", roles.gate), (path, roles.strong), (f"  {now}", roles.muted),
        ]  # fmt: skip
        if binary:
            banner.append((f", binary file, {sizes(len(data))}", roles.muted))
        rows = [[*banner, *_shown_of(len(texts), len(lines), roles)]]
        return [*rows, *learned_pieces(learned, roles)] if learned is not None else rows

    lit = (line - 1, line) if line else (0, 0)
    numbers, marks = tuple(range(1, len(texts) + 1)), frozenset({line - 1} if line else ())
    return Text(TextPage(texts, numbers, markers=marks, lit=lit), head, line=max(0, line - 1))


def learned_pieces(learned: Learned, roles: Roles) -> list[list[Piece]]:
    """When something was learned, from which conversation, and whether it is still there."""
    first, removed = learned.first, learned.went
    what = "learned" if learned.where == "knowledge" else "said, but never stored,"
    rows: list[list[Piece]] = []
    if first is not None:
        line = f":{first.line}" if first.line else ""
        rows.append([(f"“{learned.text}”", roles.strong), (f" {what} here", roles.active),
                     (f" in {first.path}{line}", roles.normal)])  # fmt: skip
        if first.taught:
            rows.append([("from ", roles.muted), (first.taught[0].path or first.taught[0].name, roles.tier2)])
    if learned.now:
        place = learned.now[0]
        more = f" and {plural(len(learned.now) - 1, 'other place')}" if len(learned.now) > 1 else ""
        rows.append([("still in ", roles.muted), (f"{place.path}:{place.line}{more}", roles.normal)])
    elif removed is not None:
        entry = removed.entry
        rows.append([("no longer there: ", roles.error),
                     (f"removed {minute(entry.at)} by {entry.revision[:8]} {entry.title}",
                      roles.normal)])  # fmt: skip
    else:
        rows.append([("no longer there", roles.error), (", not committed yet", roles.normal)])
    if learned.shallow:
        rows.append([("shallow clone: it may be older", roles.gate)])
    return rows


def conversation_text(path: str, data: bytes) -> Text:
    lines = visible_lines(data.decode("utf-8", "surrogateescape"))
    texts = tuple(lines[:MAX_FILE_LINES])

    def head(roles: Roles) -> list[list[Piece]]:
        return [[(path, roles.tier2), *_shown_of(len(texts), len(lines), roles)]]

    return Text(TextPage(texts), head)


def plan_text(plan: UndoPlan, key: str) -> Text:
    """What an undo would do.

    Args:
        key: The key that asks for confirmation.
    """
    lines: list[str] = []
    for file in plan.files:
        what = "deleted" if file.after is None else "keeps later changes" if file.merged else "restored"
        body = file.diff.text.split("\n")[:-1] if file.diff.text else []
        lines += [f"@@ {visible(file.path)}: {what}", *body[:MAX_DIFF_LINES]]
        if len(body) > MAX_DIFF_LINES:
            lines.append(f"@@ {MAX_DIFF_LINES:,} of {len(body):,} lines shown")
    signs, texts = diff_lines(lines)

    def head(roles: Roles) -> list[list[Piece]]:
        entry = plan.entry
        rows: list[list[Piece]] = [
            [(f"undo {entry.revision[:8]}  ", roles.gate),
             (entry.subject, roles.strong)]
        ]  # fmt: skip
        added, removed = (sum(getattr(each.diff, way) for each in plan.files) for way in ("added", "removed"))
        totals = [(f"{plural(len(plan.files), 'file')}  ", roles.muted), *counts_of(added, removed, roles)]
        if plan.can_apply:
            note = "  nothing is changed yet; "
            rows.append([*totals, (note, roles.muted), (key, roles.accent), (" to confirm", roles.muted)])
        elif not plan.blocked:
            rows.append([("nothing left to undo", roles.gate)])
        for each in plan.blocked[:_BLOCKED]:
            where = f"{each.path} " if each.path else ""
            hint = f"; {each.hint}" if each.hint else ""
            rows.append([("! ", roles.error), (f"cannot be undone: {where}{each.why}{hint}", roles.normal)])
        for kept in plan.kept[:_BLOCKED]:
            rows.append([(f"{kept.path} unchanged: {kept.why}", roles.muted)])
        more = max(0, len(plan.blocked) - _BLOCKED) + max(0, len(plan.kept) - _BLOCKED)
        return [*rows, [(f"and {plural(more, 'more file')}", roles.muted)]] if more else rows

    return Text(TextPage(texts, signs=signs), head)
