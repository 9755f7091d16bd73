"""What the knowledge screen writes; each change says what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.kit.full_screen import committed

if TYPE_CHECKING:
    from engine.knowledge.knowledge import Knowledge


def turn_digest_off(knowledge: Knowledge) -> str:
    """Deletes the digest and commits that."""
    if not knowledge.digest.turn_off():
        return "the digest was off already"
    made = knowledge.commit(knowledge.digest.paths, "memory: digest turned off")
    return f"the digest is off; R makes it anew · {committed(made.revision, made.why)}"


def make_digest_anew(knowledge: Knowledge) -> str:
    """Makes the digest anew, which also turns it on, and commits it."""
    if not knowledge.digest.regenerate(force=True):
        return "the digest says already what the files say"
    made = knowledge.commit(knowledge.digest.paths, "memory: digest made anew")
    view = knowledge.digest.view()
    state = f"{view.size:,} of {view.limit:,} bytes" if view.on else "there is nothing to say yet"
    return f"digest made anew: {state} · {committed(made.revision, made.why)}"


def bind_notes(old: str, new: str, knowledge: Knowledge) -> str:
    """Binds notes to a file and commits that.

    Args:
        old: The path that the notes have.
        new: The file that they belong to, absolute.
    """
    moved = knowledge.notes.rebind(old, new)
    made = knowledge.commit((moved.notes,), f"memory: the notes of {old} belong to {moved.path}")
    return f"{moved.notes}: notes of {moved.path} now · {committed(made.revision, made.why)}"
