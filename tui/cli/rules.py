"""``rules``: what a person has told their agents more than once, and what is to come of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tui.cli.base import emit, emit_json, group, invocation, kept, plain, table
from tui.cli.search import progress
from tui.render.figures import plural
from tui.render.safe import first_line

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.lifecycle.rules.rules import Change
    from engine.rules.rulebook import Rule

_WAITING = "said"
_SHOWN = 40
_BEFORE = 48
"""Characters of what the agent had done before a rule was said."""


@group(
    "autopoiesis rules",
    "autopoiesis rules accept --told 3",
    "autopoiesis rules why 3f2a91c",
    invoke_without_command=True,
    late={
        "known": "tui.cli.rules_kept:known",
        "export": "tui.cli.rules_kept:export",
        "review": "tui.cli.rules_kept:review",
        "worth": "tui.cli.rules_kept:worth",
        "trigger": "tui.cli.rules_kept:trigger",
    },
)
@click.option("--all", "every", is_flag=True, help="Also those that are turned down, replaced or at rest.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.pass_context
def rules(context: click.Context, every: bool, as_json: bool) -> None:
    """How you want your agents to work: what you have told them, the most often said first.

    What you said as a rule is in force at once; what you only said again and again waits, and stands in
    prompts below those in force. The lines are those of knowledge/rules.md, where you can edit them too.
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
        emit("no rules are known yet; read the sessions for them: autopoiesis rules learn")
        return
    if book.again:
        emit(f"You have told your agents {plural(len(book.again), 'thing')} more than once:")
    shown = found if every else found[:_SHOWN]
    rows = [
        [rule.id, _times(rule), rule.last, rule.where or "everywhere", _state(rule), rule.text]
        for rule in shown
    ]
    table(rows, ["rule", "told", "last", "where", "state", "in your words"])
    if len(shown) < len(found):
        emit(f"{len(shown)} of {len(found)} shown; --all has all")
    for rule in found:
        if rule.id in since and rule.counts:
            emit(f"{rule.id} accepted, yet {since[rule.id].words}")
    if book.waiting:
        emit("accept what you said in two sessions or more: autopoiesis rules accept --told 2")


@rules.verb("learn", "autopoiesis rules learn")
def rules_learn(engine: Engine, as_json: bool) -> None:
    """Read the sessions that were not read yet for what you said about how to work, and mark what agents' own
    files say already.

    Only your own words count: nothing that was pasted or quoted, and nothing that a tool or an agent said.
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
        emit(f"  {rule.text}: you have said otherwise since{f': {by.text}' if by else ''}")
    for rule in found.again:
        words = since[rule.id].words if rule.id in since else "told again"
        emit(f"  {rule.text}: accepted, yet {words}")
    if found.book.rules != () and (done.commit.revision or done.commit.why):
        emit(kept(done.commit.revision, done.commit.why))
    if elsewhere.found:
        emit(f"agents' own files say {plural(len(elsewhere.found), 'rule')} already: autopoiesis rules known")
    if found.new:
        emit("see them: autopoiesis rules")


@rules.verb("why", "autopoiesis rules why 3f2a91c")
@click.argument("rule")
def rules_why(engine: Engine, rule: str, as_json: bool) -> None:
    """Show where a rule was said: each time, with its day, its transcript, and what the agent had done.

    In a memory that several people share also by whom: the author of the commit that added the transcript.
    """
    found = engine.rules.rule(rule)
    told, since = engine.rules.told(found), engine.kept_rules.since().get(found.id)
    by = engine.kept_rules.said_by(told)
    if as_json:
        before = [engine.rules.before(each) for each in told]
        emit_json({"rule": found, "told": told, "before": before, "by": by, "since": since})
        return
    emit(f"{found.text}")
    emit(f"{_state(found)}, told in {plural(found.told, 'session')}")
    if since is not None:
        emit(f"accepted on {found.accepted}, {since.words}")
    if found.by:
        taker = engine.rules.book().get(found.by)
        emit(f"replaced by {found.by}{f': {taker.text}' if taker else ''}")
    heads = ["day", "transcript", *(["by"] if any(by) else []), "agent", "what the agent had done", "said"]
    rows = [
        [
            each.said.day,
            f"{each.session.path}:{each.said.line}",
            *([name or "–"] if any(by) else []),
            each.session.agent or "–",
            _short(engine.rules.before(each)) or "–",
            each.said.text,
        ]
        for each, name in zip(told, by, strict=True)
    ]
    table(rows, heads)


@rules.verb("accept", "autopoiesis rules accept 3f2a91c", "autopoiesis rules accept --told 3")
@click.argument("rule", nargs=-1)
@click.option("--told", type=click.IntRange(min=1), help="All that you said in so many sessions or more.")
def rules_accept(engine: Engine, rule: tuple[str, ...], told: int | None, as_json: bool) -> None:
    """Put rules in force, also such that were turned down or replaced."""
    if not rule and told is None:
        raise click.UsageError("name a rule, or give --told N")
    emit_change(engine.rules.accept(rule, told=told or 0), "in force", as_json)


@rules.verb("drop", "autopoiesis rules drop 3f2a91c")
@click.argument("rule", nargs=-1, required=True)
def rules_drop(engine: Engine, rule: tuple[str, ...], as_json: bool) -> None:
    """Turn rules down: they stay in the file, and out of prompts."""
    emit_change(engine.rules.turn_down(rule), "turned down", as_json)


@rules.verb("reword", "autopoiesis rules reword 3f2a91c 'Open pull requests as drafts.'")
@click.argument("rule")
@click.argument("text")
def rules_reword(engine: Engine, rule: str, text: str, as_json: bool) -> None:
    """Say a rule in other words, and put it in force."""
    emit_change(engine.rules.reword(rule, text), "reworded", as_json)


@rules.verb(
    "narrow",
    "autopoiesis rules narrow 3f2a91c --project gauges",
    "autopoiesis rules narrow 3f2a91c --path 'tests/,*.spec.ts'",
    "autopoiesis rules narrow 3f2a91c --agent codex --tool Bash",
    "autopoiesis rules narrow 3f2a91c",
)
@click.argument("rule")
@click.option("--project", help="The project in which it holds.")
@click.option("--path", help="The files for which it holds: '*.tsx', 'tests/', several parted by commas.")
@click.option("--agent", help="The agent for which it holds, such as claude-code.")
@click.option("--tool", help="The tool for which it holds, such as Bash.")
def rules_narrow(
    engine: Engine,
    rule: str,
    project: str | None,
    path: str | None,
    agent: str | None,
    tool: str | None,
    as_json: bool,
) -> None:
    """Have a rule hold in one project, for one agent, or for some files or a tool alone; with no option,
    everywhere again.

    A rule for some files or a tool stands in no prompt but those of messages that name such a file, or that
    come after a tool call that does, or of that tool.
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
    emit_change(change, f"{'holds' if not where else 'narrowed to'} {where or 'everywhere'}", as_json)


@rules.verb("merge", "autopoiesis rules merge 3f2a91c 77be012")
@click.argument("rule")
@click.argument("into")
def rules_merge(engine: Engine, rule: str, into: str, as_json: bool) -> None:
    """Make two rules one: what was said of RULE counts for INTO, whose words stay."""
    emit_change(engine.rules.merge(rule, into), "merged", as_json)


@rules.verb("word", "autopoiesis rules word")
def rules_word(engine: Engine, as_json: bool) -> None:
    """Have a model (rules.provider) word the rules that wait; what it calls no rule rests in the file."""
    emit_change(engine.rules.word(), "worded", as_json)


@rules.verb("add", "autopoiesis rules add 'Answer in British English.'")
@click.argument("text")
@click.option("--project", default="", help="The project in which it holds; everywhere when left out.")
def rules_add(engine: Engine, text: str, project: str, as_json: bool) -> None:
    """Give a rule of your own."""
    emit_change(engine.rules.add(text, project), "added", as_json)


@rules.verb("undo", "autopoiesis rules undo")
def rules_undo(engine: Engine, as_json: bool) -> None:
    """Take the last change of the rules back; again: the one before it."""
    emit_change(engine.rules.undo(), "as before", as_json)


def emit_change(change: Change, what: str, as_json: bool) -> None:
    """Prints rules as a decision of the person has left them."""
    if as_json:
        emit_json(change)
        return
    for rule in change.rules[:_SHOWN]:
        emit(f"{rule.id}  {rule.text}")
    more = len(change.rules) - _SHOWN
    emit(f"{plural(len(change.rules), 'rule')} {what}{f' ({more} not shown)' if more > 0 else ''}")
    if change.commit.revision or change.commit.why:
        emit(kept(change.commit.revision, change.commit.why))


def _short(text: str) -> str:
    line = first_line(text)
    return line if len(line) <= _BEFORE else f"{line[: _BEFORE - 1].rstrip()}…"


def _times(rule: Rule) -> str:
    return f"{rule.told}×" if rule.told else "–"


def _state(rule: Rule) -> str:
    state: str = rule.state
    if rule.state == _WAITING:
        state = "said, not confirmed"
    elif rule.accepted and rule.state == "in force":
        state = "accepted"
    return f"{state}, also in {rule.known}" if rule.known else state
