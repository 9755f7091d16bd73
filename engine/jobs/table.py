"""The table of scheduled jobs. To add a job, add an entry to ``own_jobs``.

Of the jobs of memory's lifecycle (spec 8, 9.3), recaps are written directly: they quote what was said.
Anything that rewrites or moves existing text, or that a model worded, goes to the review queue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, cast

from engine.errors import JobError
from engine.history.explorations import FOLDERS
from engine.lifecycle.schedule.job import Job, Task
from engine.lifecycle.schedule.schedule import Schedule
from engine.store.change import commit_message
from engine.store.cron import OFF
from engine.store.git import pack

if TYPE_CHECKING:
    from engine.events import EngineEvent
    from engine.lifecycle.proposals import Outcome, Proposal
    from engine.parts import Parts
    from engine.probes.probes import ProbedEngine


def own_jobs(parts: Parts) -> tuple[Job, ...]:
    """The built-in jobs."""
    return (
        Job(
            name="index", cron="30 3 * * *", run=lambda task: _index(parts, task),
            does="Updates the search index, checks it for damage, and rebuilds it if damaged.",
        ),
        Job(
            name="trash", cron="45 3 * * *", run=lambda task: _trash(parts),
            does="Deletes conversations that have been in the trash for harvest.trash_days.",
        ),
        Job(
            name="rules", cron="20 * * * *" if parts.config.rules.learn else OFF,
            run=lambda _task: _rules(parts),
            does="Learns rules from what you told agents in new sessions about how to work.",
        ),
        Job(
            name="worth", cron="10 4 * * 0" if parts.config.hooks.past_sessions == "learned" else OFF,
            run=lambda task: parts.recall.own.learn(parts.index, task.tell).said,
            does="Learns from your past sessions which passages of earlier ones are worth telling an agent.",
        ),
        Job(
            name="digest", cron="50 3 * * *", run=lambda task: _digest(parts),
            does="Rebuilds the knowledge digest from the category files, unless it is turned off.",
        ),
        Job(
            name="probes", cron="0 4 * * 0", run=lambda task: _probes(parts, task),
            does="Runs the probes in probes.yaml; fails if evidence is missing.",
        ),
        Job(
            name="pack", cron="20 4 * * 0", run=lambda task: _pack(parts),
            does="Packs the git history once it has gathered thousands of small files.",
        ),
        *upkeep_jobs(parts),
    )  # fmt: skip


def trigger_jobs(parts: Parts) -> tuple[Job, ...]:
    """One job per distinct cron schedule of each topic."""
    found: list[Job] = []
    for topic in parts.library.topics:
        schedules = [trigger.schedule for trigger in topic.triggers if trigger.type == "cron"]
        for number, schedule in enumerate(dict.fromkeys(schedules), 1):
            found.append(
                Job(
                    name=f"topic:{topic.name}" + (f"#{number}" if number > 1 else ""),
                    does=f"Fires this schedule of topic {topic.name}.",
                    cron=schedule,
                    topic=topic.name,
                    run=partial(_fire, parts, schedule),
                )
            )
    return tuple(found)


def schedule_of(parts: Parts, publish: Callable[[EngineEvent], None]) -> Schedule:
    """The schedule of a workspace."""
    return Schedule(
        parts.files,
        lambda: (*own_jobs(parts), *trigger_jobs(parts)),
        lambda: parts.config,
        parts.clock,
        publish=publish,
    )


def _fire(parts: Parts, schedule: str, _task: Task) -> str:
    return parts.signals.fire(schedule)


def _index(parts: Parts, task: Task) -> str:
    done = parts.index.refresh(task.tell)
    found = parts.index.verify(task.tell)
    if found.rebuilt:
        return f"was damaged ({found.problems[0]}); rebuilt"
    files = done.added + done.changed + done.removed
    return f"{files} file{'s' * (files != 1)} updated" if files else "intact and up to date"


def _rules(parts: Parts) -> str:
    done = parts.rules.learn()
    found = done.learned
    if not done.sessions:
        return "no new sessions"
    again = f", {len(found.again)} repeated" if found.again else ""
    return f"{plural(done.sessions, 'session')} read, {plural(len(found.new), 'rule')} learned{again}"


def _trash(parts: Parts) -> str:
    purged = parts.knowledge.trash.purge(parts.config.harvest.trash_days)
    return f"{len(purged)} permanently deleted" if purged else "nothing old enough to delete"


def _digest(parts: Parts) -> str:
    knowledge = parts.knowledge
    if knowledge.digest.is_off():
        return "turned off"
    if not knowledge.digest.regenerate():
        return "unchanged"
    made = knowledge.commit(knowledge.digest.paths, commit_message("memory", "digest regenerated"))
    return "regenerated" + (f", committed as {made.revision[:8]}" if made.revision else "")


def _probes(parts: Parts, task: Task) -> str:
    run = parts.probes.run(cast("ProbedEngine", parts), progress=task.tell)
    if lost := run.expectations - run.found:
        raise JobError(f"{lost} of {run.expectations} missing", hint="see: autopoiesis probe run")
    return f"{run.found} of {run.expectations} found" if run.expectations else "no probes"


def _pack(parts: Parts) -> str:
    packed = pack(parts.repository.git) if parts.repository.has_commits else 0
    return f"{packed:,} objects packed" if packed else "no packing needed"


NOTHING = "nothing to do"
_SUNDAY = 6


def upkeep_jobs(parts: Parts) -> tuple[Job, ...]:
    """The jobs that condense, prune and snapshot memory."""
    lifecycle, git = parts.config.lifecycle, parts.config.git
    return (
        Job(
            name="extract", cron="5 * * * *" if lifecycle.extraction_trigger == "hourly" else OFF,
            run=lambda task: _extract(parts, task),
            does="Extracts sessions that have ended since the last run, if extraction_trigger is hourly.",
        ),
        Job(
            name="condense-daily", cron=lifecycle.condensation_schedule,
            run=lambda task: _daily(parts, task),
            does="Writes the recaps that the day's journal lacks.",
        ),
        Job(
            name="condense-weekly", cron="15 23 * * 0",
            run=lambda task: _weekly(parts, task),
            does="Proposes changes to MEMORY.md from the week's journals.",
        ),
        Job(
            name="condense-monthly", cron="20 0 1 * *",
            run=lambda task: _queue(parts, parts.condenser.monthly(task.day)),
            does="Reviews all knowledge and proposes what to merge, shorten and archive.",
        ),
        Job(
            name="prune", cron=lifecycle.pruning_schedule, run=lambda _task: _prune(parts),
            does="Proposes what to move from MEMORY.md and knowledge to the archive.",
        ),
        Job(
            name="snapshot", cron="59 23 * * *" if git.auto_tag_daily else OFF,
            run=lambda task: _snapshot(parts, task),
            does="Tags the last commit of the day, and on Sundays that of the week.",
        ),
    )  # fmt: skip


def _extract(parts: Parts, task: Task) -> str:
    if parts.config.lifecycle.extraction_trigger != "hourly":
        return "not due"
    runner = parts.extraction.runner(patient=True)
    report = runner.run(on_result=lambda _result, done, total: task.tell(done, total))
    lines = sum(len(record.items) for each in report.results for record in each.records)
    return f"{plural(len(report.results), 'session')} read, {plural(lines, 'line')} written"


def plural(number: int, what: str) -> str:
    """``1 line``, ``2 lines``."""
    return f"{number} {what if number == 1 else what + 's'}"


def _daily(parts: Parts, task: Task) -> str:
    recaps = 0
    for number, day in enumerate(task.days, 1):
        recaps += len(parts.recaps.write_wanted(parts.condenser.sessions(day)).recaps)
        task.tell(number, len(task.days))
    return plural(recaps, "recap") if recaps else NOTHING


def _weekly(parts: Parts, task: Task) -> str:
    condenser, (first, *rest) = parts.condenser, task.days
    if task.since is not None and rest and not condenser.continued(first, task.since):
        days = rest  # the previous week is done, unless its last day had more messages after that run
    else:
        days = [first, *rest]
    weeks = list(dict.fromkeys(f"{day:%G-W%V}" for day in days))
    # If a model wrote several versions of MEMORY.md, only one of them could be accepted.
    return _queue(parts, [condenser.weekly(week, ask=len(weeks) == 1) for week in weeks])


def _queue(parts: Parts, proposals: Iterable[Proposal]) -> str:
    wanted = [each for each in proposals if each.change is not None or each.refused or each.left]
    return _summary(wanted, parts.condenser.submit(each for each in wanted if each.change is not None))


def _prune(parts: Parts) -> str:
    plan = parts.retention.plan()
    if not plan.too_many:
        return _queue(parts, plan.proposals)
    stays = [each for each in plan.proposals if each.change is not None and not each.change.moving]
    return f"{_queue(parts, stays)}; {plan.number} files would move, {plan.too_many}: autopoiesis prune"


def _summary(proposals: Iterable[Proposal], done: Iterable[Outcome]) -> str:
    """The outcome of proposals, in one line."""
    found = list(proposals)
    clauses = [f"{each.summary}: {each.refused}" for each in found if each.refused]
    for each in done:
        summary = each.proposal.summary
        if each.error:
            clauses.append(f"{summary}: {each.error}")
        elif each.applied:
            clauses.append(summary + (f", committed as {each.commit[:8]}" if each.commit else ""))
        elif each.waiting and not each.known:
            clauses.append(f"for review: {summary}")
    left = [line for each in found for line in each.left if line.startswith("no room ")]
    more = f" and {len(left) - 1} more" if len(left) > 1 else ""
    return "; ".join([*clauses, *(f"{line}{more}" for line in left[:1])]) or NOTHING


def _snapshot(parts: Parts, task: Task) -> str:
    history, made = parts.history, list[str]()
    if not parts.repository.has_commits:
        return "no commits yet"
    if parts.repository.branch().startswith(FOLDERS):
        return "days are not tagged on an exploration branch"
    for day in task.days:  # includes the previous run's day: its tag moves to commits made after that run
        made.append(history.tag_daily(day))
        made.append(history.tag_weekly(day) if day.weekday() == _SUNDAY else "")
    return ", ".join(filter(None, made)) or "no commits today"
