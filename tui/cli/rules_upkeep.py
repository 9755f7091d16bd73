"""``rules known``, ``export`` and ``trigger``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tui.cli.base import commit_text, emit, emit_json, emit_problems, plain, verb
from tui.render.figures import plural

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
    found = engine.rules.known_elsewhere(file)
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
    exported = engine.rules.export(rule, to, apply=is_applied)
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
    topic = engine.rules.watch(rule, pattern, apply=is_applied)
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
