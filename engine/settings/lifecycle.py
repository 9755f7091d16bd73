"""The settings of memory's lifecycle (spec 8 and 9.3)."""

from __future__ import annotations

from typing import Annotated, Literal

from engine.settings.base import Cron, Limits, Settings, acting
from engine.startup.records import dataclass

EXTRACTORS = ("decisions", "lessons", "people", "procedures", "facts", "journal")
"""The extractors that ship with the program."""


@dataclass(frozen=True)
class ExtractionSettings(Settings):
    """What is taken out of sessions into the files of knowledge (spec 8.3)."""

    extractors: tuple[str, ...] = acting(EXTRACTORS, "runs extractors that other packages bring")
    """Which extractors run, in this order. Further ones are those that installed packages offer as entry
    points of the group ``autopoiesis.extractors``: their code runs, with all that the program may do."""
    provider: Literal["none", "anthropic", "openai", "gemini", "claude-code"] = acting(
        "none", "sends whole sessions to a model that extracts knowledge"
    )
    """Who reads the sessions. ``none`` uses no model: what a session marks itself is taken, and what else can
    be known without one is proposed for review. The others as ``gate.provider``."""
    model: str = acting("", "")
    """Model of the provider; empty: the provider's cheapest known one."""
    base_url: str = acting("", "names the server of the model that extracts")
    """As ``gate.base_url``, with the same key."""
    max_tokens: Annotated[int, Limits(ge=256, le=65_536)] = 4096
    """Longest reply asked for, in tokens: one a window and extractor. Of one that is cut off there what is
    whole is kept, and the rest is asked for with twice the room."""
    deadline_s: Annotated[float, Limits(gt=0, le=1800)] = 120.0
    """Total time for one question, seconds."""


@dataclass(frozen=True)
class CondensingSettings(Settings):
    """Days become journals, weeks MEMORY.md, months proposals (spec 8.4)."""

    provider: Literal["none", "anthropic", "openai", "gemini", "claude-code"] = acting(
        "none", "sends conversations, journals and MEMORY.md to a model that condenses them"
    )
    """Who words journals and MEMORY.md. ``none``: no model; decisions, lessons and what sessions ended with
    are taken over as they stand. The others as ``gate.provider``; what a model writes waits for you."""
    model: str = acting("", "")
    """Model of the provider; empty: the provider's cheapest known one."""
    base_url: str = acting("", "names the server of the model that condenses")
    """As ``gate.base_url``, with the same key."""
    max_tokens: Annotated[int, Limits(ge=256, le=65_536)] = 8192
    """Longest reply asked for, in tokens; one that is cut off there is not used."""
    deadline_s: Annotated[float, Limits(gt=0, le=1800)] = 120.0
    """Total time for one question, seconds."""
    idle_project_days: Annotated[int, Limits(ge=7, le=3650)] = 60
    """Days without a change or a mention after which a project is proposed to leave ``_active.md``."""


@dataclass(frozen=True)
class RulesSettings(Settings):
    """What you have told your agents about how to work, kept in ``knowledge/rules.md``."""

    learn: bool = True
    """Whether sessions are read for rules by themselves: after an import, and hourly. Only your own words
    count. ``autopoiesis rules learn`` reads them in any case."""
    provider: Literal["none", "anthropic", "openai", "gemini", "claude-code"] = acting(
        "none", "sends sentences that you said to agents to a model that words rules"
    )
    """Who words rules when ``autopoiesis rules word`` is run, and tells them from requests. ``none``: nobody;
    rules stand in your words. The others as ``gate.provider``."""
    model: str = acting("", "")
    """Model of the provider; empty: the provider's cheapest known one."""
    base_url: str = acting("", "names the server of the model that words rules")
    """As ``gate.base_url``, with the same key."""
    max_tokens: Annotated[int, Limits(ge=256, le=65_536)] = 4096
    """Longest reply asked for, in tokens; one that is cut off there is not used."""
    deadline_s: Annotated[float, Limits(gt=0, le=1800)] = 60.0
    """Total time for one question, seconds."""


@dataclass(frozen=True)
class LifecycleSettings(Settings):
    """When memory is worked over by itself, and what leaves the working set (spec 8.5, 9.3).

    Times are cron expressions of five fields (minute, hour, day, month, weekday) in the zone of
    ``days.time_zone``, or ``off``; they count while the workbench, ``watch`` or ``serve`` runs.
    """

    extraction_trigger: Literal["on_session_end", "hourly", "manual"] = acting("manual", "")
    """When sessions are extracted. ``manual``: only by ``extract --apply``, so that nothing is written into
    knowledge that nobody asked for. ``on_session_end``: when ``session end`` ends one. ``hourly``: what ended
    since, once an hour, while something is there to do it. With ``extraction.provider`` both send and cost
    without being asked again."""
    condensation_schedule: Annotated[str, Cron()] = acting("0 23 * * *", "")
    """When the day is summed up."""
    pruning_schedule: Annotated[str, Cron()] = acting("0 0 * * 0", "")
    """When what is stale is pruned."""
    schedule: dict[str, Annotated[str, Cron()]] = acting({}, "")
    """Other times than their own for jobs, by name (``autopoiesis jobs`` names them): ``{index: off}``."""
    journal_retention_days: Annotated[int, Limits(ge=2, le=36_500)] = 90
    """Days after which a journal goes to ``archive/journal/``."""
    memory_line_cap: Annotated[int, Limits(ge=20, le=200)] = 200
    """Lines that MEMORY.md may have; from nine tenths of them on it is said, and pruned down to these."""
    evict_after_days: Annotated[int, Limits(ge=7, le=36_500)] = 30
    """Days without a change before which no file goes, however low its score is."""
    most_archived: Annotated[int, Limits(ge=1, le=10_000)] = 50
    """More files than this, or more than five that are over half of all, are archived only after their number
    was typed."""
