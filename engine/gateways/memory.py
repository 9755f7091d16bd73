"""The tools that agents use to query the memory (spec 2.9).

The caller is usually the user's own agent: started by one of their programs over standard input, or holding a
token over HTTP that only they can read. It could open the files itself, so it sees what a prompt of the main
session holds, including MEMORY.md. Two things are still withheld, because answers are passed on to a service
without review: private folders and possible secrets. From other people's agents more is hidden. Calls cost
nothing: the gate is not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Literal, Protocol

from pydantic import Field

from engine.activation.trace import Message, Trace
from engine.context.compiled import Compiled
from engine.context.delimiters import OF_OTHERS, visible
from engine.context.relevance import FLOOR
from engine.context.spans import parse_spans
from engine.conversations.turns import Before
from engine.errors import HarvestRefused, PathRefused, TopicError, TranscriptError
from engine.gateways import answers
from engine.gateways.answers import MAX_CHARACTERS, inert
from engine.knowledge.category_files import plain
from engine.knowledge.entries import scan_entries
from engine.knowledge.item import ITEM_CHARACTERS, Category, Item, Origin
from engine.knowledge.knowledge_entries import is_readable
from engine.knowledge.plan import plan
from engine.knowledge.proposed import BY_AGENT, WHY, why_held
from engine.knowledge.review import pending_items
from engine.playbooks.draft import drafted
from engine.provenance.spoken import voices_of
from engine.redaction.detect import masked, redact
from engine.rules.agent_files import Stated, agent_files_in
from engine.rules.rulebook import most_told
from engine.search.results import Category as Kind
from engine.search.sources import all_sources
from engine.store.change import commit_message
from engine.store.documents import parse
from engine.store.paths import category_of, is_private, is_shared, shown, slugify
from engine.store.zone import local_day
from engine.transcripts.places import head_fields, read_head
from engine.transcripts.turn import Text, Turn

if TYPE_CHECKING:
    from engine.engine import Engine

MAX_PENDING = 100
"""Pending proposals of one agent, or of one person's agents: a loop must not bury what the user has to
read, nor keep others from proposing."""

_FILE_BYTES = 16 * 1024 * 1024
_FOR_OTHERS = 200
"""Results of a search of which some are withheld."""
_RETRIEVED = 10
_CATEGORIES: dict[str, Category] = {
    "fact": "facts", "decision": "decisions", "task": "tasks_open", "question": "questions",
}  # fmt: skip
_NOT_FOUND = "no such readable file; use search to find places"

_Query = Annotated[str, Field(max_length=8_000, description="The message or task, in words.")]
Statement = Annotated[str, Field(min_length=1, max_length=ITEM_CHARACTERS, description="One statement.")]
Title = Annotated[str, Field(min_length=1, max_length=80, description="A few words.")]
When = Annotated[str, Field(min_length=1, max_length=400, description="When it applies, in one sentence.")]
Steps = Annotated[str, Field(min_length=1, max_length=20_000, description="What to do then, as Markdown.")]
Examples = Annotated[
    list[Annotated[str, Field(max_length=300)]],
    Field(
        min_length=5,
        max_length=20,
        description="About fifteen messages with which the user might ask for it, as people type: short and"
        " long, careless too, most without the words of the title. They teach the engine when it applies.",
    ),
]
StatementKind = Literal["fact", "decision", "task", "question"]


Hides = Callable[[str], bool]
"""Whether a workspace-relative path is withheld."""


def hidden_from_others(path: str) -> bool:
    """What nobody but the owner sees: who they are, and MEMORY.md."""
    return category_of(path) in ("identity", "memory")


def hidden_from_readers(path: str) -> bool:
    """What those do not see either who may read knowledge only: what was said, and when."""
    return hidden_from_others(path) or category_of(path) in ("conversation", "journal", "archive")


class Held(Protocol):
    """What is still in an agent's context."""

    @property
    def since(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def sections(self) -> frozenset[tuple[str, str]]: ...


class Sessions(Protocol):
    """The sessions of agents, as hooks see them."""

    def running(self, project: Sequence[str] = ()) -> str:
        """The id of the only session of a project at work; empty if there is none, or more than one."""
        ...

    def known(self, session_id: str) -> Held:
        """What was injected into a session."""
        ...


class Memory:
    """The tools. Safe to use from several threads.

    Methods raise ``AutopoiesisError`` and ``OSError`` on failure, and return empty answers if nothing is
    found. Their docstrings are the tools' descriptions.

    Args:
        sessions: The agents' sessions, if they are known.
        folder: The working folder of the agent; empty if it is unknown.
        hides: What is withheld from agents of others; ``None`` for the owner's.
    """

    def __init__(
        self,
        engine: Engine,
        sessions: Sessions | None = None,
        folder: str = "",
        hides: Hides | None = None,
    ) -> None:
        self._engine = engine
        self._sessions = sessions
        self._folder = folder
        self._hides = hides

    def recall(
        self,
        question: _Query,
        budget: Annotated[int, Field(ge=200, le=4_000, description="Most tokens of the answer.")] = 1_500,
        session: Annotated[str, Field(max_length=200, description="Id of your session, if known.")] = "",
    ) -> answers.Recalled:
        """Returns what the memory holds for a question or task: whole passages with speaker, day and session,
        only as many as are relevant, and the playbooks that apply, without what this session was told before.
        Call it first; use search for single places.
        """
        trace, note = self._trace(question), ""
        self._engine.catch_up_index()
        before, excluded, line = self._before(question, session)
        if self._hides is not None:
            every = all_sources(self._engine.workspace)
            excluded |= {(each.path, "") for each in every if self._hides(each.path)}
        rules = [rule.text for rule in self._engine.rules.book().rules if rule.counts]
        stated = Stated((*rules, *agent_files_in(self._folder_of(before))))
        while True:
            compiled = self._engine.prompts.compile(
                question,
                trace,
                before,
                budget=budget,
                part="asked",
                project=self._engine.projects.names(self._folder) if self._folder else (),
                injected=excluded,
                held_from=line or None,
                stated=stated,
            )
            text = self._text(compiled)
            hidden = {(each.source, "") for each in compiled.sections if not self._is_allowed(each.source)}
            hidden -= excluded
            if len(text) > MAX_CHARACTERS:
                note = "cut to the size limit; search finds more"
                budget = budget * 9 * MAX_CHARACTERS // (10 * len(text))
            elif not hidden:
                break
            excluded |= hidden
        sources: dict[str, dict[str, None]] = {}
        for each in compiled.sections:
            if each.layer == _RETRIEVED and each.source:
                sources.setdefault(each.source, {})[each.lines] = None
        return answers.Recalled(
            text=text,
            tokens=compiled.tokens,
            sources=[f"{path}:{','.join(lines)}" for path, lines in sources.items()],
            note=note if text else "nothing relevant found; search also matches single words",
        )

    def search(
        self,
        query: Annotated[str, Field(max_length=2_000, description="Words or a question; no operators.")],
        limit: Annotated[int, Field(ge=1, le=20)] = 8,
        kind: Annotated[Kind | None, Field(description="Only files of this kind.")] = None,
    ) -> answers.Rows[answers.Hit]:
        """Searches all of memory: past sessions, journals, people, projects, facts, decisions. Returns one
        line per place; use expand to see its context.
        """
        self._engine.catch_up_index()
        looked_at = 2 * limit if self._hides is None else _FOR_OTHERS
        relevant = (
            answers.Hit(
                place=f"{found.path}:{found.start_line}-{found.end_line}",
                kind=found.category,
                day=found.date,
                speaker=found.speaker or found.heading,
                score=found.score,
                snippet=found.snippet,
                copies=found.copies,
                whose=_whose(found.path),
            )
            for found in self._engine.search(query, category=kind, limit=looked_at)
            if (found.lexical_rank or (found.relevance or 1.0) >= FLOOR) and self._readable(found.path)
        )
        hits = list(islice(relevant, limit))
        without = self._engine.index.without_vectors
        note = f"searched by words only: {without}" if without else ""
        return answers.Rows[answers.Hit].of(hits, "more: lower the limit", note if hits else "no results")

    def expand(
        self,
        place: Annotated[str, Field(max_length=4_500, description="path:lines, such as a/b.md:12-20.")],
        around: Annotated[int, Field(ge=0, le=60, description="Lines before and after.")] = 6,
    ) -> answers.Passage:
        """Shows the lines of a place returned by search or recall, with some context."""
        path, _, lines = place.rpartition(":")
        try:
            spans = parse_spans(lines)
        except ValueError:
            path, spans = place, ((1, 1),)
        return self._passage(path, max(1, spans[0][0] - around), spans[-1][1] + around, 6_000)

    def read(
        self,
        path: Annotated[str, Field(max_length=4_096, description="Relative to the workspace.")],
        line: Annotated[int, Field(ge=1, description="The first line.")] = 1,
        characters: Annotated[int, Field(ge=100, le=MAX_CHARACTERS)] = 4_000,
        skip: Annotated[
            int, Field(ge=0, description="Characters to skip, to continue a text that was cut.")
        ] = 0,
    ) -> answers.Passage:
        """Reads a file returned by search, recall or knowledge. Private files are never shown."""
        return self._passage(path, line, None, characters, skip)

    def knowledge(self) -> answers.Rows[answers.CatalogEntry]:
        """Lists the knowledge entries (whole subjects) and skills (reusable procedures). Read the file at the
        location of one that applies.
        """
        scan = scan_entries(self._engine.files)
        found = [each for each in scan.entries if not each.parent and self._is_allowed(each.location)]
        rows = [*map(answers.CatalogEntry.model_validate, found)]
        return answers.Rows[answers.CatalogEntry].of(rows, "more: search finds them")

    def playbook(
        self,
        name: Annotated[str, Field(min_length=1, max_length=200, description="Its name, as it was offered.")],
    ) -> answers.Passage:
        """Opens a playbook that was offered because it may apply: what to do in its situation. Follow it if
        the situation is the one at hand.
        """
        topic = self._engine.library.get(name)
        if topic is None:
            raise TopicError(f"there is no playbook {name}", hint="give the name as it was offered")
        body = parse(self._engine.files.read(topic.path, limit=_FILE_BYTES), topic.path)
        blank = len(body.body) - len(body.body.lstrip("\n"))
        return self._passage(topic.path, body.body_line + blank, None, MAX_CHARACTERS)

    def rules(
        self,
        project: Annotated[
            str, Field(max_length=1_000, description="Its folder: only rules that apply there.")
        ] = "",
    ) -> answers.Rows[answers.StandingRule]:
        """Lists the user's standing rules, in their own words: how they want agents to work. Follow them."""
        known = most_told(self._engine.rules.book().rules)
        projects = self._engine.projects
        names = projects.names(project) or projects.named(project) if project else ()
        found = [each for each in known if each.counts and (not names or each.project in ("", *names))]
        rows = [*map(answers.StandingRule.model_validate, found)]
        return answers.Rows[answers.StandingRule].of(
            rows, "more: autopoiesis rules", "" if rows else "no rules yet"
        )

    def forget_rule(
        self,
        rule: Annotated[
            str, Field(min_length=1, max_length=400, description="Its id or its words, as in rules.")
        ],
    ) -> answers.ForgottenRule:
        """Turns down one of the user's standing rules. Only if the user has just asked for that in their own
        words; otherwise it tells how the user can do it.
        """
        engine = self._engine
        found = engine.rules.meant(rule)
        if found is None:
            return answers.ForgottenRule(
                outcome="not found", why="no rule in force is clearly meant; see rules"
            )
        if not engine.rules.is_requested():
            why = f'the user decides: autopoiesis rules drop {found.id}, or "forget the rule: …" in a prompt'
            return answers.ForgottenRule(outcome="waits for the user", id=found.id, why=why, text=found.text)
        engine.rules.turn_down([found.id])
        why = f"to take it back: autopoiesis rules accept {found.id}"
        return answers.ForgottenRule(outcome="turned down", id=found.id, why=why, text=found.text)

    def remember(
        self, text: Statement, kind: StatementKind, *, agent: str, person: str = ""
    ) -> answers.Remembered:
        """Proposes one statement for the memory. It is written to knowledge only once the user accepts it.
        Do not include secrets; they are removed.
        """
        engine, at = self._engine, self._engine.clock()
        clean, secrets = redact(plain(text))
        if not any(map(str.isalnum, clean)):
            raise HarvestRefused("the text says nothing", hint="pass one statement")
        name, day = _origin(agent, person), local_day(at, engine.config.days.time_zone)
        voices = voices_of([Turn("agent", "", (Text(clean),))])
        item = Item(_CATEGORIES[kind], clean, voice="agent", why=WHY["agent"])
        origin, queue = Origin(name, day.isoformat()), engine.knowledge.review.queue
        note = "a possible secret was removed" if secrets else ""
        decided = plan([item], origin, engine.files, held=lambda each: why_held(each, voices))
        for known in decided.known:
            where = f"{known.path}:{known.number}"
            return answers.Remembered(outcome="known already", why=where, text=clean, note=note)
        with engine.files.lock():
            names = [each.origin.name for each in queue.waiting()]
            whose = _origin("", person) if person else name
            of_agents = sum(each.startswith(f"{whose}-") for each in names) if person else 0
            if names.count(whose) + of_agents >= MAX_PENDING:
                what = f"{MAX_PENDING} proposals of {whose} are already pending"
                raise HarvestRefused(what, hint="the user reviews them: autopoiesis review list")
            since = at.isoformat(timespec="seconds")
            done = queue.put(pending_items(decided.held, at=since, origin=origin, source="", sha256=""))
        (pending,) = (each for each in queue.all() if each.id in done.ids)
        outcome: answers.Outcome = "proposed"
        if done.new:
            engine.knowledge.commit(queue.paths, commit_message("memory", f"{name} proposed: {clean}"))
        else:
            outcome = "turned down before" if pending.verdict == "rejected" else "waits already"
        why = f"{pending.why}; the user decides: autopoiesis review list"
        return answers.Remembered(outcome=outcome, id=pending.id, why=why, text=clean, note=note)

    def propose_playbook(
        self,
        title: Title,
        when: When,
        instructions: Steps,
        examples: Examples,
        *,
        agent: str,
        person: str = "",
    ) -> answers.ProposedPlaybook:
        """Proposes a playbook: what to do whenever a situation comes up again. Propose one if the user asks
        for it, or has explained the same procedure more than once. It applies only once the user accepts it.
        """
        clean = [redact(text) for text in (title, when, instructions, *examples)]
        title, when, instructions, *ways = (text for text, _ in clean)
        draft = drafted(title, when, instructions, ways)
        made = self._engine.playbooks.propose(draft, _origin(agent, person))
        return answers.ProposedPlaybook(
            name=made.name,
            why=f"the user decides: autopoiesis topics suggest --write {made.name}",
            examples=list(draft.examples),
            note="a possible secret was removed" if any(secrets for _, secrets in clean) else "",
        )

    def _before(self, question: str, session: str) -> tuple[Before, frozenset[tuple[str, str]], int]:
        """What was said before in the caller's session, what it was told, and the first line it still has."""
        engine, sessions = self._engine, self._sessions
        if self._hides is not None:
            session = ""  # it may be another person's
        if not session and sessions is not None:
            session = sessions.running(engine.projects.names(self._folder) if self._folder else ())
        before = Before(session_id=session)
        with suppress(TranscriptError):  # nothing is captured yet
            before = engine.turns.next_message(question, session, engine.clock())[1]
        before = replace(before, steering=(), corrections=())
        if sessions is None or not session:
            return before, frozenset(), 0
        held = sessions.known(session)
        return before, held.sections | engine.injections.seen(session, held.since), held.line

    def _folder_of(self, before: Before) -> str:
        """The working folder of the caller."""
        if self._folder or not before.path:
            return self._folder
        return head_fields(read_head(self._engine.workspace.root / before.path), ("cwd",))["cwd"]

    def _trace(self, text: str) -> Trace:
        self._engine.look_again()
        message = Message(text, at=self._engine.clock())
        return self._engine.pipeline.process(message, record=False, ask=False)

    def _text(self, compiled: Compiled) -> str:
        """A prompt's text without private sections; the rest is already safe for a prompt."""
        text = compiled.text
        for each in compiled.sections:
            if each.text and not self._is_allowed(each.source):
                text = text.replace(each.text, "[private]")
        return visible(text).rstrip()

    def _is_allowed(self, source: str) -> bool:
        """Whether a section of a prompt may be shown; one without a source may."""
        return not source or bool(self._resolved(source))

    def _resolved(self, path: str) -> str:
        """A path with links resolved; empty if it is private or outside the workspace."""
        try:
            real = self._engine.workspace.resolve(path)
        except PathRefused:
            return ""
        place = real.relative_to(self._engine.workspace.root).as_posix()
        is_hidden = is_private(place.casefold()) or (self._hides is not None and self._hides(place))
        return "" if is_hidden else place

    def _readable(self, path: str) -> str:
        """The resolved path of a file that agents may read; empty for any other."""
        place = self._resolved(path)
        is_open = category_of(place) is not None or is_readable(place, scan_entries(self._engine.files))
        return place if is_open and self._engine.workspace.root.joinpath(place).is_file() else ""

    def _passage(self, path: str, first: int, last: int | None, limit: int, skip: int = 0) -> answers.Passage:
        place = self._readable(path)
        data = self._engine.files.read(place, limit=_FILE_BYTES) if place else b"\0"
        if b"\0" in data:
            return answers.Passage(note=_NOT_FOUND)
        lines = masked(data.decode("utf-8", "replace").replace("\r\n", "\n")).removesuffix("\n").split("\n")
        if first > len(lines):
            return answers.Passage(total=len(lines), note="past the end of the file")
        rest = "\n".join(lines[first - 1 : last])[skip:]
        text, note = rest[:limit], ""
        if len(rest) > limit:
            whole, _, cut = text.rpartition("\n")
            text = whole or text
            line = first + text.count("\n")
            skipped = len(cut) + (skip if line == first else 0)
            note = f"continue with line={line + 1}" if whole else f"continue with line={line} skip={skipped}"
        return answers.Passage(
            place=f"{shown(path)}:{first}-{first + text.count(chr(10))}",
            total=len(lines),
            whose=_whose(place),
            text=inert(text),
            note=note,
        )


def _origin(agent: str, person: str) -> str:
    """The name under which proposals wait; that of a person begins the names of their agents."""
    return f"{BY_AGENT}{slugify(f'{person} {agent}', 40)}"


def _whose(path: str) -> str:
    return OF_OTHERS if is_shared(path) else ""
