"""The settings of memory's lifecycle (spec 8 and 9.3)."""

from __future__ import annotations

from typing import Annotated, Literal

from engine.settings.base import Cron, Limits, Settings, acting
from engine.startup.records import dataclass

EXTRACTORS = ("decisions", "lessons", "people", "procedures", "facts", "journal")
"""The extractors that ship with the program."""


@dataclass(frozen=True)
class ExtractionSettings(Settings):
    """What is extracted from sessions into knowledge (spec 8.3)."""

    extractors: tuple[str, ...] = acting(EXTRACTORS, "runs extractors from other packages")
    """The extractors to run, in this order. Installed packages can add more with entry points of the group
    ``autopoiesis.extractors``; their code runs with all permissions of this program."""
    provider: Literal["none", "anthropic", "openai", "gemini", "claude-code"] = acting(
        "none", "sends whole sessions to a model that extracts knowledge"
    )
    """The model that reads sessions. ``none``: no model; marked lines are taken, and what else can be found
    without a model is proposed for review. Others as for ``gate.provider``."""
    model: str = acting("", "")
    """The provider's model; empty: its cheapest known one."""
    base_url: str = acting("", "sets the server of the model that extracts")
    """As ``gate.base_url``, with the same key."""
    max_tokens: Annotated[int, Limits(ge=256, le=65_536)] = 4096
    """Maximum tokens of a reply, for each window and extractor. The complete part of a truncated reply is
    kept, and the rest is requested again with twice the limit."""
    deadline_s: Annotated[float, Limits(gt=0, le=1800)] = 120.0
    """Seconds for one request."""


@dataclass(frozen=True)
class CondensingSettings(Settings):
    """How days are condensed into journals, weeks into MEMORY.md, months into proposals (spec 8.4)."""

    provider: Literal["none", "anthropic", "openai", "gemini", "claude-code"] = acting(
        "none", "sends conversations, journals and MEMORY.md to a model that condenses them"
    )
    """The model that writes journals and MEMORY.md. ``none``: no model; decisions, lessons and session
    outcomes are copied as they are. Others as for ``gate.provider``; their text waits for your review."""
    model: str = acting("", "")
    """The provider's model; empty: its cheapest known one."""
    base_url: str = acting("", "sets the server of the model that condenses")
    """As ``gate.base_url``, with the same key."""
    max_tokens: Annotated[int, Limits(ge=256, le=65_536)] = 8192
    """Maximum tokens of a reply; a truncated reply is discarded."""
    deadline_s: Annotated[float, Limits(gt=0, le=1800)] = 120.0
    """Seconds for one request."""
    idle_project_days: Annotated[int, Limits(ge=7, le=3650)] = 60
    """Days without a change or mention after which removing a project from ``_active.md`` is proposed."""


@dataclass(frozen=True)
class RulesSettings(Settings):
    """Your rules for agents, stored in ``knowledge/rules.md``."""

    learn: bool = True
    """Learn rules from sessions automatically: after an import, when a session ends, and hourly. Only your
    own words count. ``autopoiesis rules learn`` works in any case.
    """


@dataclass(frozen=True)
class LifecycleSettings(Settings):
    """When memory is maintained automatically, and what leaves the working set (spec 8.5, 9.3).

    Times are cron expressions of five fields (minute, hour, day, month, weekday) in ``days.time_zone``, or
    ``off``; they apply while the workbench, ``watch`` or ``serve`` is running.
    """

    extraction_trigger: Literal["on_session_end", "hourly", "manual"] = acting("manual", "")
    """When sessions are extracted. ``manual``: only by ``extract --apply``, so that knowledge never changes
    unasked. ``on_session_end``: when ``session end`` ends one. ``hourly``: once an hour, for sessions ended
    since. With ``extraction.provider``, the last two send data and cost money without further
    confirmation."""
    recaps: bool = True
    """Write three to six lines on each session to its day's journal when it ends or is imported: what was
    asked, decided, changed, done and left open, in the words of the session, without a model."""
    condensation_schedule: Annotated[str, Cron()] = acting("0 23 * * *", "")
    """When the day is condensed."""
    pruning_schedule: Annotated[str, Cron()] = acting("0 0 * * 0", "")
    """When stale files are pruned."""
    schedule: dict[str, Annotated[str, Cron()]] = acting({}, "")
    """Changed times of jobs, by name (listed by ``autopoiesis jobs``): ``{index: off}``."""
    journal_retention_days: Annotated[int, Limits(ge=2, le=36_500)] = 90
    """Days after which a journal moves to ``archive/journal/``."""
    memory_line_cap: Annotated[int, Limits(ge=20, le=200)] = 200
    """Maximum lines of MEMORY.md, which is pruned to this; there is a warning from 90 % of it."""
    evict_after_days: Annotated[int, Limits(ge=7, le=36_500)] = 30
    """Days without a change before a file may be archived, however low its score."""
    most_archived: Annotated[int, Limits(ge=1, le=10_000)] = 50
    """Archiving more files than this, or more than five that are over half of all, requires confirming their
    number."""
