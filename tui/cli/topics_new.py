"""``topics new``: a playbook from a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

import click

from engine.errors import AutopoiesisError
from engine.store import programs
from tui.cli.base import commit_text, emit, emit_json, emit_problems, is_terminal, plain, read_text, verb
from tui.cli.topics_past import play, print_replay, tree_of
from tui.kit.editor import editor_command, with_terminal
from tui.render.figures import plural

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.playbooks.draft import Draft
    from engine.playbooks.playbooks import Quote

_ENOUGH = 15


@verb(
    "autopoiesis topics new   # asks",
    'autopoiesis topics new "Release" --when "A version is prepared." --instructions - <steps.md',
    'autopoiesis topics new "Release" --when "A version is prepared." --example "cut 1.4"',
    name="new",
)
@click.argument("title", required=False, default="")
@click.option("--when", default="", help="When it applies, in one sentence.")
@click.option(
    "--instructions", default="", metavar="TEXT|-", help="What to do then, as Markdown; - reads it."
)
@click.option("--example", "examples", multiple=True, help="A way to ask for it. Repeatable; 10–15 are good.")
@click.option(
    "--examples", "file", type=click.File(encoding="utf-8"), help="A file of ways to ask, one a line."
)
@click.option("--ask", is_flag=True, help="Have the configured model write ways to ask, once.")
@click.option("--edit", is_flag=True, help="Fill in the rest, and check it, in $EDITOR.")
@click.option("--no-replay", is_flag=True, help="Do not show what it would have done in the past.")
def topics_new(
    engine: Engine,
    title: str,
    when: str,
    instructions: str,
    examples: tuple[str, ...],
    file: TextIO | None,
    ask: bool,
    edit: bool,
    no_replay: bool,
    as_json: bool,
) -> None:
    """Make a playbook, and show which of your past messages would have activated it.

    On a terminal it asks for what is missing, shows the draft, and writes it once you agree. The ways to ask
    for it are what teaches the engine to recognise the situation: type some, or have a model write them.
    """
    from engine.playbooks.draft import drafted, text_of  # noqa: PLC0415 — loads the engine

    asks = is_terminal() and not as_json
    if not (title and when) and not asks and not edit:
        raise click.UsageError("give TITLE and --when, or run it on a terminal")
    if asks and not edit:
        title = title or click.prompt("Title")
        when = when or click.prompt("It applies when")
    is_edited = edit
    lines = [*examples, *(file.read().splitlines() if file is not None else ())]
    if edit and not (title and when):
        draft = _edited(engine, None)
        edit = False
    else:
        draft = drafted(title, when, read_text(instructions), lines)
    if asks and not edit and not draft.instructions:
        draft = drafted(title, when, _lines("What to do then, in Markdown"), lines)
    engine.playbooks.refuse_taken(draft)
    if ask or not draft.examples:
        draft = _with_written(engine, draft, must=ask, asks=asks)
    if asks and not edit and not draft.examples:
        emit("Ways to ask for it teach the engine to recognise the situation: 10–15 are good.")
        draft = drafted(title, when, draft.instructions, _lines("Ways to ask, one a line").splitlines())
    if edit:
        draft = _edited(engine, draft)
    while asks:
        emit(f"\n{text_of(draft).decode()}")
        answer = click.prompt(
            "w write it, e edit it, q quit", type=click.Choice(["w", "e", "q"]), default="w"
        )
        if answer == "q":
            emit("nothing was written")
            return
        if answer == "w":
            break
        draft, is_edited = _again(engine, draft), True
    made = engine.playbooks.create(draft, from_form=is_edited)
    found = None if no_replay else play(engine)
    if as_json:
        emit_json(
            {**plain(made), "draft": draft, "replay": None if found is None else tree_of(found[made.name])}
        )
        return
    committed = commit_text(made.commit.revision, made.commit.why)
    emit(f"{made.path}: {plural(len(draft.examples), 'way')} to ask; {committed}")
    if len(draft.examples) < _ENOUGH // 3:
        emit_problems([f"few ways to ask: add some to `examples` in {made.path}, or --ask a model for them"])
    if not draft.instructions:
        emit_problems([f"{made.path} has no instructions yet: write them there"])
    if found is not None:
        print_replay(engine, found, made.name, asks=asks)


def _again(engine: Engine, draft: Draft) -> Draft:
    """A draft edited once more; if what was written is not complete, it is said, and the form kept."""
    try:
        return _edited(engine, draft)
    except AutopoiesisError as error:
        emit_problems([error])
        return draft


def _with_written(engine: Engine, draft: Draft, *, must: bool, asks: bool) -> Draft:
    """The draft with ways to ask by a model, if one is configured and the person agrees to the cost."""
    quote = engine.playbooks.quote(draft)
    if quote is None and not must:
        return draft
    if quote is not None and must:
        click.echo(f"asking {quote.model} once, for {_price(quote)}", err=True)
    elif quote is not None:
        question = f"Have {quote.model} write {_ENOUGH} ways to ask for it, for {_price(quote)}?"
        if not (asks and click.confirm(question, default=True)):
            return draft
    try:
        written = engine.playbooks.utterances(draft)
    except AutopoiesisError as error:
        if must and not asks:
            raise
        emit_problems([error])
        return draft
    cost = "" if written.usd is None else f" for ${written.usd:.4f}"
    click.echo(f"{written.model} wrote {plural(len(written.examples), 'way')} to ask{cost}", err=True)
    from dataclasses import replace  # noqa: PLC0415 — as above

    return replace(draft, examples=tuple(dict.fromkeys((*draft.examples, *written.examples))))


def _price(quote: Quote) -> str:
    return "a price that is not known" if quote.usd is None else f"at most ${quote.usd:.4f}"


def _lines(what: str) -> str:
    """Lines typed up to an empty one."""
    emit(f"{what}; an empty line ends it.")
    found: list[str] = []
    while line := click.prompt(" ", default="", show_default=False, prompt_suffix="> "):
        found.append(line)
    return "\n".join(found)


def _edited(engine: Engine, draft: Draft | None) -> Draft:
    """A draft as changed in the person's editor.

    Raises:
        AutopoiesisError: No editor is set, it failed, or the draft is not complete; the form is kept.
    """
    playbooks = engine.playbooks
    words = editor_command(engine.workspace.root / playbooks.open_form(draft))
    program = programs.find(words[0]) if words else None
    if program is None:
        raise AutopoiesisError("no editor is set", hint="set $EDITOR")
    code, problem = with_terminal([program, *words[1:]])
    if problem or code:
        raise AutopoiesisError(f"{words[0]} failed: {problem or f'exit code {code}'}; nothing was written")
    return playbooks.read_form()
