"""``rules``: instructions the user has given agents, and their state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tui.cli.base import commit_text, emit, emit_json, group, invocation, json_option, plain, table
from tui.cli.search import progress
from tui.render.figures import plural
from tui.render.safe import first_line

if TYPE_CHECKING:
    from engine.lifecycle.rules.rules import Change

    from engine.engine import Engine
    from engine.rules.rulebook import Rule

_WAITING = "said"
_SHOWN = 40
_CONTEXT = 48
"""Characters shown of what the agent had done before an instruction."""


@group(
    "autopoiesis rules",
    "autopoiesis rules accept --told 3",
    "autopoiesis rules why 3f2a91c",
    invoke_without_command=True,
    late={
        "known": "tui.cli.rules_upkeep:known",
        "export": "tui.cli.rules_upkeep:export",
        "review": "tui.cli.rules_upkeep:review",
        "worth": "tui.cli.rules_upkeep:worth",
        "trigger": "tui.cli.rules_upkeep:trigger",
    },
)
@click.option("--all", "every", is_flag=True, help="Include rules that are turned down, replaced or resting.")
@json_option
@click.pass_context
def rules(context: click.Context, every: bool, as_json: bool) -> None:
    """List your rules for agents, learned from what you told them, most repeated first.

    What you stated as a rule is in force at once; what you only repeated is pending, and listed in prompts
    below the rules in force. The rules are stored in knowledge/rules.md, where you can also edit them.
    """
    if context.invoked_subcommand is None:
        with invocation().engine() as engine:
            _list(engine, every, as_json)


def _list(engine: Engine, every: bool, as_json: bool) -> None:
    from engine.rules.rulebook import most_told  # noqa: PLC0415 — `--help` must not load the engine

    book = engine.rules.book()
    found = [rule for rule in most_told(book.rules) if every or rule.counts]
    since = engine.kept_rules.since()
    if as_json:
        emit_json([{**plain(rule), "where": rule.where, "since": since.get(rule.id)} for rule in found])
        return
    if not found:
        emit("no rules yet; learn them from your sessions: autopoiesis rules learn")
        return
    if book.again:
        emit(_headline(len(book.again), sum(rule.counts for rule in found)))
    shown = found if every else found[:_SHOWN]
    rows = [
        [
            rule.id,
            f"{rule.told}×" if rule.told else "–",
            rule.last,
            rule.where or "everywhere",
            _state(rule),
            rule.text,
        ]
        for rule in shown
    ]
    table(rows, ["rule", "told", "last", "where", "state", "in your words"])
    if len(shown) < len(found):
        emit(f"{len(shown)} of {len(found)} shown; use --all to show all")
    for rule in found:
        if rule.id in since and rule.counts:
            emit(f"{rule.id} accepted, but {since[rule.id].words}")
    if book.waiting:
        emit("to accept what you said in two or more sessions: autopoiesis rules accept --told 2")


@rules.verb("learn", "autopoiesis rules learn")
def rules_learn(engine: Engine, as_json: bool) -> None:
    """Learn rules from new sessions, and mark those already in agents' own files.

    Only your own words count, not pasted or quoted text, nor what tools or agents said.
    """
    with progress("reading") as report:
        done = engine.rules.learn(lambda read: report(read, max(read, 1)))
    elsewhere = engine.kept_rules.known_elsewhere()
    found, since = done.learned, engine.kept_rules.since()
    if as_json:
        again = {rule.id: since.get(rule.id) for rule in found.again}
        emit_json({**plain(done), "since": again, "elsewhere": elsewhere})
        return
    emit(f"{plural(done.sessions, 'session')} read, {plural(len(found.new), 'rule')} learned")
    for rule in found.replaced:
        by = found.book.get(rule.by)
        emit(f"  {rule.text}: replaced{f' by: {by.text}' if by else ''}")
    for rule in found.again:
        words = since[rule.id].words if rule.id in since else "repeated"
        emit(f"  {rule.text}: accepted, but {words}")
    if found.book.rules != () and (done.commit.revision or done.commit.why):
        emit(commit_text(done.commit.revision, done.commit.why))
    if elsewhere.found:
        emit(f"{plural(len(elsewhere.found), 'rule')} already in agents' own files: autopoiesis rules known")
    if found.new:
        emit("to list them: autopoiesis rules")


@rules.verb("why", "autopoiesis rules why 3f2a91c")
@click.argument("rule")
def rules_why(engine: Engine, rule: str, as_json: bool) -> None:
    """Show every occurrence of a rule: the day, the transcript, and what the agent had done.

    In a shared memory it also shows the person: the author of the commit that added the transcript.
    """
    found = engine.rules.rule(rule)
    occurrences = engine.rules.occurrences(found)
    since = engine.kept_rules.since().get(found.id)
    by = engine.kept_rules.authors_of(occurrences)
    if as_json:
        before = [engine.rules.before(each) for each in occurrences]
        emit_json({"rule": found, "told": occurrences, "before": before, "by": by, "since": since})
        return
    emit(f"{found.text}")
    emit(f"{_state(found)}, stated in {plural(found.told, 'session')}")
    if since is not None:
        emit(f"accepted on {found.accepted}, {since.words}")
    if found.by:
        successor = engine.rules.book().get(found.by)
        emit(f"replaced by {found.by}{f': {successor.text}' if successor else ''}")
    heads = ["day", "transcript", *(["by"] if any(by) else []), "agent", "agent's last action", "your words"]
    rows = [
        [
            each.said.day,
            f"{each.session.path}:{each.said.line}",
            *([name or "–"] if any(by) else []),
            each.session.agent or "–",
            _short(engine.rules.before(each)) or "–",
            each.said.text,
        ]
        for each, name in zip(occurrences, by, strict=True)
    ]
    table(rows, heads)


@rules.verb("accept", "autopoiesis rules accept 3f2a91c", "autopoiesis rules accept --told 3")
@click.argument("rule", nargs=-1)
@click.option(
    "--told", metavar="N", type=click.IntRange(min=1), help="All rules you stated in at least N sessions."
)
def rules_accept(engine: Engine, rule: tuple[str, ...], told: int | None, as_json: bool) -> None:
    """Accept rules, including ones turned down or replaced."""
    if not rule and told is None:
        raise click.UsageError("name a rule, or give --told N")
    change = engine.rules.accept(rule, min_sessions=told or 0)
    if not change.rules and not as_json:
        emit(f"no rule left to accept that you stated in at least {plural(told or 0, 'session')}")
        emit("to list them all: autopoiesis rules")
        return
    emit_change(change, "in force", as_json)


@rules.verb("drop", "autopoiesis rules drop 3f2a91c")
@click.argument("rule", nargs=-1, required=True)
def rules_drop(engine: Engine, rule: tuple[str, ...], as_json: bool) -> None:
    """Turn rules down: they stay in the file, but not in prompts."""
    emit_change(engine.rules.turn_down(rule), "turned down", as_json)


@rules.verb("reword", "autopoiesis rules reword 3f2a91c 'Open pull requests as drafts.'")
@click.argument("rule")
@click.argument("text")
def rules_reword(engine: Engine, rule: str, text: str, as_json: bool) -> None:
    """Reword a rule and accept it."""
    emit_change(engine.rules.reword(rule, text), "reworded", as_json)


@rules.verb(
    "narrow",
    "autopoiesis rules narrow 3f2a91c --project gauges",
    "autopoiesis rules narrow 3f2a91c --path 'tests/,*.spec.ts'",
    "autopoiesis rules narrow 3f2a91c --agent codex --tool Bash",
    "autopoiesis rules narrow 3f2a91c",
)
@click.argument("rule")
@click.option("--project", help="The project it applies to.")
@click.option("--path", help="The files it applies to: '*.tsx', 'tests/'; separated by commas.")
@click.option("--agent", help="The agent it applies to, such as claude-code.")
@click.option("--tool", help="The tool it applies to, such as Bash.")
def rules_narrow(
    engine: Engine,
    rule: str,
    project: str | None,
    path: str | None,
    agent: str | None,
    tool: str | None,
    as_json: bool,
) -> None:
    """Limit a rule to a project, an agent, some files or a tool; without options, it applies everywhere.

    A rule for files or a tool is only added to the prompts of messages that name such a file, or that follow
    a tool call that names one or uses that tool.
    """
    wide = "" if {project, path, agent, tool} == {None} else None
    change = engine.rules.narrow(
        rule,
        project=project or wide,
        agent=agent or wide,
        tool=tool or wide,
        path=path or wide,
    )
    where = change.rules[0].where if wide is None else ""
    emit_change(change, f"limited to {where}" if where else "now applied everywhere", as_json)


@rules.verb("merge", "autopoiesis rules merge 3f2a91c 77be012")
@click.argument("rule")
@click.argument("into")
def rules_merge(engine: Engine, rule: str, into: str, as_json: bool) -> None:
    """Merge RULE into INTO, which keeps its wording and gains RULE's occurrences."""
    emit_change(engine.rules.merge(rule, into), "merged", as_json)


@rules.verb("word", "autopoiesis rules word")
def rules_word(engine: Engine, as_json: bool) -> None:
    """Have a model (rules.provider) reword pending rules; what it does not consider a rule is set to rest."""
    emit_change(engine.rules.word(), "worded", as_json)


@rules.verb("add", "autopoiesis rules add 'Answer in British English.'")
@click.argument("text")
@click.option("--project", default="", help="The project it applies to; by default all.")
def rules_add(engine: Engine, text: str, project: str, as_json: bool) -> None:
    """Add a rule of your own."""
    emit_change(engine.rules.add(text, project), "added", as_json)


@rules.verb("undo", "autopoiesis rules undo")
def rules_undo(engine: Engine, as_json: bool) -> None:
    """Undo the last change of the rules; repeat to undo earlier ones."""
    undone = engine.rules.last_change()
    emit_change(engine.rules.undo(undone.revision), "restored", as_json)
    if not as_json:
        emit(f"undone: {undone.subject}")


def emit_change(change: Change, what: str, as_json: bool) -> None:
    """Prints the rules that a command changed."""
    if as_json:
        emit_json(change)
        return
    for rule in change.rules[:_SHOWN]:
        emit(f"{rule.id}  {rule.text}")
    more = len(change.rules) - _SHOWN
    emit(f"{plural(len(change.rules), 'rule')} {what}{f' ({more} not shown)' if more > 0 else ''}")
    if change.commit.revision or change.commit.why:
        emit(commit_text(change.commit.revision, change.commit.why))


def _headline(again: int, listed: int) -> str:
    others = f" ({plural(listed, 'rule')} in all)" if listed > again else ""
    return f"You have told your agents {plural(again, 'thing')} more than once{others}:"


def _short(text: str) -> str:
    line = first_line(text)
    return line if len(line) <= _CONTEXT else f"{line[: _CONTEXT - 1].rstrip()}…"


def _state(rule: Rule) -> str:
    state: str = rule.state
    if rule.state == _WAITING:
        state = "pending"
    elif rule.accepted and rule.state == "in force":
        state = "accepted"
    return f"{state}, also in {rule.known}" if rule.known else state
