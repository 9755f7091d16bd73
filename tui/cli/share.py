"""``share``: other people's knowledge. ``private``: knowledge that is committed encrypted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tui.cli.base import commit_text, emit, emit_json, emit_problems, emitted_json, group, table
from tui.render.figures import plural

if TYPE_CHECKING:
    from engine.engine import Engine


@group(
    "autopoiesis share add https://example.org/team-knowledge.git --name team",
    "autopoiesis share list",
    "autopoiesis share update",
)
def share() -> None:
    """Manage other people's knowledge, in git submodules below knowledge/shared/."""


@share.verb("list", "autopoiesis share list", "autopoiesis share list --json")
def share_list(engine: Engine, as_json: bool) -> int:
    """List shared knowledge: its address, commit and problems."""
    found = engine.sharing.all()
    if as_json:
        emit_json(found)
        return 0
    if found:
        rows = [[each.name, each.recorded[:8] or "–", each.problem or "ok", each.address] for each in found]
        table(rows, ["name", "recorded", "", "from"])
    else:
        emit("no shared knowledge yet: autopoiesis share add ADDRESS")
    emit_problems(f"autopoiesis: {each.path}: {each.problem}; {each.hint}" for each in found if each.problem)
    return 0


@share.verb("add", "autopoiesis share add https://example.org/team-knowledge.git --name team")
@click.argument("address")
@click.option("--name", default="", help="The folder in knowledge/shared/; by default taken from ADDRESS.")
@click.option("--branch", default="", help="The branch to follow; by default the remote's HEAD.")
def share_add(engine: Engine, address: str, name: str, branch: str, as_json: bool) -> None:
    """Add the knowledge at ADDRESS as knowledge/shared/NAME.

    ADDRESS is an https or ssh address, or a local folder. Its files are searched and quoted in prompts as
    other people's words: they are never treated as instructions and never changed here. git.shared lists the
    addresses that may be fetched from.
    """
    found = engine.sharing.add(address, name, branch)
    if emitted_json(as_json, found):
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
@click.option("--recorded", is_flag=True, help="Check out the recorded commit, as after a clone or a sync.")
@click.option("--rewound", is_flag=True, help="Follow the branch even if it lost commits.")
def share_update(engine: Engine, names: tuple[str, ...], recorded: bool, rewound: bool, as_json: bool) -> int:
    """Fetch the latest shared knowledge, all of it or by NAME, check it out, and record it."""
    done = engine.sharing.update(names, recorded=recorded, rewound=rewound)
    if as_json:
        emit_json(done)
    for each in () if as_json else done:
        if not each.why:
            is_new = each.before != each.after
            step = f"{each.before[:8] or 'nothing'} → {each.after[:8]}"
            emit(f"{each.name}: {step if is_new else f'already at {each.after[:8]}'}")
    emit_problems(f"autopoiesis: {each.why}" for each in done if each.why)
    return 1 if any(each.why for each in done) else 0


@share.verb("remove", "autopoiesis share remove team")
@click.argument("name")
def share_remove(engine: Engine, name: str, as_json: bool) -> None:
    """Remove shared knowledge NAME and its folder, unless the folder has local changes."""
    found = engine.sharing.remove(name)
    emit_json(found) if as_json else emit(
        f"removed {found.path}; nothing is fetched from {found.address} any more"
    )


@group("autopoiesis private setup", "autopoiesis private status")
def private() -> None:
    """Manage knowledge/private/: plain text on this disk, encrypted in every commit (git-crypt)."""


@private.verb("setup", "autopoiesis private setup")
def private_setup(engine: Engine, as_json: bool) -> int:
    """Create a key, have git-crypt encrypt knowledge/private/, and commit its files.

    The key exists only in .git/git-crypt/: keep a copy (git-crypt export-key FILE), and use it to unlock
    clones on other machines (git-crypt unlock FILE). Needs git-crypt.
    """
    done = engine.private.setup()
    if as_json:
        emit_json(done)
        return 1 if done.left else 0
    created = "created a key; keep a copy of it: git-crypt export-key FILE"
    emit(created if done.made_key else "a key already exists; anyone who has it can read what it encrypts")
    count = plural(len(done.encrypted), "file")
    emit(f"{count} encrypted from now on; {commit_text(done.revision, 'nothing changed')}")
    for path in done.in_history:
        emit(f"{path} is in plain text in earlier commits, and stays readable there")
    emit_problems(f"autopoiesis: {path}: {why}" for path, why in done.left.items())
    return 1 if done.left else 0


@private.verb("status", "autopoiesis private status", "autopoiesis private status --json")
def private_status(engine: Engine, as_json: bool) -> int:
    """Show the state of every private file. Exit 1 if something is wrong."""
    found = engine.private.state()
    if as_json:
        emit_json(found)
        return 1 if found.problem else 0
    words = {True: "yes", False: "no"}
    table(
        [
            ["git.private is on", words[found.counts]],
            ["git-crypt is installed", words[found.installed]],
            ["this clone has the key", words[found.unlocked]],
        ]
    )
    states = {
        "locked": "encrypted, locked",
        "waiting": "not committed yet",
        "uncovered": "would not be encrypted",
        "in clear": "in plain text in the latest commit",
    }
    table([[f"  {path}", states.get(state, state)] for path, state in found.files.items()])
    emit_problems([f"autopoiesis: {found.problem}; {found.hint}"] if found.problem else [])
    return 1 if found.problem else 0
