"""``rules``: instructions the user has given agents, and their state."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from engine.transcripts.places import session_files
from tui.cli.base import (
    commit_text,
    emit,
    emit_problems,
    emitted_json,
    group,
    invocation,
    json_option,
    plain,
    progress,
    table,
)
from tui.render.figures import plural
from tui.render.safe import first_line

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.rules.rulebook import Rule, Rulebook, State
    from engine.rules.rules import Change

_SHOWN = 40
_CONTEXT = 48
"""Characters shown of what the agent had done before an instruction."""
_BLOCKS: dict[State, str] = {
    "in force": "In force: told to agents",
    "waiting": "Waiting for you: not told to anyone",
    "resting": "Resting: not told until you say it again",
    "turned down": "Turned down: not told",
    "replaced": "Replaced or ended by what you said later: not told",
}
"""The heading of each block of the list."""
_USUAL: tuple[State, ...] = ("in force", "waiting")
_UNLIKELY = "said once, probably for the task at hand"


@group("", "accept 3f2a91c", "why 3f2a91c", invoke_without_command=True)
@click.option(
    "--all", "every", is_flag=True, help="Include rules turned down, replaced, resting or for one task."
)
@json_option
@click.pass_context
def rules(context: click.Context, every: bool, as_json: bool) -> None:
    """List your rules for agents, learned from what you told them.

    What you plainly said to hold on is in force at once and told to agents. What may be a rule waits for you,
    and no agent is told it. The rules are lines of knowledge/rules.md, where you can also edit them.
    """
    if context.invoked_subcommand is None:
        with invocation().engine() as engine:
            _list(engine, every, as_json)


def _list(engine: Engine, every: bool, as_json: bool) -> None:
    from engine.rules.rulebook import is_unlikely, most_told  # noqa: PLC0415 — `--help` must not load the engine

    found = [rule for rule in most_told(engine.rules.book().rules) if every or rule.state in _USUAL]
    if emitted_json(as_json, [{**plain(rule), "where": rule.where} for rule in found]):
        return
    if not found:
        emit(_none(engine))
        return
    for state in _BLOCKS:
        mine = [rule for rule in found if rule.state == state]
        if not mine and state not in _USUAL:
            continue
        likely = [rule for rule in mine if every or not is_unlikely(rule)]
        if mine and not likely:
            emit(f"{plural(len(mine), 'sentence')} of yours, {_UNLIKELY}: autopoiesis rules --all\n")
            continue
        emit(f"{_BLOCKS[state]} ({len(likely)})")
        shown = likely if every else likely[:_SHOWN]
        notes = any(map(_note, shown))
        table(
            [
                [
                    rule.id,
                    f"{rule.told}×" if rule.told else "–",
                    rule.last or "–",
                    rule.where or "everywhere",
                    *([_note(rule)] if notes else []),
                    rule.text,
                ]
                for rule in shown
            ],
            ["rule", "told", "last", "where", *(["note"] if notes else []), "in your words"] if shown else (),
        )
        if len(shown) < len(likely):
            emit(f"{len(shown)} of {len(likely)} shown; use --all to show all")
        if unlikely := len(mine) - len(likely):
            emit(f"{unlikely} more, {_UNLIKELY}: autopoiesis rules --all")
        emit()
    emit("to put one in force: autopoiesis rules accept ID")
    emit('to turn one down: autopoiesis rules drop ID, or tell your agent "forget that rule: …"')


def _none(engine: Engine) -> str:
    """Why there is nothing to list, and what to do."""
    if others := len(engine.rules.book().rules):
        return f"no rule is in force or waits; {plural(others, 'other')}: autopoiesis rules --all"
    if unread := engine.rules.unread():
        return f"no rules yet; learn them from {plural(unread, 'session')}: autopoiesis rules learn"
    if any(session_files(engine.workspace)):
        return "no rules: nothing that you said holds on; to state one: autopoiesis rules add TEXT"
    return "no rules yet: they are learned from your sessions; to import some: autopoiesis import"


def told_summary(book: Rulebook) -> str:
    """How many rules are in force, and how many wait, as the list counts them."""
    from engine.rules.rulebook import is_unlikely  # noqa: PLC0415 — `--help` must not load the engine

    unlikely = sum(map(is_unlikely, book.waiting))
    waiting = len(book.waiting) - unlikely
    wait = f", {waiting} {'waits' if waiting == 1 else 'wait'} for you" if waiting else ""
    more = f", {unlikely} more {_UNLIKELY}" if unlikely else ""
    return f"{plural(sum(rule.counts for rule in book.rules), 'rule')} in force{wait}{more}"


@rules.verb("learn")
def rules_learn(engine: Engine, as_json: bool) -> None:
    """Learn rules from new sessions, and mark those already in agents' own files.

    Only your own words count, not pasted or quoted text, nor what tools or agents said.
    """
    with progress("reading") as report:
        done = engine.rules.learn(lambda read: report(read, max(read, 1)))
    elsewhere, found = engine.rules.known_elsewhere(), done.learned
    if emitted_json(as_json, {**plain(done), "elsewhere": elsewhere}):
        return
    emit(f"{plural(done.sessions, 'session')} read, {plural(len(found.new), 'rule')} learned")
    for rule in found.replaced:
        emit(f"  {rule.text}: {_end_of(rule, found.book)}")
    for rule in found.again:
        emit(f"  {rule.text}: accepted, said again")
    if done.commit.revision or done.commit.why:
        emit(commit_text(done.commit.revision, done.commit.why))
    if elsewhere.found:
        emit(f"{plural(len(elsewhere.found), 'rule')} already in agents' own files: autopoiesis rules known")
    emit(f"{told_summary(found.book)}: autopoiesis rules")


@rules.verb("why", "3f2a91c")
@click.argument("rule")
def rules_why(engine: Engine, rule: str, as_json: bool) -> None:
    """Show each time you said a rule: the day, the transcript, and what the agent had done.

    If you replaced or ended it later, that is shown too. In a shared memory each line names the person: the
    author of the commit that added the transcript.
    """
    found = engine.rules.rule(rule)
    told = engine.rules.occurrences(found)
    by = engine.rules.authors_of(told)
    before = [engine.rules.before(each) for each in told]
    effects = [each.effect_on(found) for each in told]
    if emitted_json(as_json, {"rule": found, "told": told, "effect": effects, "before": before, "by": by}):
        return
    emit(found.text)
    state = _end_of(found, engine.rules.book()) if found.state == "replaced" else found.state
    note = _note(found)
    copies = len({each.session.path for each, effect in zip(told, effects, strict=True) if effect == "said"})
    same = f", and as a copy in {plural(copies - found.told, 'more')}" if copies > found.told else ""
    emit(f"{state}{f', {note}' if note else ''}; said in {plural(found.told, 'session')}{same}")
    people = ["by"] if any(by) else []
    heads = ["day", "", "transcript", *people, "agent", "agent's last action", "your words"]
    rows = [
        [
            each.said.day or "–",
            effect,
            f"{each.session.path}:{each.said.line}",
            *([name or "–"] if people else []),
            each.session.agent or "–",
            _short(done) or "–",
            each.said.text,
        ]
        for each, effect, name, done in zip(told, effects, by, before, strict=True)
    ]
    table(rows, heads if rows else ())


@rules.verb("accept", "3f2a91c", "--told 3")
@click.argument("rule", nargs=-1)
@click.option("--told", metavar="N", type=click.IntRange(min=1), help="All you said in at least N sessions.")
def rules_accept(engine: Engine, rule: tuple[str, ...], told: int | None, as_json: bool) -> None:
    """Accept rules, including ones turned down or replaced."""
    if not rule and told is None:
        raise click.UsageError("name a rule, or give --told N")
    change = engine.rules.accept(rule, min_sessions=told or 0)
    if not change.rules and not as_json:
        emit(f"no rule waits that you said in at least {plural(told or 0, 'session')}")
        emit("to list them all: autopoiesis rules")
        return
    emit_change(change, "in force", as_json)


@rules.verb("drop", "3f2a91c")
@click.argument("rule", nargs=-1, required=True)
def rules_drop(engine: Engine, rule: tuple[str, ...], as_json: bool) -> None:
    """Turn rules down: they stay in the file, but no agent is told them."""
    emit_change(engine.rules.turn_down(rule), "turned down", as_json)


@rules.verb("reword", "3f2a91c 'Open pull requests as drafts.'")
@click.argument("rule")
@click.argument("text")
def rules_reword(engine: Engine, rule: str, text: str, as_json: bool) -> None:
    """Reword a rule and accept it."""
    emit_change(engine.rules.reword(rule, text), "reworded", as_json)


@rules.verb("narrow", "3f2a91c --project gauges", "3f2a91c --path 'tests/,*.spec.ts'",
            "3f2a91c --agent codex --tool Bash", "3f2a91c")  # fmt: skip
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


@rules.verb("merge", "3f2a91c 77be012")
@click.argument("rule")
@click.argument("into")
def rules_merge(engine: Engine, rule: str, into: str, as_json: bool) -> None:
    """Merge RULE into INTO, which keeps its wording and gains RULE's occurrences."""
    emit_change(engine.rules.merge(rule, into), "merged", as_json)


@rules.verb("add", "'Answer in British English.'")
@click.argument("text")
@click.option("--project", default="", help="The project it applies to; by default all.")
def rules_add(engine: Engine, text: str, project: str, as_json: bool) -> None:
    """Add a rule of your own."""
    emit_change(engine.rules.add(text, project), "added", as_json)


@rules.verb("undo")
def rules_undo(engine: Engine, as_json: bool) -> None:
    """Undo the last change of the rules; repeat to undo earlier ones."""
    undone = engine.rules.last_change()
    emit_change(engine.rules.undo(undone.revision), "restored", as_json)
    if not as_json:
        emit(f"undone: {undone.subject}")


def emit_change(change: Change, what: str, as_json: bool) -> None:
    """Prints the rules that a command changed."""
    if emitted_json(as_json, change):
        return
    for rule in change.rules[:_SHOWN]:
        emit(f"{rule.id}  {rule.text}")
    more = len(change.rules) - _SHOWN
    emit(f"{plural(len(change.rules), 'rule')} {what}{f' ({more} not shown)' if more > 0 else ''}")
    if change.commit.revision or change.commit.why:
        emit(commit_text(change.commit.revision, change.commit.why))


def _short(text: str) -> str:
    line = first_line(text)
    return line if len(line) <= _CONTEXT else f"{line[: _CONTEXT - 1].rstrip()}…"


def _note(rule: Rule) -> str:
    notes = (
        ("accepted, said again since" if rule.is_said_again else "accepted") if rule.accepted else "",
        f"also in {rule.known}" if rule.known else "",
    )
    return ", ".join(filter(None, notes))


def _end_of(rule: Rule, book: Rulebook) -> str:
    """What became of a rule that was replaced or ended."""
    if rule.ended:
        return f"ended on {rule.ended}"
    by = book.get(rule.by)
    return f"replaced by {by.id}: {by.text}" if by else "replaced"


_FILE = click.Path(path_type=Path, dir_okay=False)


@rules.verb("known", "", "~/.claude/CLAUDE.md")
@click.argument("file", nargs=-1, type=_FILE)
def known(engine: Engine, file: tuple[Path, ...], as_json: bool) -> None:
    """Find and mark rules that are already in agents' own files.

    Reads CLAUDE.md, AGENTS.md, GEMINI.md, .github/copilot-instructions.md and .cursorrules in the folders of
    your sessions, if they are on this machine, and each FILE. Links are not followed.
    """
    found = engine.rules.known_elsewhere(file)
    if emitted_json(as_json, found):
        return
    texts = {rule.id: rule.text for rule in engine.rules.book().rules}
    for place in found.found:
        emit(f"{place.id} {texts[place.id]}")
        emit(f"        {place.path}:{place.line}: {place.text}")
    emit(f"{plural(len(found.read), 'file')} read, {plural(len(found.found), 'rule')} found in them")
    if found.commit.revision or found.commit.failed:
        emit(commit_text(found.commit.revision, found.commit.why))


@rules.verb("export", "--to CLAUDE.md", "3f2a91c --to AGENTS.md --apply")
@click.argument("rule", nargs=-1)
@click.option("--to", "to", type=_FILE, required=True, help="The file, possibly outside the workspace.")
@click.option("--apply", "is_applied", is_flag=True, help="Write the file.")
def export(engine: Engine, rule: tuple[str, ...], to: Path, is_applied: bool, as_json: bool) -> None:
    """Show the diff that adds rules to a section of a file; with --apply, write it.

    Without RULE, exports every accepted rule that is not in the file yet. Rules already in the section stay
    while they are in force; those turned down are removed. Nothing else in the file changes.
    """
    exported = engine.rules.export(rule, to, apply=is_applied)
    if emitted_json(as_json, {name: each for name, each in plain(exported).items() if name != "data"}):
        return
    if exported.diff:
        emit(exported.diff)
    for place in exported.known:
        emit(f"{place.id} is already in line {place.line}: {place.text}")
    if not exported.diff:
        emit(f"no changes to {exported.path}")
    elif is_applied:
        emit(f"wrote {plural(len(exported.rules), 'rule')} to {exported.path}")
        emit(commit_text(exported.commit.revision, exported.commit.why))
    else:
        emit("nothing was written; pass --apply to do it")


@rules.verb("trigger", "3f2a91c", "3f2a91c --pattern '\\bTODO\\b' --apply")
@click.argument("rule")
@click.option("--pattern", default="", metavar="REGEX", help="Text that breaks the rule.")
@click.option("--apply", "is_applied", is_flag=True, help="Write the topic and commit it.")
def trigger(engine: Engine, rule: str, pattern: str, is_applied: bool, as_json: bool) -> None:
    """Show a topic that detects violations of a rule in what agents write and run; with --apply, write it.

    When it fires, the next prompt tells the agent to correct the violation. If the rule's wording does not
    say what a violation looks like, give --pattern.
    """
    topic = engine.rules.watch(rule, pattern, apply=is_applied)
    if emitted_json(as_json, topic):
        return
    emit(f"{topic.path}, which matches: {', '.join(topic.sees) or pattern}")
    emit()
    emit(topic.text)
    emit_problems(topic.problems)
    if is_applied:
        what = "written" if topic.is_written else "unchanged"
        emit(f"{what}, {commit_text(topic.commit.revision, topic.commit.why)}")
    else:
        emit("nothing was written; pass --apply to do it")
