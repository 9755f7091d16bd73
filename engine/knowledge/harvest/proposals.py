"""Proposes knowledge from a conversation without a model, for a person to review.

====================================================  ====================================================
What is found                                         becomes
====================================================  ====================================================
a command that builds, tests or checks and succeeded  a line of its project's page
again and again, or once if the person named it
a line marked by the person or in the agent's last    what its label says
words                                                 (``engine.knowledge.harvest.markers``)
====================================================  ====================================================

How the person wants the agent to work is in the rules (``engine.rules.sentences``) and not proposed again;
what an agent reports to have done is in the recaps (``engine.lifecycle.recaps``). Nothing is written without
a review, so the list must be worth reading.

Successes of a command (``engine.knowledge.commands``) are counted across all conversations of a project
(``engine.knowledge.review``), and it is shown only after a few, unless the person named it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from engine.knowledge.commands import commands_in, kind_of, succeeded
from engine.knowledge.harvest.markers import LESSONS, labelled
from engine.knowledge.harvest.reply import distinct, item_of
from engine.knowledge.item import Item
from engine.knowledge.pages import commands_page
from engine.knowledge.proposed import WHY
from engine.redaction.detect import redact
from engine.startup.lazy import expression
from engine.transcripts.turn import CORRECTION, Turn
from engine.transcripts.typed import lines_of


def to_review(turns: Sequence[Turn], project: str = "") -> tuple[Item, ...]:
    """What a harvest proposes, without duplicates and possible secrets.

    ``turns`` must not contain injected text. ``project`` is the slug of the project the commands belong to.
    """
    dialogue = [turn for turn in turns if turn.is_dialogue and turn.role != "system"]
    spoken = (turn for turn in reversed(dialogue) if turn.role == "agent" and not turn.kind and turn.text)
    closing = next(spoken, None)
    marks = labelled(turn for turn in dialogue if turn.role != "agent" or turn is closing)
    found = [
        *commands_of(dialogue, project),
        *(
            item if item.why else replace(item, why=WHY["lesson" if label in LESSONS else "marked"])
            for label, item in marks
        ),
    ]
    return tuple(item for item in distinct(found) if not redact(f"{item.path} {item.text}")[1])


_CODE = expression(r"`([^`\n]+)`")
MAX_COMMANDS = 4
"""Maximum commands proposed from one conversation."""


def commands_of(turns: Iterable[Turn], project: str = "") -> list[Item]:
    """The commands in a conversation, most frequent first: lines of the project's page of commands, or
    playbooks if ``project`` (a slug) is empty.
    """
    turns = list(turns)
    counts = Counter(command for turn in turns for tool in turn.tools for command in succeeded(tool))
    named = _named(turns)
    found: list[Item] = []
    for command, times in counts.most_common(MAX_COMMANDS):
        try:
            item = item_of("playbooks", kind_of(command), command, "person" if command in named else "agent")
        except ValueError:
            continue
        if project:
            item = replace(
                item, category="pages", path=commands_page(project), subject=f"Commands of {project}"
            )
        found.append(replace(item, why=WHY["named" if command in named else "command"], times=times))
    return found


def _named(turns: Iterable[Turn]) -> frozenset[str]:
    """The commands that the person plainly typed as code."""
    return frozenset(
        command
        for turn in turns
        if turn.role == "user" and turn.kind in ("", CORRECTION)
        for line in lines_of(turn.text)
        if not line.why
        for span in _CODE.findall(line.text)
        for command in commands_in(span)
    )
