"""Every error the engine raises on purpose: what happened, where, and what to do about it.

A face prints ``str(error)`` as one line and exits with 1; it never needs to look further.
"""

from __future__ import annotations

from typing import Any, Literal, Self

from engine.startup.records import dataclass


class AutopoiesisError(Exception):
    """The root of the hierarchy.

    Args:
        what: The failure in one clause, without a full stop.
        where: The file, ``file:line`` or setting concerned; may be empty.
        hint: What the person can do about it, in one clause; may be empty.

    Attributes:
        lasting: The same would fail again until a person changes a key, a setting or a budget: a caller with
            more to ask reports it once and stops.
    """

    lasting = False

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def until_changed(self) -> Self:
        """The error as a ``lasting`` one."""
        self.lasting = True
        return self

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}; {self.hint}" if self.hint else text


class WorkspaceError(AutopoiesisError):
    """The folder is not a workspace, or cannot be used as one."""


class PathRefused(AutopoiesisError):
    """A path leaves the workspace, passes a symlink out of it, or is not a regular file."""


class WriteFailed(AutopoiesisError):
    """A write did not reach the disk; the old content is intact."""


class ReadOnly(AutopoiesisError):
    """The workspace cannot be written."""


class DocumentError(AutopoiesisError):
    """A Markdown file or its header cannot be read as what it says it is."""


class ConfigError(AutopoiesisError):
    """memory-config.yaml holds a setting that cannot be used."""

    lasting = True


class TranscriptError(AutopoiesisError):
    """A transcript cannot be read, or a capture call does not fit the session's state."""


class NoSession(TranscriptError):
    """There is no session of that name."""


class ImportFailed(AutopoiesisError):
    """An agent's session log cannot be imported."""


class TopicError(AutopoiesisError):
    """A topic cannot be loaded, or does not exist."""


class EntryError(AutopoiesisError):
    """A knowledge entry does not exist, is not the only one of its name, or cannot be moved."""


class GateError(AutopoiesisError):
    """The gate could not answer: no key, time-out, refusal, nonsense."""


class IndexFailed(AutopoiesisError):
    """The search index cannot be opened, built or read."""


class EmbeddingFailed(AutopoiesisError):
    """An embedding model could not answer: not installed, no key, time-out, refusal, nonsense."""


class SendFailed(AutopoiesisError):
    """A model did not answer a prompt, or not to the end: no key, time-out, refusal, nonsense.

    Attributes:
        partial: The text of the reply that had come.
        usage: What was used all the same, ``engine.providers.chat.Usage``; ``None`` where the provider did
            not say.
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "", partial: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.partial = partial
        self.usage: Any = None


class GatewayFailed(AutopoiesisError):
    """The hook API cannot be served: its port is taken, or its token is unfit."""


class HookRefused(AutopoiesisError):
    """What an agent's hook was told cannot be understood, or asks for what is not to be done."""


class LedgerBroken(AutopoiesisError):
    """The ledger is damaged or gone; it proves nothing until it is rebuilt."""


class HarvestRefused(AutopoiesisError):
    """Conversations are not harvested or reclaimed, because something would be lost or is not certain.

    Attributes:
        to_confirm: The number of conversations to confirm before that many are reclaimed; 0 if that is not
            the reason.
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "", to_confirm: int = 0) -> None:
        super().__init__(what, where=where, hint=hint)
        self.to_confirm = to_confirm


class ChangeRefused(AutopoiesisError):
    """Files are not changed as was proposed: they are not what it was made for, or too much would be lost."""


class ExtractionRefused(AutopoiesisError):
    """Knowledge is not taken out of a session: there is none of that name, or no such extractor is set."""


class JobError(AutopoiesisError):
    """A job does not exist, is running already, or may not run."""


class CostLimit(AutopoiesisError):
    """A call was not made: the budget of the day or of the month is spent."""

    lasting = True


class BudgetError(AutopoiesisError):
    """The text that may never be dropped does not fit the token budget."""


class RepositoryError(AutopoiesisError):
    """Git is missing, refuses, or is in a state in which a commit would do harm."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong in a file, found without stopping the work."""

    path: str
    """Workspace-relative path with forward slashes."""
    line: int
    """1-based line, or 0 where the whole file is meant."""
    what: str
    """What is wrong, in one clause."""
    hint: str = ""
    """What to do about it, in one clause."""
    severity: Literal["error", "warning"] = "error"
    """``error`` keeps the file from working as meant; ``warning`` does not."""

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.what}" + (f"; {self.hint}" if self.hint else "")
