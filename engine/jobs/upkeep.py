"""The jobs of memory's lifecycle (spec 8, 9.3): what they write, and what they put up for review.

Lines that are new in a journal are written: they were said or harvested already. Whatever rewrites or moves
what stands in files, or is in a model's words, waits in the review queue.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from engine.history.branches import FOLDERS
from engine.lifecycle.schedule.job import Job, Task
from engine.store.cron import OFF

if TYPE_CHECKING:
    from engine.lifecycle.proposals import Done, Proposal
    from engine.parts import Parts

NOTHING = "nothing to do"
MOST_ASKED = 7
"""Days that a model words in one run: each may take two minutes, and a run a quarter of an hour."""

_SUNDAY = 6


def upkeep_jobs(parts: Parts) -> tuple[Job, ...]:
    """The jobs that work memory over."""
    lifecycle, git = parts.config.lifecycle, parts.config.git
    return (
        Job(
            name="extract", cron="5 * * * *" if lifecycle.extraction_trigger == "hourly" else OFF,
            run=lambda task: _extract(parts, task),
            does="Extracts sessions that have ended since, where lifecycle.extraction_trigger is hourly.",
        ),
        Job(
            name="condense-daily", cron=lifecycle.condensation_schedule,
            run=lambda task: _daily(parts, task),
            does="Adds to the day's journal what was harvested, decided and done.",
        ),
        Job(
            name="condense-weekly", cron="15 23 * * 0",
            run=lambda task: _weekly(parts, task),
            does="Proposes what MEMORY.md should take over from the week's journals.",
        ),
        Job(
            name="condense-monthly", cron="20 0 1 * *",
            run=lambda task: _put_up(parts, parts.condenser.monthly(task.day)),
            does="Proposes what to merge, to shorten and to archive after a look at all knowledge.",
        ),
        Job(
            name="prune", cron=lifecycle.pruning_schedule, run=lambda _task: _prune(parts),
            does="Proposes what should leave MEMORY.md and knowledge for the archive.",
        ),
        Job(
            name="snapshot", cron="59 23 * * *" if git.auto_tag_daily else OFF,
            run=lambda task: _snapshot(parts, task),
            does="Names the last commit of the day, and on Sunday that of the week.",
        ),
    )  # fmt: skip


def _extract(parts: Parts, task: Task) -> str:
    report = parts.extraction.run_due(lambda _result, done, total: task.tell(done, total))
    if report is None:
        return "it is not due"
    records = [record for each in report.results for record in each.records]
    lines = sum(len(record.items) for record in records)
    return f"{len(report.results)} sessions looked at, {lines} lines written"


def _daily(parts: Parts, task: Task) -> str:
    condenser, days = parts.condenser, task.days
    worded: list[Proposal] = []
    plain: list[Proposal] = []
    for number, day in enumerate(days, 1):
        since = task.since if number == 1 and len(days) > 1 else None  # it was condensed up to then
        found = condenser.daily(day, ask=day in days[-MOST_ASKED:], since=since)
        (worded if found.model else plain).append(found)
        task.tell(number, len(days))
    said = [_put_up(parts, worded), _told(plain, condenser.apply(plain))]
    return "; ".join(dict.fromkeys(each for each in said if each != NOTHING)) or NOTHING


def _weekly(parts: Parts, task: Task) -> str:
    condenser, (first, *rest) = parts.condenser, task.days
    if task.since is not None and rest and not condenser.went_on(first, task.since):
        days = rest  # the week before is done with, unless somebody has spoken on its last day since
    else:
        days = [first, *rest]
    weeks = list(dict.fromkeys(f"{day:%G-W%V}" for day in days))
    # Of several texts of MEMORY.md that a model writes only one could be accepted.
    return _put_up(parts, [condenser.weekly(week, ask=len(weeks) == 1) for week in weeks])


def _put_up(parts: Parts, proposals: Iterable[Proposal]) -> str:
    wanted = [each for each in proposals if each.change is not None or each.refused or each.left]
    return _told(wanted, parts.condenser.put_up(each for each in wanted if each.change is not None))


def _prune(parts: Parts) -> str:
    plan = parts.retention.plan()
    if not plan.too_many:
        return _put_up(parts, plan.proposals)
    stays = [each for each in plan.proposals if each.change is not None and not each.change.moving]
    return f"{_put_up(parts, stays)}; {plan.number} files would go, {plan.too_many}: autopoiesis prune"


def _told(proposals: Iterable[Proposal], done: Iterable[Done]) -> str:
    """What became of proposals, in a clause."""
    found = list(proposals)
    said = [f"{each.summary}: {each.refused}" for each in found if each.refused]
    for each in done:
        if each.error:
            said.append(f"{each.proposal.summary}: {each.error}")
        elif each.applied:
            said.append(each.proposal.summary + (f", committed as {each.commit[:8]}" if each.commit else ""))
        elif each.waiting and not each.known:
            said.append(f"for review: {each.proposal.summary}")
    left = [line for each in found for line in each.left if line.startswith("no room ")]
    more = f" and {len(left) - 1} more" if len(left) > 1 else ""
    return "; ".join([*said, *(f"{line}{more}" for line in left[:1])]) or NOTHING


def _snapshot(parts: Parts, task: Task) -> str:
    history, made = parts.history, list[str]()
    if not parts.repository.has_commits:
        return "nothing is committed yet"
    if parts.repository.branch().startswith(FOLDERS):
        return "days are not named on a branch to try things on"
    for day in task.days:  # that of the run before takes in what was committed after it
        made.append(history.tag_daily(day))
        made.append(history.tag_weekly(day) if day.weekday() == _SUNDAY else "")
    return ", ".join(filter(None, made)) or "there is no commit of this day"
