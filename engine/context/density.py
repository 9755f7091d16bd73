"""How much of a prompt is there because of the message, and how much is in every prompt."""

from __future__ import annotations

from collections.abc import Iterable

from engine.context.budget import Piece
from engine.context.compiled import Density, Section

_ALWAYS_LAYER = 8
"""The last layer that does not depend on the message."""
_HISTORY_LAYER = 11


def density_of(pieces: Iterable[Piece]) -> Density:
    """The density of a prompt of these pieces."""
    for_message = always = conversation = 0
    for piece in pieces:
        if is_conversation(piece.section):
            conversation += piece.tokens
        elif is_for_message(piece.section):
            for_message += piece.tokens
        else:
            always += piece.tokens
    return Density(for_message, always, conversation)


def is_conversation(section: Section) -> bool:
    """Whether a section is the message or an earlier turn."""
    return section.slot == "message" or section.layer == _HISTORY_LAYER


def is_for_message(section: Section) -> bool:
    """Whether a section is there because it answers the message. Presets are switched on by hand."""
    return section.layer > _ALWAYS_LAYER and section.slot != "preset" and not is_conversation(section)
