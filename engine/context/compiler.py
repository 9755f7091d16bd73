"""The context compiler (spec 6): the densest prompt that fits a token budget.

Room is given in this order; ``available`` is the budget minus the reply reserve.

1. The message, the system prompt and the identity files (P0) get what they need, or a ``BudgetError``.
2. A third of ``available`` is reserved for layers 8 to 12, independent of the message; the rest after P0 goes
   to projects, MEMORY.md, catalogs and digest, in this order. So the stable prefix depends only on the files
   and the budget. (A message that exceeds the reserved third removes whole stable sections from the end; the
   remainder is still a beginning of the usual prefix.)
3. The rest is volatile room. Discussion, corrections and recaps that answer the message come first. Of the
   remainder, up to half is reserved for the last turns of the conversation, up to a quarter for topics, and
   up to a twelfth each for presets and search results, according to their demand.
4. Journals (P1), then presets, topics and subscriptions (P2), each up to its cap and without using the
   reserves of those that follow.
5. Search results (P3) get the rest except for the last turns, or less if they are less relevant; history (P4)
   gets everything that is left. Both respect their caps.
6. If room is left although a journal, preset or topic was cut for lack of room, steps 4 and 5 are repeated
   with reserves of the size actually used.
"""

from __future__ import annotations

from dataclasses import replace

from engine.context import catalog, fixed, recaps, tokens
from engine.context.assemble import (
    NEXT_TOKENS,
    PRIORITIES,
    assemble,
    density_of,
    next_pieces,
    refuse_overflow,
    reserve_of,
    slots,
)
from engine.context.budget import WHOLE, Candidate, Cap, Piece, Placement, about_tokens, caps_of
from engine.context.compiled import HISTORY_LAYER, SEARCH_FAILED, Compiled, LeftOut
from engine.context.curation import PresetSections, active_presets
from engine.context.delimiters import outside
from engine.context.history import History
from engine.context.relevance import (
    mark_irrelevant,
    query,
    relevant,
    share_of_room,
    without_history,
    without_others,
)
from engine.context.request import INJECTED_BEFORE, CompileRequest, tool_candidates
from engine.context.retrieved import LEAST_ROOM, Retrieved
from engine.context.rule_sections import rules_for
from engine.context.sources import MEMORY, ParsedFiles, Reader, Source, WorkspaceSource
from engine.context.spans import parse_spans
from engine.context.subscriptions import TopicSections, offers, ordered, steering
from engine.errors import AutopoiesisError
from engine.search.worth import Room, chosen
from engine.settings.model import CompilerSettings
from engine.startup.records import dataclass

__all__ = ["CompileRequest", "ContextCompiler", "Source", "WorkspaceSource"]

_VOLATILE_PART = 3
"""The volatile layers get 1/3 of the room; the other constants are fractions likewise."""

_RECENT_PART = 5
"""For journals and presets, of what is injected once per session."""
_OWN_PART = 2
"""For the person and the current project, of the remainder."""

_RULES_PART = 2
_CALLED_PART = 8
_HISTORY_PART = 2
_TOPICS_PART = 4
_PRESETS_PART = 12
_FILE_NOTES_PART = 8
_RESULTS_PART = 12
_WORTH_ANOTHER_ROUND = 32
"""Number of unused tokens from which the volatile layers are laid out again."""


class ContextCompiler:
    """Compiles prompts from a source of files: the workspace, or a revision of it."""

    def __init__(self, source: Source, settings: CompilerSettings) -> None:
        self._source = source
        self._settings = settings
        self._parsed = ParsedFiles()

    def compile(self, request: CompileRequest) -> Compiled:
        """The prompt for one message.

        Raises:
            BudgetError: System prompt, identity and message alone exceed the budget.
        """
        return _Compile(self._source, self._settings, self._parsed, request).run()


@dataclass(frozen=True, slots=True)
class _Shares:
    """Tokens of the volatile room that are reserved for, or used by, each part."""

    presets: int
    topics: int
    results: int
    history: int


class _Compile:
    def __init__(
        self,
        source: Source,
        settings: CompilerSettings,
        parsed: ParsedFiles,
        request: CompileRequest,
    ) -> None:
        self.settings = settings
        self.request = request
        self.reader = Reader(source, parsed)
        self.placement = Placement(tokens.count)
        for path, lines in request.injected:
            for first, last in parse_spans(lines) if lines else [(1, WHOLE)]:
                self.placement.included.setdefault(path, []).append((INJECTED_BEFORE, first, last))
        self.notes: list[str] = []
        budget = settings.token_budget if request.budget is None else request.budget
        self.budget = budget
        self.is_whole = request.part == "whole"
        self.is_injection = request.part in ("message", "asked")
        self.reserve = reserve_of(budget, settings.reply_reserve_tokens) * self.is_whole
        self.available = budget - self.reserve
        self.knowledge_caps = caps_of(settings, "knowledge")
        self.stable_free = 0
        self.history = History(request.history if self.is_whole else (), request.flushed)
        self.history_room = 0
        self.dropped_turns = 0
        self.share = 0.0
        self.called: Candidate | None = None

    def run(self) -> Compiled:
        if self.is_whole:
            message = self._message()
            self._stable()
            self._make_room(message)
            self.placement.add(message)
        else:
            self._stable()
        topics = ordered(self.request.topics)
        main_session = self.request.main_session
        active = () if self.is_injection else active_presets(self.reader)
        presets = PresetSections(active, self.reader, main_session=main_session)
        self._volatile(
            presets, TopicSections(topics, self.reader, self.request.trace, main_session=main_session)
        )
        assembled = assemble(self.placement.pieces)
        free = self.available - assembled.tokens
        return Compiled(
            text=assembled.text,
            tokens=assembled.tokens,
            budget=self.budget,
            reply_reserve=self.reserve,
            sections=assembled.sections,
            left_out=tuple(sorted(self.placement.left_out, key=lambda left: left.priority)),
            slots=slots(
                self.placement.pieces,
                {slot: caps_of(self.settings, slot) for slot in PRIORITIES},
                self.available,
                without=frozenset({"rules"}) if presets else frozenset({"rules", "preset"}),
            ),
            stable_prefix_length=assembled.stable_prefix_length,
            boundaries=assembled.boundaries,
            active_topics=tuple(topic.name for topic in topics),
            dropped_turns=self.dropped_turns,
            problems=tuple(dict.fromkeys((*self.reader.problems, *self.notes))),
            next_pieces=next_pieces(
                self.placement.left_out,
                self.stable_free + NEXT_TOKENS - NEXT_TOKENS // _VOLATILE_PART,
                free + NEXT_TOKENS,
                frozenset(section.label for section in assembled.sections),
            ),
            density=density_of(self.placement.pieces),
            history_room=self.history_room,
            flushed_turns=self.history.flushed(self.dropped_turns),
            unflushed_turns=self.history.unflushed(self.dropped_turns),
        )

    @property
    def spent(self) -> int:
        return sum(piece.tokens for piece in self.placement.pieces)

    def _message(self) -> Piece:
        """P0: the fixed files and the message, checked against the budget before reading anything else."""
        tools = tool_candidates(self.request.tools or ())
        for candidates in (tools, fixed.system_prompt(self.reader), fixed.identity(self.reader)):
            pieces = [self.placement.piece(candidate) for candidate in candidates]
            for piece in pieces:
                self.placement.add(piece)
            if pieces:
                self.notes += fixed.over_size(pieces, caps_of(self.settings, pieces[0].section.slot))
        message = Candidate(
            label="message",
            layer=12,
            priority=0,
            slot="message",
            text=outside(self.request.message).rstrip(),
            why="the message to answer",
        )
        piece = self.placement.piece(message)
        piece = replace(piece, tail="", tokens=tokens.count(piece.head + piece.section.text))
        refuse_overflow(self.placement.pieces, piece.tokens, self.budget, self.settings.reply_reserve_tokens)
        return piece

    def _stable(self) -> None:
        """P1 of layers 6 and 7, from files and budget alone; injected once per session."""
        request = self.request
        if self.is_injection:
            self._rules(0)
            return
        catalog_cap = "the catalog limit"
        can_read = self.request.tools is None or bool(self.request.tools)
        digest_cap = "the digest limit"
        rows: list[tuple[list[Candidate], tuple[Cap, ...]]] = [
            (fixed.projects(self.reader), caps_of(self.settings, "projects")),
            (
                fixed.memory(self.reader, main_session=self.request.main_session),
                caps_of(self.settings, "memory"),
            ),
            *(
                (listed, (Cap.of(catalog_cap, catalog.CATALOG_KIB), *self.knowledge_caps))
                for listed in catalog.catalogs(self.reader, can_read=can_read)
            ),
            (fixed.digest(self.reader), (Cap.of(digest_cap, fixed.DIGEST_KIB), *self.knowledge_caps)),
        ]
        volatile = _VOLATILE_PART if self.is_whole else _RECENT_PART
        room = self.available - self.available // volatile - self.spent
        room -= self._rules(min(room, self.available // _RULES_PART))
        own_room = 0 if self.is_whole else room // _OWN_PART
        for candidate in fixed.project_context(self.reader, request.project) if own_room else ():
            taken = self.placement.place(candidate, own_room)
            own_room, room = own_room - taken, room - taken
        for candidates, caps in rows:
            for candidate in candidates:
                room -= self.placement.place(candidate, room, caps)
        self.stable_free = max(0, room)
        for path in self.reader.untouched:
            why = "unchanged from the starter file; write something into it"
            self.placement.left_out.append(LeftOut(path, 1, "memory", path, reason=why))

    def _rules(self, room: int) -> int:
        """Places the rules that apply; those relevant to the message come with the volatile layers."""
        request, placement = self.request, self.placement
        caps = caps_of(self.settings, "rules")
        chosen = rules_for(
            self.reader, request.message, request.history, request.project, request.agent, room, caps
        )
        self.called = chosen.called
        placement.left_out.extend(() if self.is_injection else chosen.left_out)
        return placement.place(chosen.standing, room) if chosen.standing is not None else 0

    def _make_room(self, message: Piece) -> None:
        """Removes stable sections from the end until a long message fits."""
        while self.spent + message.tokens > self.available:
            last = max(
                (piece for piece in self.placement.pieces if piece.section.priority),
                key=lambda piece: (piece.section.layer, piece.order),
            )
            self.placement.remove(last, "removed to make room for a long message")

    def _volatile(self, presets: PresetSections, playbooks: TopicSections) -> None:
        request, placement = self.request, self.placement
        room = self.available - self.spent
        can_read = request.tools is None or bool(request.tools)
        if self.called is not None:
            room -= placement.place(self.called, room // _CALLED_PART)
        for candidate in fixed.project_commands(self.reader, request.project) if self.is_whole else ():
            room -= placement.place(candidate, room // _OWN_PART)
        discussion = [fixed.discussion(request.today, request.session_id, len(request.history) + 1)]
        for candidate in (
            *discussion * self.is_whole,
            *steering(request.corrections),
            *offers(request.offered if can_read else (), by_name=request.tools is None),
            *request.records,
        ):
            room -= placement.place(candidate, room)
        notes_caps = (
            Cap.of("the limit of file notes", fixed.FILE_NOTES_KIB),
            *self.knowledge_caps,
        )
        notes_room = room // _FILE_NOTES_PART
        for candidate in fixed.file_notes(self.reader, request.file_notes):
            taken = placement.place(candidate, notes_room, notes_caps)
            notes_room, room = notes_room - taken, room - taken

        is_answered, taken = recaps.place(placement, self.reader, request, room)
        room -= taken
        history, topic_caps = self.history, caps_of(self.settings, "topics")
        window = history.window(placement, about_tokens(self._history_caps(), room // _HISTORY_PART))
        taken = sum(piece.tokens for piece in window)
        held_from = history.first_line(window) if self.is_whole else request.held_from
        wanted = Room(room - taken, request.conversation)
        retrieved = None if is_answered else self._retrieve(room, wanted, held_from)
        keep = _Shares(
            presets=min(presets.demand(placement, caps_of(self.settings, "preset")), room // _PRESETS_PART),
            topics=min(playbooks.demand(placement, topic_caps), room // _TOPICS_PART),
            results=about_tokens(self.knowledge_caps, min(retrieved.demand(placement), room // _RESULTS_PART))
            if retrieved
            else 0,
            history=taken,
        )
        before = placement.mark()
        used = self._fill(presets, playbooks, retrieved, history, keep, room)
        cut = {
            missing.slot
            for missing in placement.left_out[len(before.left_out) :]
            if missing.limit == "room" and missing.slot in ("journal", "preset", "topics")
        }
        if cut and self.available - self.spent >= _WORTH_ANOTHER_ROUND:
            placement.restore(before)
            self._fill(presets, playbooks, retrieved, history, used, room)

    def _fill(
        self,
        presets: PresetSections,
        playbooks: TopicSections,
        retrieved: Retrieved | None,
        history: History,
        keep: _Shares,
        room: int,
    ) -> _Shares:
        """Places journals, presets, topics, search results and history; returns the tokens used by each."""
        placement, settings = self.placement, self.settings
        journal_caps = caps_of(settings, "journal")
        for candidate in () if self.is_injection else fixed.journals(self.reader, self.request):
            free = room - keep.history - keep.results - keep.topics - keep.presets
            room -= placement.place(candidate, free, journal_caps)
        free = room - keep.history - keep.results - keep.topics
        for_presets = presets.place(placement, free, caps_of(settings, "preset"))
        room -= for_presets
        free = room - keep.history - keep.results
        for_topics = playbooks.place(placement, free, caps_of(settings, "topics"))
        room -= for_topics

        history_caps = self._history_caps()
        for_results = 0
        elsewhere: frozenset[int] = frozenset()
        if retrieved:
            caps = tuple(replace(cap) for cap in self.knowledge_caps)
            before = len(placement.left_out)
            for_results = placement.within(
                caps,
                int((room - keep.history) * self.share),
                lambda free: retrieved.place(placement, free),
            )
            if self.share < 1:
                mark_irrelevant(placement.left_out, before)
            room -= for_results
            found = placement.included.get(self.request.conversation, ())
            elsewhere = history.numbers((first, last) for _, first, last in found)
        for_history = placement.within(history_caps, room, lambda free: self._past(history, free, elsewhere))
        return _Shares(for_presets, for_topics, for_results, for_history)

    def _past(self, history: History, room: int, elsewhere: frozenset[int]) -> int:
        self.history_room = room
        spent, self.dropped_turns = history.place(self.placement, room, elsewhere)
        return spent

    def _history_caps(self) -> tuple[Cap, ...]:
        """The caps of the history, after charging the line with date and session."""
        caps = caps_of(self.settings, "history")
        for piece in self.placement.pieces:
            if piece.section.slot == "history" and piece.section.layer != HISTORY_LAYER:
                for cap in caps:
                    cap.left -= cap.size(piece.section.text, piece.tokens)
        return caps

    def _retrieve(self, room: int, wanted: Room, history_line: int | None) -> Retrieved | None:
        request = self.request
        exclude = {
            path
            for path, spans in self.placement.included.items()
            if any(first <= 1 and last == WHOLE for _, first, last in spans)
        }
        exclude.update(self.reader.untouched)
        if not request.main_session:
            exclude.add(MEMORY)
        limit = self.settings.knowledge_results
        topics = ordered(request.topics)
        asked = query(
            request.message, request.history, topics, limit, wanted, frozenset(exclude), request.part
        )
        results = chosen(request.results or (), wanted, every=True)
        if request.results is None and request.retrieve is not None and limit:
            if room < LEAST_ROOM or asked is None:
                why = f"{room:,} tokens left" if asked else "the message asks nothing"
                self.placement.left_out.append(
                    LeftOut("knowledge", 3, "knowledge", reason=f"not searched: {why}")
                )
                return None
            try:
                results = request.retrieve(asked)
            except AutopoiesisError as error:
                self.notes.append(f"{SEARCH_FAILED}: {error}")
        results = [each for each in results if not fixed.is_untouched(self.reader, each.path)]
        results = without_history(results, request.conversation, history_line, self.placement.left_out)
        if request.part != "asked" and request.history:
            results = without_others(results, request.conversation, request.message, self.placement.left_out)
        self.share = share_of_room(results, request.part)
        kept = relevant(
            results,
            self.placement.left_out,
            request.part,
            request.message,
            wanted.tokens,
            anything=bool(self.share),
        )
        if not kept:
            return None
        return Retrieved(
            kept,
            query=asked.text if asked else request.message,
            main_session=request.main_session,
            conversation=request.conversation,
            part=request.part,
        )
