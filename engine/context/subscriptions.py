"""Active topics and the files they subscribe to (P2, layer 9)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from engine.activation.trace import Correction, Trace
from engine.context.budget import Candidate, Cap, Placement, open_fence, within
from engine.context.compiled import OFFER_LINES, LeftOut
from engine.context.delimiters import one_line, outside
from engine.context.request import INJECTED_BEFORE
from engine.context.sources import NO_SUCH_FILE, Loaded, Reader, plain_path
from engine.context.spans import excerpt, uncovered
from engine.store.paths import shown
from engine.topics.model import PRIORITY_ORDER, Topic

_CORRECTIONS = 10
_HINT_CHARACTERS = 400
_TITLE_CHARACTERS = 60
_WHEN_CHARACTERS = 110


def ordered(topics: Iterable[Topic]) -> tuple[Topic, ...]:
    """Distinct topics in the order of budgeting: by priority, then name."""
    unique = {topic.name: topic for topic in topics}
    return tuple(sorted(unique.values(), key=lambda topic: (-PRIORITY_ORDER[topic.priority], topic.name)))


def steering(corrections: Iterable[Correction]) -> list[Candidate]:
    """The hints of output watchers, newest last, as one section after the topics."""
    lines: dict[str, None] = {}
    for correction in corrections:
        hint = one_line(correction.hint or f"see the playbook {correction.topic}", _HINT_CHARACTERS)
        matched = one_line(correction.matched, 80)
        lines[f"- {hint} ({one_line(correction.topic, 80)}: “{matched}”)"] = None
    if not lines:
        return []
    kept = list(lines)[-_CORRECTIONS:]
    text = "\n".join(("Correct this from now on; your last output showed it:", *map(outside, kept)))
    return [
        Candidate(
            label="steering",
            layer=9,
            priority=2,
            slot="topics",
            text=text,
            why="hint of an output watcher" if len(kept) == 1 else f"{len(kept)} hints of output watchers",
            order=(1 << 20,),
        )
    ]


def offers(topics: Iterable[Topic], *, by_name: bool) -> list[Candidate]:
    """A line for each topic that may apply, with how to open it; in all some 60 tokens each.

    ``by_name``: whether the agent may have our tool ``playbook``, besides one that reads files.
    """
    found = []
    for number, topic in enumerate(topics):
        tool = f' or call playbook("{topic.name}")' if by_name else ""
        text = f"A playbook may apply: {_named(topic)}. If so, read {topic.path}{tool}"
        found.append(
            Candidate(
                label=f"offer:{topic.name}",
                layer=9,
                priority=2,
                slot="topics",
                text=outside(text),
                why="it may apply; the agent decides",
                source=topic.path,
                lines=OFFER_LINES,
                order=((1 << 20) + 1, number),
            )
        )
    return found


def _named(topic: Topic) -> str:
    """The title of a topic and when it applies, in one line."""
    when = one_line(topic.description, _WHEN_CHARACTERS)
    return f"{one_line(topic.title or topic.name, _TITLE_CHARACTERS)}{when and f' ({when})'}"


class TopicSections:
    """The active topics of one compile with their subscriptions.

    All instructions get room before any subscription: a playbook is worth more than another's appendix.

    Args:
        trace: Explains the activation, if there was one.
        main_session: Whether MEMORY.md may be included.
    """

    def __init__(
        self, topics: tuple[Topic, ...], reader: Reader, trace: Trace | None, *, main_session: bool
    ) -> None:
        self._topics = topics
        self._reader = reader
        self._main_session = main_session
        self._instructions = [_instructions(topic, number, trace) for number, topic in enumerate(topics)]

    def demand(self, placement: Placement, caps: Sequence[Cap]) -> int:
        """Tokens that all topics and subscriptions would use, within the caps."""
        tokens = 0
        size = 0
        seen = set(placement.included)
        for topic, instructions in zip(self._topics, self._instructions, strict=True):
            wanted = [instructions] if instructions.text else []
            for path in map(plain_path, topic.subscriptions):
                if path not in seen:
                    loaded, _ = self._reader.usable(path, main_session=self._main_session)
                    wanted += [_subscription(topic, path, loaded, (0,))] if loaded is not None else []
                seen.add(path)
            bytes_here = sum(len(candidate.text.encode("utf-8")) for candidate in wanted)
            tokens_here = sum(placement.piece(candidate).tokens for candidate in wanted)
            allowed = bytes_here if topic.max_context_kb is None else int(topic.max_context_kb * 1024)
            if bytes_here > allowed:
                tokens_here = tokens_here * allowed // bytes_here
            tokens += tokens_here
            size += min(bytes_here, allowed)
        return within(caps, tokens, size)

    def place(self, placement: Placement, room: int, caps: Sequence[Cap]) -> int:
        """Places instructions and subscriptions in order; returns the tokens used."""
        spent = 0
        charged: list[tuple[Cap, ...]] = []
        for topic, candidate in zip(self._topics, self._instructions, strict=True):
            own = topic.max_context_kb
            limit = () if own is None else (Cap.of(f"max_context_kb of {topic.name}", own),)
            charged.append((*caps, *limit))
            if candidate.text:
                spent += placement.place(candidate, room - spent, charged[-1])
        for number, topic in enumerate(self._topics):
            for index, path in enumerate(dict.fromkeys(map(plain_path, topic.subscriptions))):
                for subscribed in self._subscribed(placement, topic, path, (number, 1 + index)):
                    spent += placement.place(subscribed, room - spent, charged[number])
        return spent

    def _subscribed(
        self, placement: Placement, topic: Topic, path: str, order: tuple[int, ...]
    ) -> list[Candidate]:
        """A subscribed file, or the parts of it that are not in the prompt yet."""
        present = placement.included.get(path)
        loaded, reason = self._reader.usable(path, main_session=self._main_session)
        rest: list[Candidate] = []
        in_parts = all(
            label.startswith("preset:") or label == INJECTED_BEFORE for label, _, _ in present or ()
        )
        if present and loaded is not None and in_parts:
            rest = list(_rest(topic, path, loaded, present, order))
        if rest:
            return rest
        if present:
            reason = f"already in the prompt as {present[0][0]}"
        elif reason == NO_SUCH_FILE:
            self._reader.problems.append(
                f"{topic.path}: subscribes to {shown(path)}, which does not exist; fix the path"
            )
        if loaded is not None and not reason:
            return [_subscription(topic, path, loaded, order)]
        tokens = placement.count(loaded.text) if loaded is not None else 0
        placement.left_out.append(
            LeftOut(
                label=f"subscription:{shown(path)}",
                priority=2,
                slot="topics",
                source=path,
                tokens=tokens,
                reason=f"{reason} (subscribed by {topic.name})",
            )
        )
        return []


def _instructions(topic: Topic, number: int, trace: Trace | None) -> Candidate:
    row = trace.row(topic.name) if trace is not None else None
    parts = [topic.instructions.strip()]
    if topic.context_notes.strip():
        parts.append(f"## Context Notes\n\n{topic.context_notes.strip()}")
    if any(parts):  # with its situation, so that the agent sees where it does not apply
        parts.insert(0, f"Playbook: {_named(topic)}")
    return Candidate(
        label=f"topic:{topic.name}",
        layer=9,
        priority=2,
        slot="topics",
        text=outside("\n\n".join(part for part in parts if part)),
        why=row.why if row is not None and row.why else "the topic is active",
        source=topic.path,
        score=row.score if row is not None else None,
        order=(number, 0),
    )


def _rest(
    topic: Topic,
    path: str,
    loaded: Loaded,
    present: Iterable[tuple[str, int, int]],
    order: tuple[int, ...],
) -> Iterator[Candidate]:
    """The parts of a file that are not in the prompt yet."""
    lines = loaded.text.split("\n")
    whole = loaded.first_line, loaded.first_line + len(lines) - 1
    for span in uncovered(whole, [(first, last) for _, first, last in present]):
        found = excerpt(lines, loaded.first_line, span)
        if found is not None:
            (first, last), text = found
            part = _subscription(topic, path, loaded, (*order, first))
            yield replace(part, text=f"{text}{open_fence(text)}", first_line=first, lines=f"{first}-{last}")


def _subscription(topic: Topic, path: str, loaded: Loaded, order: tuple[int, ...]) -> Candidate:
    return Candidate(
        label=f"subscription:{path}",
        layer=9,
        priority=2,
        slot="topics",
        text=loaded.text,
        why=f"subscribed by the topic {topic.name}",
        source=path,
        order=order,
        first_line=loaded.first_line,
    )
