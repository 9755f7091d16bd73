"""The engine's own errors: what happened, where, and what to do about it.

The command line prints ``str(error)`` as one line and exits with 1.
"""

from __future__ import annotations

from typing import Any, Literal, Self

from engine.startup.records import dataclass


class AutopoiesisError(Exception):
    """The root of the hierarchy.

    Args:
        what: The failure in one clause, without a full stop.
        where: The file, ``file:line`` or setting; may be empty.
        hint: How to fix it, in one clause; may be empty.

    Attributes:
        lasting: Retrying cannot help until a person changes a key, a setting or a budget; a caller with more
            work reports the error once and stops.
    """

    lasting = False

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def until_changed(self) -> Self:
        """Marks the error as ``lasting``."""
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
    """A Markdown file or its header cannot be parsed."""


class ConfigError(AutopoiesisError):
    """memory-config.yaml contains an invalid setting."""

    lasting = True


class TranscriptError(AutopoiesisError):
    """A transcript cannot be read, or a capture call does not fit the session's state."""


class NoSession(TranscriptError):
    """No such session."""


class ImportFailed(AutopoiesisError):
    """An agent's session log cannot be imported."""


class TopicError(AutopoiesisError):
    """A topic cannot be loaded, or does not exist."""


class EntryError(AutopoiesisError):
    """A knowledge entry does not exist, has an ambiguous name, or cannot be moved."""


class GateError(AutopoiesisError):
    """The gate could not answer: no key, timeout, refusal or invalid reply."""


class IndexFailed(AutopoiesisError):
    """The search index cannot be opened, built or read."""


class IndexBusy(IndexFailed):
    """Another writer of the search index was not done in time."""


class EmbeddingFailed(AutopoiesisError):
    """An embedding model could not answer: not installed, no key, timeout, refusal or invalid reply."""


class SendFailed(AutopoiesisError):
    """A model's reply is missing or incomplete: no key, timeout, refusal or invalid reply.

    Attributes:
        partial: The text received before the failure.
        usage: Tokens used anyway, an ``engine.providers.chat.Usage``; ``None`` if the provider did not report
            them.
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "", partial: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.partial = partial
        self.usage: Any = None


class GatewayFailed(AutopoiesisError):
    """The hook API cannot be served: its port is in use or its token is invalid."""


class HookRefused(AutopoiesisError):
    """A hook's input is invalid, or requests something that is not allowed."""


class LedgerBroken(AutopoiesisError):
    """The ledger is damaged or missing and has to be rebuilt."""


class HarvestRefused(AutopoiesisError):
    """Conversations are not harvested or reclaimed, because something could be lost.

    Attributes:
        to_confirm: The number of conversations to confirm before that many are reclaimed; 0 if that is not
            the reason.
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "", to_confirm: int = 0) -> None:
        super().__init__(what, where=where, hint=hint)
        self.to_confirm = to_confirm


class ChangeRefused(AutopoiesisError):
    """A proposed change is not applied: the files have changed since, or too much would be lost."""


class ExtractionRefused(AutopoiesisError):
    """No extraction: the session does not exist, or the extractor is not configured."""


class JobError(AutopoiesisError):
    """A job does not exist, is already running, or is not allowed to run."""


class CostLimit(AutopoiesisError):
    """A call was not made: the daily or monthly budget is spent."""

    lasting = True


class BudgetError(AutopoiesisError):
    """The required sections of a prompt exceed the token budget."""


class RepositoryError(AutopoiesisError):
    """Git is missing, fails, or is in a state where a commit would do harm."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A non-fatal problem in a file."""

    path: str
    """Workspace-relative path with forward slashes."""
    line: int
    """1-based line, or 0 for the whole file."""
    what: str
    """What is wrong, in one clause."""
    hint: str = ""
    """How to fix it, in one clause."""
    severity: Literal["error", "warning"] = "error"
    """``error`` keeps the file from working as intended; ``warning`` does not."""

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.what}" + (f"; {self.hint}" if self.hint else "")


def problem_of(error: AutopoiesisError) -> Problem:
    """An error about a file, or a line of it, as a problem."""
    path, _, line = error.where.rpartition(":")
    return (
        Problem(path, int(line), error.what, error.hint)
        if path and line.isdecimal()
        else Problem(error.where, 0, error.what, error.hint)
    )
