"""The state of an import, stored in the header of its transcript.

Text and state reach the disk in one atomic replacement, so no crash can separate them; and a transcript that
is copied, restored or pulled from elsewhere brings its state along.
"""

from __future__ import annotations

import hashlib
from dataclasses import fields
from pathlib import Path
from typing import BinaryIO

from engine.startup.records import dataclass
from engine.transcripts.importers.session import Checkpoint

SOURCE_FIELD = "imported_from"
STATE_FIELD = "import_state"

PROMPTS_FIELD = "prompts_only"
"""Header field of a transcript that has only what the user typed, because nothing else is left."""

READER = 3
"""Current version of the log readers."""

_EDGE = 4096
_COUNTS = tuple(each.name for each in fields(Checkpoint) if each.type == "int")


@dataclass(frozen=True, slots=True)
class ImportState:
    """How far a source was read, and the transcript that resulted."""

    read: int  # bytes of the source
    turns: int  # in the transcript
    odd: int  # lines of the source that could not be read completely
    source: str  # fingerprint of the bytes read
    text: str  # fingerprint of the transcript below its header
    kept: int  # bytes of the transcript below its header that are final
    checkpoint: Checkpoint  # where the next import resumes
    reader: int = 0  # reader version of the import; those before ``READER`` left out some user messages

    def written(self) -> str:
        """Format as one line of ``name=value`` pairs, without zero values.

        Token counts come first and the id of a reply last: an id after the word "tokens", or what follows an
        id that ends like "pw", would look like a secret and keep the transcript from being committed.
        """
        own = {
            key: getattr(self, key) for key in ("read", "turns", "odd", "source", "text", "kept", "reader")
        }
        since = {f"from_{key.name}": getattr(self.checkpoint, key.name) for key in fields(Checkpoint)}
        found = {key: since.pop(key) for key in ("from_tokens_in", "from_tokens_out")} | own
        reply = {key: since.pop(key) for key in ("from_reply",)}
        return " ".join(f"{key}={value}" for key, value in (found | since | reply).items() if value)


def read_state(value: object) -> ImportState | None:
    """The state in a header; ``None`` if there is none or it is invalid."""
    if not isinstance(value, str):
        return None
    found = dict(part.partition("=")[::2] for part in value.split())
    try:
        since = Checkpoint(
            **{name: int(found.get(f"from_{name}", 0)) for name in _COUNTS},
            reply=found.get("from_reply", ""),
            left_out=found.get("from_left_out", ""),
            open=found.get("from_open", ""),
        )
        numbers = {key: int(found.get(key, 0)) for key in ("read", "turns", "odd", "kept", "reader")}
        state = ImportState(**numbers, source=found["source"], text=found["text"], checkpoint=since)
    except (KeyError, ValueError):
        return None
    return state if 0 <= since.offset <= state.read and state.kept >= 0 else None


def fingerprint(stream: BinaryIO, length: int) -> str:
    """Hash both ends of the first ``length`` bytes of a file: enough, since a log only grows at its end."""
    digest = hashlib.sha256(str(length).encode())
    for start in (0, max(length - _EDGE, 0)):
        stream.seek(start)
        digest.update(stream.read(min(_EDGE, length - start)))
    return digest.hexdigest()[:16]


def shown_source(path: Path) -> str:
    """A source's path as shown in a header, with the home folder as ``~``."""
    absolute = path.absolute()
    try:
        return f"~/{absolute.relative_to(Path.home()).as_posix()}".removesuffix("/.")
    except (ValueError, RuntimeError):
        return absolute.as_posix()
