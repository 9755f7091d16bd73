"""A playbook that is not written yet, and its file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from engine.errors import Problem, TopicError
from engine.startup.lazy import expression
from engine.startup.records import dataclass
from engine.store import documents
from engine.store.markdown import code_lines
from engine.store.paths import slugify
from engine.topics.loader import load_topic
from engine.topics.model import Activation

WANTED = 15
"""Written ways to ask for a playbook; five to ten of them give most of what they give."""
MOST_EXAMPLES = 40

_EXAMPLE_CHARACTERS = 300
_TITLE_CHARACTERS = 80
_HEADING = expression(r" {0,3}(#{1,6})(?=\s|$)")
_MARK = expression(r"^(?:[-*+•>]|\(?\d{1,3}[.)])\s+")
_QUOTES = (('"', '"'), ("“", "”"), ("„", "“"), ("'", "'"), ("`", "`"))


@dataclass(frozen=True, slots=True)
class Draft:
    """A playbook to be written to ``topics/``."""

    title: str
    when: str  # when it applies, one line
    instructions: str = ""  # Markdown
    examples: tuple[str, ...] = ()  # ways to ask for it
    globs: tuple[str, ...] = ()  # files that activate it
    activation: Activation = "gated"
    origin: str = ""  # the file it was imported from

    @property
    def name(self) -> str:
        """The topic's name."""
        return slugify(self.title)


EMPTY = Draft(
    "Title",
    "When it applies, in one sentence.",
    "Write here what to do, step by step.",
    ("A way to ask for it",),
)
"""The form to fill in."""


def drafted(
    title: str, when: str, instructions: str = "", examples: Iterable[str] = (), *, origin: str = ""
) -> Draft:
    """A draft from what somebody typed or an agent passed, in its plain form.

    Raises:
        TopicError: It has no title, or does not say when it applies.
    """
    title, when = " ".join(title.split()).lstrip("# "), " ".join(when.split())
    if not any(map(str.isalnum, title)):
        raise TopicError("a playbook needs a title")
    if len(title) > _TITLE_CHARACTERS:
        raise TopicError(f"the title is longer than {_TITLE_CHARACTERS} characters")
    if not any(map(str.isalnum, when)):
        raise TopicError(
            "a playbook says when it applies", hint='for example --when "A release is prepared."'
        )
    return Draft(title, when, instructions.strip(), examples_in(examples), origin=origin)


def examples_in(lines: Iterable[str]) -> tuple[str, ...]:
    """Ways to ask in lines of text: without list marks, numbers and quotes, each once."""
    found: dict[str, str] = {}
    for line in lines:
        text = " ".join(_MARK.sub("", line.strip()).split())
        for opening, closing in _QUOTES:
            if len(text) > 1 and text.startswith(opening) and text.endswith(closing):
                text = text[1:-1].strip()
        if any(map(str.isalnum, text)) and text.isprintable():
            found.setdefault(text.casefold(), text[:_EXAMPLE_CHARACTERS])
    return tuple(found.values())[:MOST_EXAMPLES]


def text_of(draft: Draft, **more: str) -> bytes:
    """The file of a draft; ``more`` are further fields of its header."""
    from engine.store.yamlwrite import lines  # noqa: PLC0415 — only for writing

    header: dict[str, object] = {"type": "topic", "description": draft.when}
    if draft.globs:
        header["triggers"] = [{"type": "glob", "match": glob} for glob in draft.globs]
    header |= {"activation": draft.activation, "priority": "medium", "examples": list(draft.examples), **more}
    if not draft.examples:
        del header["examples"]
    text = "".join(f"{line}\n" for key, value in header.items() for line in lines(key, value))
    body = f"# {draft.title}\n\n## Instructions\n\n{_below(draft.instructions)}".rstrip()
    return f"---\n{text}---\n\n{body}\n".encode("utf-8", "replace")


def stamped(draft: Draft) -> bytes:
    """The file of an imported draft, with its origin and a digest by which a later edit is seen."""
    return text_of(draft, imported_from=draft.origin, imported=digest_of(draft))


def digest_of(draft: Draft) -> str:
    return hashlib.sha256(text_of(draft)).hexdigest()[:16]


def read_draft(data: bytes) -> Draft:
    """The draft in a file in which a person has filled in the form.

    Raises:
        TopicError: The file is not a topic, has no title or does not say when it applies.
    """
    topic, problems = load_topic(documents.parse(data, "topics/draft.md"))
    if topic is None:
        raise TopicError(f"the draft is not a topic: {problems[0] if problems else 'it is empty'}")
    title = "" if topic.title in ("draft", EMPTY.title) else topic.title
    when = "" if topic.description in (EMPTY.instructions, EMPTY.when) else topic.description
    instructions = "" if topic.instructions == EMPTY.instructions else topic.instructions
    found = drafted(
        title, when, instructions, [each for each in topic.examples if each not in EMPTY.examples]
    )
    globs = tuple(trigger.match for trigger in topic.triggers if trigger.type == "glob")
    return replace(found, globs=globs, activation=topic.activation)


def problems_of(data: bytes, path: str) -> tuple[Problem, ...]:
    """The problems that the topic would have."""
    return load_topic(documents.parse(data, path))[1]


def _below(body: str) -> str:
    """Markdown with its headings below the third level, so that all of it is instructions."""
    rows = body.strip().split("\n")
    heads = {
        number: heading
        for number, (row, is_code) in enumerate(zip(rows, code_lines(rows)[0], strict=True))
        if not is_code and (heading := _HEADING.match(row))
    }
    more = max(0, 3 - min((len(heading[1]) for heading in heads.values()), default=3))
    for number, heading in heads.items():
        level = min(6, len(heading[1]) + more)
        rows[number] = f"{'#' * level}{rows[number][heading.end() :]}"
    return "\n".join(rows)
