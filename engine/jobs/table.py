"""The table of scheduled jobs. To add a job, add an entry to ``own_jobs``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, cast

from engine.errors import JobError
from engine.jobs.upkeep import plural, upkeep_jobs
from engine.lifecycle.schedule.job import Job, Task
from engine.lifecycle.schedule.schedule import Schedule
from engine.store.blobs import pack
from engine.store.commit_message import commit_message
from engine.store.cron import OFF

if TYPE_CHECKING:
    from engine.events import EngineEvent
    from engine.parts import Parts
    from engine.probes.run import ProbedEngine


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
            does="Runs the probes in probes.yaml; fails if evidence that was found before is now lost.",
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


def schedule_of(
    parts: Parts, publish: Callable[[EngineEvent], None], trusted: Callable[[], bool]
) -> Schedule:
    """The schedule of a workspace."""
    return Schedule(
        parts.files,
        lambda: (*own_jobs(parts), *trigger_jobs(parts)),
        lambda: parts.config,
        parts.clock,
        publish=publish,
        trusted=trusted,
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
    report = parts.probes.run(cast("ProbedEngine", parts), progress=task.tell)
    run, lost = report.run, report.comparison.lost
    if lost:
        raise JobError(f"{len(lost)} of {run.expectations} lost", hint="see: autopoiesis probe run")
    return f"{run.found} of {run.expectations} found" if run.expectations else "no probes"


def _pack(parts: Parts) -> str:
    packed = pack(parts.repository.git) if parts.repository.has_commits else 0
    return f"{packed:,} objects packed" if packed else "no packing needed"
