"""``rules known``, ``export``, ``review``, ``worth`` and ``trigger``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tui.cli.base import commit_text, emit, emit_json, emit_problems, plain, table, verb
from tui.cli.rules import emit_change
from tui.render.figures import plural
from tui.render.rules_words import rate_words, worth_words

if TYPE_CHECKING:
    from engine.engine import Engine

_FILE = click.Path(path_type=Path, dir_okay=False)


@verb("autopoiesis rules known", "autopoiesis rules known ~/.claude/CLAUDE.md", name="known")
@click.argument("file", nargs=-1, type=_FILE)
def known(engine: Engine, file: tuple[Path, ...], as_json: bool) -> None:
    """Find and mark rules that are already in agents' own files.

    Reads CLAUDE.md, AGENTS.md, GEMINI.md, .github/copilot-instructions.md and .cursorrules in the folders of
    your sessions, if they are on this machine, and each FILE. Links are not followed.
    """
    found = engine.kept_rules.known_elsewhere(file)
    if as_json:
        emit_json(found)
        return
    texts = {rule.id: rule.text for rule in engine.rules.book().rules}
    for place in found.found:
        emit(f"{place.id} {texts[place.id]}")
        emit(f"        {place.path}:{place.line}: {place.text}")
    emit(f"{plural(len(found.read), 'file')} read, {plural(len(found.found), 'rule')} found in them")
    if found.commit.revision or found.commit.failed:
        emit(commit_text(found.commit.revision, found.commit.why))


@verb("autopoiesis rules export --to CLAUDE.md", "autopoiesis rules export 3f2a91c --to AGENTS.md --apply",
      name="export")  # fmt: skip
@click.argument("rule", nargs=-1)
@click.option("--to", "to", type=_FILE, required=True, help="The file, possibly outside the workspace.")
@click.option("--apply", "is_applied", is_flag=True, help="Write the file.")
def export(engine: Engine, rule: tuple[str, ...], to: Path, is_applied: bool, as_json: bool) -> None:
    """Show the diff that adds rules to a section of a file; with --apply, write it.

    Without RULE, exports every accepted rule that is not in the file yet. Rules already in the section stay
    while they are in force; those turned down are removed. Nothing else in the file changes.
    """
    exported = engine.kept_rules.export(rule, to, apply=is_applied)
    if as_json:
        emit_json({name: each for name, each in plain(exported).items() if name != "data"})
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


@verb("autopoiesis rules review", "autopoiesis rules review --days 90 --rest", name="review")
@click.option("--days", type=click.IntRange(1, 36_500), default=60, show_default=True, help="For how many.")
@click.option(
    "--rest", "is_resting", is_flag=True, help="Set them to rest: out of prompts, but kept in the file."
)
def review(engine: Engine, days: int, is_resting: bool, as_json: bool) -> None:
    """List rules in prompts that were neither repeated by you nor relevant to a message for some days.

    With --rest they move under "Resting" in knowledge/rules.md, until you repeat or accept them.
    """
    found = engine.kept_rules.fading(days)
    if is_resting and found.rules:
        emit_change(engine.rules.rest([rule.id for rule, _ in found.rules]), "set to rest", as_json)
        return
    if as_json:
        emit_json(found)
        return
    if found.rules:
        rows = [[rule.id, day, rule.text] for rule, day in found.rules]
        table(rows, ["rule", "last needed", "in your words"])
    emit(f"{plural(len(found.rules), 'rule')} not needed for {plural(days, 'day')}")
    if not found.prompts:
        emit("no prompt was recorded in this period, so only your own words count")
    if found.rules:
        emit(f"to set them to rest: autopoiesis rules review --days {days} --rest")


@verb("autopoiesis rules worth", name="worth")
def worth(engine: Engine, as_json: bool) -> None:
    """Show how often you repeated each rule before and after accepting it, and what rules cost in prompts.

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
        table(rows, ["rule", "per week before", "after", "tokens", "in your words"])
    for line in worth_words(found):
        emit(line)


@verb("autopoiesis rules trigger 3f2a91c", "autopoiesis rules trigger 3f2a91c --pattern '\\bTODO\\b' --apply",
      name="trigger")  # fmt: skip
@click.argument("rule")
@click.option("--pattern", default="", metavar="REGEX", help="Text that breaks the rule.")
@click.option("--apply", "is_applied", is_flag=True, help="Write the topic and commit it.")
def trigger(engine: Engine, rule: str, pattern: str, is_applied: bool, as_json: bool) -> None:
    """Show a topic that detects violations of a rule in what agents write and run; with --apply, write it.

    When it fires, the next prompt tells the agent to correct the violation. If the rule's wording does not
    say what a violation looks like, give --pattern.
    """
    topic = engine.kept_rules.watch(rule, pattern, apply=is_applied)
    if as_json:
        emit_json(topic)
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
