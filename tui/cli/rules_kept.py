"""``rules known``, ``export``, ``review``, ``worth``, ``trigger``: what becomes of rules that are known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tui.cli.base import emit, emit_json, emit_problems, kept, plain, table, verb
from tui.cli.rules import emit_change
from tui.render.figures import plural
from tui.render.rules_words import rate_words, worth_words

if TYPE_CHECKING:
    from engine.engine import Engine

_FILE = click.Path(path_type=Path, dir_okay=False)


@verb("autopoiesis rules known", "autopoiesis rules known ~/.claude/CLAUDE.md", name="known")
@click.argument("file", nargs=-1, type=_FILE)
def known(engine: Engine, file: tuple[Path, ...], as_json: bool) -> None:
    """Find rules that agents' own files say already, and mark them so.

    Read are CLAUDE.md, AGENTS.md, GEMINI.md, .github/copilot-instructions.md and .cursorrules in the folders
    in which your sessions were held, where these are on this machine, and each FILE. No link is followed.
    """
    found = engine.kept_rules.known_elsewhere(file)
    if as_json:
        emit_json(found)
        return
    texts = {rule.id: rule.text for rule in engine.rules.book().rules}
    for place in found.found:
        emit(f"{place.id} {texts[place.id]}")
        emit(f"        {place.path}:{place.line}: {place.text}")
    emit(f"{plural(len(found.read), 'file')} read, {plural(len(found.found), 'rule')} known there")
    if found.commit.revision or found.commit.failed:
        emit(kept(found.commit.revision, found.commit.why))


@verb("autopoiesis rules export --to CLAUDE.md", "autopoiesis rules export 3f2a91c --to AGENTS.md --apply",
      name="export")  # fmt: skip
@click.argument("rule", nargs=-1)
@click.option("--to", "to", type=_FILE, required=True, help="The file; it may lie outside the workspace.")
@click.option("--apply", "is_applied", is_flag=True, help="Write the file.")
def export(engine: Engine, rule: tuple[str, ...], to: Path, is_applied: bool, as_json: bool) -> None:
    """Show how a file gains rules in a section of their own; with --apply, write it.

    Without RULE: every accepted rule that the file does not say yet. Rules that stand in the section stay as
    long as they count: one that you have turned down since is taken out. Nothing else in the file changes.
    """
    made = engine.kept_rules.export(rule, to, apply=is_applied)
    if as_json:
        emit_json({name: each for name, each in plain(made).items() if name != "data"})
        return
    if made.diff:
        emit(made.diff)
    for place in made.known:
        emit(f"{place.id} stands in line {place.line} already: {place.text}")
    if not made.diff:
        emit(f"nothing changes in {made.path}")
    elif is_applied:
        emit(f"written: {plural(len(made.rules), 'rule')} in {made.path}")
        emit(kept(made.commit.revision, made.commit.why))
    else:
        emit("write it with --apply")


@verb("autopoiesis rules review", "autopoiesis rules review --days 90 --rest", name="review")
@click.option("--days", type=click.IntRange(1, 36_500), default=60, show_default=True)
@click.option("--rest", "is_resting", is_flag=True, help="Take them out of prompts; they stay in the file.")
def review(engine: Engine, days: int, is_resting: bool, as_json: bool) -> None:
    """List rules in prompts that you neither told nor any message called for in so many days.

    With --rest they move under "Resting" in knowledge/rules.md, until you say them again or accept them.
    """
    found = engine.kept_rules.fading(days)
    if is_resting and found.rules:
        emit_change(engine.rules.rest([rule.id for rule, _ in found.rules]), "at rest", as_json)
        return
    if as_json:
        emit_json(found)
        return
    if found.rules:
        rows = [[rule.id, day, rule.text] for rule, day in found.rules]
        table(rows, ["rule", "last needed", "in your words"])
    emit(f"{plural(len(found.rules), 'rule')} not needed for {plural(days, 'day')}")
    if not found.prompts:
        emit("no prompt was recorded in these days, so only what you said counts")
    if found.rules:
        emit(f"have them rest: autopoiesis rules review --days {days} --rest")


@verb("autopoiesis rules worth", name="worth")
def worth(engine: Engine, as_json: bool) -> None:
    """Show how often you repeated each accepted rule before and since, and what rules cost in prompts.

    A repetition is a session in which you said it again; weeks without a session do not count.
    """
    found = engine.kept_rules.worth()
    if as_json:
        emit_json(found)
        return
    rows = [
        [each.rule.id, rate_words(each.before), rate_words(each.after), str(each.tokens), each.rule.text]
        for each in found.rules
    ]
    if rows:
        table(rows, ["rule", "a week before", "and since", "tokens", "in your words"])
    for line in worth_words(found):
        emit(line)


@verb("autopoiesis rules trigger 3f2a91c", "autopoiesis rules trigger 3f2a91c --pattern '\\bTODO\\b' --apply",
      name="trigger")  # fmt: skip
@click.argument("rule")
@click.option("--pattern", default="", metavar="REGEX", help="What breaking it looks like.")
@click.option("--apply", "is_applied", is_flag=True, help="Write the topic and commit it.")
def trigger(engine: Engine, rule: str, pattern: str, is_applied: bool, as_json: bool) -> None:
    """Show a topic that watches what agents write and run for what breaks a rule; with --apply, write it.

    When it fires, the next prompt tells the agent to correct it. Where the words of a rule do not tell what
    breaking it looks like, say it with --pattern.
    """
    made = engine.kept_rules.watch(rule, pattern, apply=is_applied)
    if as_json:
        emit_json(made)
        return
    emit(f"{made.path}, which sees: {', '.join(made.sees) or pattern}")
    emit()
    emit(made.text)
    emit_problems(made.problems)
    if is_applied:
        emit(
            f"{'written' if made.is_written else 'as before'}, {kept(made.commit.revision, made.commit.why)}"
        )
    else:
        emit("write it with --apply")
