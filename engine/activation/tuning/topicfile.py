"""Cuts in a topic's file: every other byte stays, and what is written is read first (spec 2.3)."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from engine.activation.tuning.own import OwnCuts
from engine.errors import TopicError
from engine.store import documents
from engine.topics.loader import load_topic

if TYPE_CHECKING:
    from engine.topics.model import Topic

_KEYS = ("similarity_threshold", "activation_threshold")


def digest_of(data: bytes) -> str:
    """sha256 of a file's bytes, as ``Topic.digest``."""
    return hashlib.sha256(data).hexdigest()


def header_of(data: bytes, path: str) -> bytes:
    """The bytes of a file up to the end of its header."""
    lines = data.split(b"\n")[: documents.parse(data, path).body_line - 1]
    return b"".join(line + b"\n" for line in lines)


def cuts_in(data: bytes, path: str) -> OwnCuts:
    """The cuts that a topic's file names.

    Raises:
        TopicError: It cannot be read as a topic.
    """
    topic, problems = load_topic(documents.parse(data, path))
    if topic is None:
        why = f": {problems[0].what}" if problems else ""
        raise TopicError(f"cannot be read as a topic{why}", where=path, cure="see: autopoiesis topics check")
    return OwnCuts.of(topic)


def with_cuts(data: bytes, topic: Topic, cuts: OwnCuts) -> bytes:
    """A topic's file with other cuts: comments, order, line ends and everything else stay.

    Raises:
        DocumentError: The header cannot be edited.
        TopicError: The file would still name other cuts, because it names them in more than one place.
    """
    before = cuts_in(data, topic.path)
    wanted = {key: getattr(cuts, key) for key in _KEYS}
    changes = {key: value for key, value in wanted.items() if value != getattr(before, key)}
    new = documents.edit_header(data, changes, topic.path)
    if cuts_in(new, topic.path) != cuts:
        raise TopicError(
            "names its cuts in a place that cannot be edited",
            where=topic.path,
            cure=f"move {' and '.join(changes)} to the left margin of the header",
        )
    return new
