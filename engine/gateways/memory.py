"""What an agent may ask of the memory (spec 2.9): short answers, and never a file that is not for it.

Who asks is the person's own agent: over standard input a program of theirs has started it, over HTTP it holds
a token that only they can read. Either could open the files by itself, so it sees what a prompt of the main
session holds, MEMORY.md included. Two things stay here all the same, because an answer goes on to a service
and nobody looks at it first: what lies in private folders, and what looks like a secret. A caller spends
nothing on models: the gate is not asked.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from engine.activation.trace import Message, Trace
from engine.context.compiled import Compiled
from engine.context.delimiters import OF_OTHERS
from engine.context.explain import outline
from engine.context.relevance import FLOOR
from engine.context.spans import parse_spans
from engine.errors import HarvestRefused, PathRefused
from engine.gateways import answers
from engine.gateways.answers import MOST, inert
from engine.knowledge.category_files import HIDDEN, plain
from engine.knowledge.entries import scan_entries
from engine.knowledge.item import ITEM_CHARACTERS, Category, Item, Origin
from engine.knowledge.plan import plan
from engine.knowledge.proposed import BY_AGENT, WHY, why_held
from engine.knowledge.review import pending_items
from engine.knowledge.tool import is_readable
from engine.provenance.spoken import voices_of
from engine.redaction.detect import masked, redact
from engine.rules.rulebook import most_told
from engine.search.results import Category as Kind
from engine.store.commit_message import commit_message
from engine.store.paths import category_of, is_private, is_shared, shown, slugify
from engine.store.zone import local_day
from engine.transcripts.turn import Text, Turn

if TYPE_CHECKING:
    from engine.engine import Engine

MOST_WAITING = 100
"""Proposals of agents that may wait at once: a loop must not bury what a person has to read."""

_FILE_BYTES = 16 * 1024 * 1024
_NEAREST = 8
_RETRIEVED = 10
_CATEGORIES: dict[str, Category] = {
    "fact": "facts", "decision": "decisions", "task": "tasks_open", "question": "questions",
}  # fmt: skip
_NOT_THERE = "there is no such file that may be shown; search names places"

_Said = Annotated[str, Field(max_length=8_000, description="The message or task, in words.")]
_Skip = Annotated[int, Field(ge=0, description="Characters to pass over: the rest of a text that was cut.")]
Statement = Annotated[str, Field(min_length=1, max_length=ITEM_CHARACTERS, description="One statement.")]
StatementKind = Literal["fact", "decision", "task", "question"]


class Memory:
    """Answers agents. Safe to use from several threads.

    Methods raise ``AutopoiesisError`` and ``OSError`` for what failed, and answer emptily for what is not
    there. Agents read their docstrings.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def recall(
        self,
        question: _Said,
        budget: Annotated[int, Field(ge=200, le=4_000, description="Tokens of the answer.")] = 1_500,
    ) -> answers.Recalled:
        """Brings what the memory holds for a question or task, ready to use: the densest excerpts that fit
        the budget, with their sources, and the playbooks that apply. Ask it first; search for single places.
        """
        trace, told, note = self._trace(question), frozenset[tuple[str, str]](), ""
        self._engine.catch_up_index()
        while True:
            compiled = self._engine.prompts.compile(question, trace, budget=budget, part="asked", told=told)
            text = self._text(compiled)
            hidden = {(each.source, "") for each in compiled.sections if not self._may(each.source)} - told
            if len(text) > MOST:
                note = "cut to what agents take at once; search finds more"
                budget = budget * 9 * MOST // (10 * len(text))
            elif not hidden:
                break
            told |= hidden
        sources: dict[str, dict[str, None]] = {}
        for each in compiled.sections:
            if each.layer == _RETRIEVED:
                sources.setdefault(each.source, {})[each.lines] = None
        return answers.Recalled(
            text=text,
            tokens=compiled.tokens,
            sources=[f"{path}:{','.join(lines)}" for path, lines in sources.items()],
            note=note if text else "nothing has enough to do with it; search finds single words",
        )

    def search(
        self,
        query: Annotated[str, Field(max_length=2_000, description="Words or a question, meant literally.")],
        limit: Annotated[int, Field(ge=1, le=20)] = 8,
        kind: Annotated[Kind | None, Field(description="Only files of this kind.")] = None,
    ) -> answers.Rows[answers.Hit]:
        """Finds places in everything remembered: past sessions, journals, people, projects, facts, decisions.
        One line each; expand a place to see what stands around it.
        """
        self._engine.catch_up_index()
        near = (
            answers.Hit(
                place=f"{found.path}:{found.start_line}-{found.end_line}",
                kind=found.category,
                day=found.date,
                speaker=found.speaker or found.heading,
                score=found.score,
                snippet=found.snippet,
                whose=_whose(found.path),
            )
            for found in self._engine.search(query, category=kind, limit=2 * limit)
            if (found.lexical_rank or (found.relevance or 1.0) >= FLOOR) and self._file(found.path)
        )
        hits = list(islice(near, limit))
        without = self._engine.index.without_vectors
        note = f"searched by words alone: {without}" if without else ""
        return answers.Rows[answers.Hit].of(hits, "more: ask for fewer", note if hits else "nothing found")

    def expand(
        self,
        place: Annotated[str, Field(max_length=4_500, description="path:lines, such as a/b.md:12-20.")],
        around: Annotated[int, Field(ge=0, le=60, description="Lines before and after.")] = 6,
    ) -> answers.Passage:
        """Shows the lines of a place that search or recall has named, and some around them."""
        path, _, lines = place.rpartition(":")
        try:
            spans = parse_spans(lines)
        except ValueError:
            path, spans = place, ((1, 1),)
        return self._passage(path, max(1, spans[0][0] - around), spans[-1][1] + around, 6_000)

    def read(
        self,
        path: Annotated[str, Field(max_length=4_096, description="Relative to the workspace.")],
        line: Annotated[int, Field(ge=1, description="Where to begin.")] = 1,
        characters: Annotated[int, Field(ge=100, le=MOST)] = 4_000,
        skip: _Skip = 0,
    ) -> answers.Passage:
        """Reads on in a file that search, recall or knowledge has named. Private files are never shown."""
        return self._passage(path, line, None, characters, skip)

    def knowledge(self) -> answers.Rows[answers.CatalogEntry]:
        """Lists the knowledge entries (whole subjects) and the skills (reusable procedures), as the files are
        now. Read the file at the location of one that applies.
        """
        scan = scan_entries(self._engine.files)
        found = [each for each in scan.entries if not each.parent and self._may(each.location)]
        rows = [*map(answers.CatalogEntry.model_validate, found)]
        return answers.Rows[answers.CatalogEntry].of(rows, "more: search finds them")

    def rules(
        self,
        project: Annotated[str, Field(max_length=200, description="Only what holds in it.")] = "",
    ) -> answers.Rows[answers.StandingRule]:
        """The person's standing rules, in their own words: how they want agents to work. Keep to them."""
        told = most_told(self._engine.rules.book().rules)
        found = [each for each in told if each.counts and each.project in ("", project or each.project)]
        found.sort(key=lambda rule: rule.state != "in force")
        rows = [*map(answers.StandingRule.model_validate, found)]
        return answers.Rows[answers.StandingRule].of(
            rows, "more: autopoiesis rules", "" if rows else "no rules yet"
        )

    def remember(self, text: Statement, kind: StatementKind, *, agent: str) -> answers.Remembered:
        """Proposes one statement for the memory. It waits until the person accepts it; nothing is written
        into knowledge before. Leave secrets out: they are taken out.
        """
        engine, at = self._engine, self._engine.clock()
        clean, secrets = redact(plain(text))
        name, day = f"{BY_AGENT}{slugify(agent, 40)}", local_day(at, engine.config.days.time_zone)
        said = voices_of([Turn("agent", "", (Text(clean),))])
        item = Item(_CATEGORIES[kind], clean, voice="agent", why=WHY["agent"])
        origin, queue = Origin(name, day.isoformat()), engine.knowledge.review.queue
        note = "what looked like a secret was taken out" if secrets else ""
        decided = plan([item], origin, engine.files, held=lambda each: why_held(each, said))
        for known in decided.known:
            where = f"{known.path}:{known.number}"
            return answers.Remembered(outcome="known already", why=where, text=clean, note=note)
        with engine.files.lock():
            if sum(each.origin.name.startswith(BY_AGENT) for each in queue.waiting()) >= MOST_WAITING:
                what = f"{MOST_WAITING} proposals of agents wait already"
                raise HarvestRefused(what, hint="the person settles them: autopoiesis review list")
            since = at.isoformat(timespec="seconds")
            done = queue.put(pending_items(decided.held, at=since, origin=origin, source="", sha256=""))
        (waiting,) = (each for each in queue.all() if each.id in done.ids)
        outcome: answers.Outcome = "proposed"
        if done.new:
            engine.knowledge.commit(queue.paths, commit_message("memory", f"{name} proposed: {clean}"))
        else:
            outcome = "turned down before" if waiting.verdict == "rejected" else "waits already"
        why = f"{waiting.why}; the person decides: autopoiesis review list"
        return answers.Remembered(outcome=outcome, id=waiting.id, why=why, text=clean, note=note)

    def trace(self, text: _Said) -> answers.Traced:
        """Says which topics (playbooks for a situation) a message would activate, and why."""
        trace = self._trace(text)
        rows = sorted(trace.rows, key=lambda row: not row.active)[: max(_NEAREST, len(trace.active))]
        return answers.Traced(summary=trace.why, rows=[*map(answers.TopicRow.model_validate, rows)])

    def compile(
        self,
        text: _Said,
        full: Annotated[bool, Field(description="The prompt itself in place of its outline.")] = False,
        skip: _Skip = 0,
    ) -> answers.Prompt:
        """Outlines the whole prompt that the memory makes for a message: what stands in it, from where, and
        why. With full, its text.
        """
        self._engine.look_again()
        compiled = self._engine.compile(text, ask=False)
        fixed = tuple(each for each in compiled.sections if each.layer != _RETRIEVED)
        note = f"{len(compiled.sections) - len(fixed)} excerpts are not listed; recall brings them"
        whole = self._text(compiled) if full else inert(outline(replace(compiled, sections=fixed)))
        if full or len(whole) > skip + MOST:
            note = f"goes on: skip={skip + MOST}" if len(whole) > skip + MOST else ""
        part = whole[skip : skip + MOST]
        return answers.Prompt(tokens=compiled.tokens, budget=compiled.budget, text=part, note=note)

    def status(self) -> answers.Status:
        """How the memory stands: what can be searched, what waits for the person, what is wrong."""
        self._engine.look_again()
        self._engine.catch_up_index()
        status, index = self._engine.status(), self._engine.index.status()
        return answers.Status(
            files=index.files,
            index=index.why or index.state,
            topics=status.topics,
            rules=sum(rule.counts for rule in self._engine.rules.book().rules),
            proposals=len(self._engine.knowledge.review.queue.waiting()),
            branch=status.branch,
            uncommitted=status.dirty,
            read_only=status.read_only,
            problems=[str(each) for each in status.problems[:_NEAREST]],
            note=f"{len(status.problems)} problems; all: autopoiesis doctor" if status.problems else "",
        )

    def _trace(self, text: str) -> Trace:
        self._engine.look_again()
        message = Message(text, at=self._engine.clock())
        return self._engine.pipeline.process(message, record=False, ask=False)

    def _text(self, compiled: Compiled) -> str:
        """The text of a prompt without what is private; all in it has been made safe for a prompt."""
        text = compiled.text
        for each in compiled.sections:
            if each.text and not self._may(each.source):
                text = text.replace(each.text, "[private]")
        return HIDDEN.sub("\ufffd", text).rstrip()

    def _may(self, source: str) -> bool:
        """Whether a part of a prompt may be shown; what comes from no file may."""
        return not source or bool(self._place(source))

    def _place(self, path: str) -> str:
        """What a path leads to in the workspace, links followed; empty where that is private or outside."""
        try:
            real = self._engine.workspace.resolve(path)
        except PathRefused:
            return ""
        place = real.relative_to(self._engine.workspace.root).as_posix()
        return "" if is_private(place.casefold()) else place

    def _file(self, path: str) -> str:
        """The place of a file that agents may read, links followed; empty for any other."""
        place = self._place(path)
        is_open = category_of(place) is not None or is_readable(place, scan_entries(self._engine.files))
        return place if is_open and self._engine.workspace.root.joinpath(place).is_file() else ""

    def _passage(self, path: str, first: int, last: int | None, most: int, skip: int = 0) -> answers.Passage:
        place = self._file(path)
        data = self._engine.files.read(place, limit=_FILE_BYTES) if place else b"\0"
        if b"\0" in data:
            return answers.Passage(note=_NOT_THERE)
        lines = masked(data.decode("utf-8", "replace").replace("\r\n", "\n")).removesuffix("\n").split("\n")
        if first > len(lines):
            return answers.Passage(total=len(lines), note="the file ends before this line")
        rest = "\n".join(lines[first - 1 : last])[skip:]
        text, note = rest[:most], ""
        if len(rest) > most:
            text = text.rpartition("\n")[0] or text
            is_whole = len(text) < most
            next_line = first + text.count("\n") + is_whole
            note = f"goes on: read with line={next_line}" + ("" if is_whole else f" skip={skip + most}")
        return answers.Passage(
            place=f"{shown(path)}:{first}-{first + text.count(chr(10))}",
            total=len(lines),
            whose=_whose(place),
            text=inert(text),
            note=note,
        )


def _whose(path: str) -> str:
    return OF_OTHERS if is_shared(path) else ""
