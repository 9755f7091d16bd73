"""``share``: knowledge of others. ``private``: what is committed encrypted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tui.cli.base import emit, emit_json, emit_problems, group, kept, table
from tui.render.figures import plural

if TYPE_CHECKING:
    from engine.engine import Engine


@group(
    "autopoiesis share add https://example.org/team-knowledge.git --name team",
    "autopoiesis share list",
    "autopoiesis share update",
)
def share() -> None:
    """Knowledge of others, in git submodules below knowledge/shared/."""


@share.verb("list", "autopoiesis share list", "autopoiesis share list --json")
def share_list(engine: Engine, as_json: bool) -> int:
    """List the knowledge of others: where from, which commit, and what is wrong."""
    found = engine.sharing.all()
    if as_json:
        emit_json(found)
        return 0
    if found:
        rows = [
            [each.name, each.recorded[:8] or "–", each.problem or "in order", each.address] for each in found
        ]
        table(rows, ["name", "recorded", "", "from"])
    else:
        emit("nothing of others is shared here: autopoiesis share add ADDRESS")
    emit_problems(f"autopoiesis: {each.path}: {each.problem}; {each.hint}" for each in found if each.problem)
    return 0


@share.verb("add", "autopoiesis share add https://example.org/team-knowledge.git --name team")
@click.argument("address")
@click.option("--name", default="", help="Of its folder in knowledge/shared/; made of ADDRESS when left out.")
@click.option("--branch", default="", help="The branch to follow; the one that they are on when left out.")
def share_add(engine: Engine, address: str, name: str, branch: str, as_json: bool) -> None:
    """Fetch the knowledge at ADDRESS into knowledge/shared/NAME, and record it.

    ADDRESS is an https or ssh address, or a folder of this machine. What lies there is searched and stands in
    prompts as words of others: it gives no orders, and nothing here ever changes it. That its address may be
    fetched from is kept in git.shared.
    """
    found = engine.sharing.add(address, name, branch)
    if as_json:
        emit_json(found)
        return
    emit(f"{found.path} is at {found.recorded[:8]} of {found.address}; recorded and committed")
    emit_problems([f"autopoiesis: {found.problem}; {found.hint}"] if found.problem else [])


@share.verb(
    "update",
    "autopoiesis share update",
    "autopoiesis share update team",
    "autopoiesis share update --recorded",
)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--recorded", is_flag=True, help="Check out what the memory records, as after a clone or a sync."
)
@click.option("--rewound", is_flag=True, help="Follow though commits that were there have gone.")
def share_update(engine: Engine, names: tuple[str, ...], recorded: bool, rewound: bool, as_json: bool) -> int:
    """Fetch the newest of what others share, all or by NAME, check it out, and record it."""
    done = engine.sharing.update(names, recorded=recorded, rewound=rewound)
    if as_json:
        emit_json(done)
    for each in () if as_json else done:
        if not each.why:
            is_new = each.before != each.after
            was = f"{each.before[:8] or 'nothing'} → {each.after[:8]}"
            emit(f"{each.name}: {was if is_new else f'at {each.after[:8]} already'}")
    emit_problems(f"autopoiesis: {each.why}" for each in done if each.why)
    return 1 if any(each.why for each in done) else 0


@share.verb("remove", "autopoiesis share remove team")
@click.argument("name")
def share_remove(engine: Engine, name: str, as_json: bool) -> None:
    """Take what others share under NAME out of the memory, with its folder, unless you changed it there."""
    found = engine.sharing.remove(name)
    emit_json(found) if as_json else emit(
        f"{found.path} is gone; nothing is fetched from {found.address} any more"
    )


@group("autopoiesis private setup", "autopoiesis private status")
def private() -> None:
    """Knowledge in knowledge/private/, readable on this disk and encrypted in every commit (git-crypt)."""


@private.verb("setup", "autopoiesis private setup")
def private_setup(engine: Engine, as_json: bool) -> int:
    """Make a key, have git-crypt encrypt knowledge/private/, and commit what lies there.

    The key lies in .git/git-crypt/ alone: keep a copy (git-crypt export-key FILE), and unlock a clone on
    another machine with it (git-crypt unlock FILE). Needs git-crypt.
    """
    done = engine.private.setup()
    if as_json:
        emit_json(done)
        return 1 if done.left else 0
    made = "a key was made: keep a copy of it, git-crypt export-key FILE"
    emit(made if done.made_key else "there is a key already; who else has it can read what it encrypts")
    count = plural(len(done.encrypted), "file")
    emit(f"{count} encrypted from now on; {kept(done.revision, 'it was so already')}")
    for path in done.in_history:
        emit(f"{path} stands in clear in earlier commits, and stays readable there")
    emit_problems(f"autopoiesis: {path}: {why}" for path, why in done.left.items())
    return 1 if done.left else 0


@private.verb("status", "autopoiesis private status", "autopoiesis private status --json")
def private_status(engine: Engine, as_json: bool) -> int:
    """Show how private files are kept, file by file. Exit 1 when something is wrong."""
    found = engine.private.state()
    if as_json:
        emit_json(found)
        return 1 if found.problem else 0
    words = {True: "yes", False: "no"}
    table(
        [
            ["git.private counts", words[found.counts]],
            ["git-crypt is installed", words[found.installed]],
            ["this clone has the key", words[found.unlocked]],
        ]
    )
    said = {
        "locked": "encrypted, locked",
        "waiting": "in no commit yet",
        "uncovered": "would not be encrypted",
        "in clear": "in clear in the newest commit",
    }
    table([[f"  {path}", said.get(state, state)] for path, state in found.files.items()])
    emit_problems([f"autopoiesis: {found.problem}; {found.hint}"] if found.problem else [])
    return 1 if found.problem else 0
