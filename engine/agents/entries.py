"""Finds, adds and removes our entries in the text of an agent's settings.

A hook is ours if its command runs ``autopoiesis-hook``, an MCP server if its name is ``autopoiesis``, and a
plugin, as a whole file, if its first line says so. Every result is parsed again; if anything but our entries
would change, the change is refused.
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from engine.agents import jsonc
from engine.agents.contracts import Contract
from engine.agents.jsonc import JsonError, Node

HOOK = "autopoiesis-hook"
SERVER = "autopoiesis"

Entries = Mapping[str, Any]
"""For hooks: the group of each event. For servers: ours, by name. For a plugin: its command and text hash."""


class CannotEdit(ValueError):
    """The settings cannot be changed without risking their other content."""


@dataclass(frozen=True, slots=True)
class Section:
    """One kind of entry in one file format; its functions raise ``JsonError`` and ``CannotEdit``."""

    what: str
    tree: Callable[[str], dict[str, Any]]  # everything in a text
    read: Callable[[str], Entries]  # our entries in a text
    add: Callable[[str, Entries], str]  # to a text without any
    remove: Callable[[str], str]
    kept: Callable[[str], dict[str, Any]] = lambda _text: {}  # what the person added to our entry


def sections(contract: Contract) -> tuple[Section, Section]:
    """The sections for an agent's hooks and MCP server."""
    hooks = Section("hooks", _json, _our_hooks, _add_hooks, _remove_hooks)
    if contract.hooks.user.endswith(".js"):
        hooks = Section("plugin", _foreign_plugin, _our_plugin, _add_plugin, _remove_plugin)
    key = contract.mcp_key
    if contract.mcp.user.endswith(".toml"):
        return hooks, Section(
            "MCP server",
            _toml,
            partial(_our_server, _toml, key),
            _add_table,
            _remove_table,
            partial(_added_to_server, _toml, key),
        )
    return hooks, Section(
        "MCP server",
        _json,
        partial(_our_server, _json, key),
        partial(_add_server, key),
        partial(_remove_server, key),
        partial(_added_to_server, _json, key),
    )


def desired(contract: Contract, folder: Path, workspace: Path | None) -> tuple[Entries, Entries]:
    """The entries that an installation adds to its hooks and MCP servers.

    Args:
        folder: Contains both programs; absolute.
        workspace: ``None`` for the default workspace.
    """
    named = [] if workspace is None else ["-C", str(workspace)]
    hooks: dict[str, Any] = {}
    for event in contract.events:
        handler = {
            "type": "command",
            "command": _guarded_command([str(folder / HOOK), contract.agent, *named]),
            "timeout": event.seconds * contract.ticks,
        }
        matcher = {"matcher": event.only} if event.only else {}
        hooks[event.name] = {**matcher, "hooks": [handler]}
    if contract.hooks.user.endswith(".js"):
        run = [str(folder / HOOK), contract.agent, *named]
        command = [str(folder / SERVER), "mcp", *named]
        return _our_plugin(_plugin(run)), {SERVER: {"type": "local", "command": command, "enabled": True}}
    server = {"type": "stdio"} if contract.agent == "claude-code" else {}
    return hooks, {SERVER: {**server, "command": str(folder / SERVER), "args": ["mcp", *named]}}


def programs_in(entries: Entries) -> list[str]:
    """The programs that entries run."""
    handlers = [handler for entry in entries.values() for handler in entry.get("hooks", ())]
    commands = [entry["command"] for entry in entries.values() if "command" in entry]
    servers = [str(each[0]) if isinstance(each, list) else str(each) for each in commands if each]
    return sorted({*servers, *(parse_command(handler["command"])[0] for handler in handlers)})


def _guarded_command(run: list[str]) -> str:
    """A shell command that runs a program, and does nothing once the program has been uninstalled: an agent
    must not report an error at every prompt because of it.
    """
    return f"[ ! -x {shlex.quote(run[0])} ] || exec {shlex.join(run)}"


def parse_command(command: str) -> list[str]:
    """The program and arguments that a hook's command runs, guarded or not; empty if it is not ours."""
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    run = words[words.index("exec") + 1 :] if words[:2] == ["[", "!"] and "exec" in words else words
    return run if run and Path(run[0]).name == HOOK else []


def with_entries(text: str, section: Section, entries: Entries) -> str:
    """The text with exactly these entries of ours; unchanged if it already has them. What the person added to
    an entry stays in it.

    Raises:
        JsonError, CannotEdit: It cannot be parsed, or our entries cannot be changed alone.
    """
    if section.read(text) == entries:
        return text
    try:
        made, kept = section.remove(text), section.kept(text) if entries else {}
        if entries:
            made = section.add(made, {name: {**entry, **kept} for name, entry in entries.items()})
        if (section.read(made), section.kept(made)) == (entries, kept) and _without_ours(
            section.tree(made)
        ) == _without_ours(section.tree(text)):
            return made
    except (CannotEdit, JsonError) as error:
        raise CannotEdit(f"cannot change our {section.what}: {error}") from None
    raise CannotEdit(f"cannot change our {section.what} without changing other settings")


def _without_ours(value: Any) -> Any:
    """A value without our entries and empty containers."""
    if isinstance(value, list):
        return [kept for each in value if (kept := _without_ours(each)) not in ({}, [])]
    if not isinstance(value, dict):
        return value
    if _is_ours(value) or (isinstance(value.get("hooks"), list) and not _without_ours(value["hooks"])):
        return {}
    return {
        key: kept
        for key, each in value.items()
        if key != SERVER and (kept := _without_ours(each)) not in ({}, [])
    }


def _is_ours(handler: object) -> bool:
    command = handler.get("command") if isinstance(handler, dict) else None
    return isinstance(command, str) and bool(parse_command(command))


def _json(text: str) -> dict[str, Any]:
    tree: dict[str, Any] = _root(text).value
    return tree


def _root(text: str) -> Node:
    root = jsonc.parse(text)
    if not isinstance(root.value, dict):
        raise CannotEdit("is not a JSON object")
    return root


def _add(text: str, outer: str, inner: str, value: Any) -> str:
    """The text with a member added two levels down or, if there is a list, with its item appended."""
    root = _root(text)
    holder = root.get(outer)
    if holder is None:
        return jsonc.add(text, root, {inner: value}, outer)
    if not isinstance(holder.value, dict):
        raise CannotEdit(f"{outer} is not an object")
    place = holder.get(inner)
    if place is None:
        return jsonc.add(text, holder, value, inner)
    if not isinstance(place.value, list):
        raise CannotEdit(f"{outer}.{inner} is not a list")
    return jsonc.add(text, place, value[0])


def _our_handlers(root: Node) -> Iterator[tuple[str, list[tuple[Node, Node]]]]:
    """Each of our hooks: its event, and the (parent, child) pairs that lead to it from the root."""
    hooks = root.get("hooks")
    for event in hooks.children if hooks is not None and isinstance(hooks.value, dict) else ():
        for group in event.children if isinstance(event.value, list) else ():
            handlers = group.get("hooks") if isinstance(group.value, dict) else None
            for handler in handlers.children if handlers and isinstance(handlers.value, list) else ():
                if _is_ours(handler.value) and hooks is not None and handlers is not None:
                    name = hooks.keys[hooks.children.index(event)]
                    yield name, [(root, hooks), (hooks, event), (event, group), (handlers, handler)]


def hooks_in(text: str) -> Iterator[tuple[str, int, int, dict[str, Any]]]:
    """Each of our hooks: its event, the index of its group, its index in the group, and the group."""
    for name, path in _our_handlers(_root(text)):
        (event, group), (handlers, handler) = path[2:]
        yield name, event.children.index(group), handlers.children.index(handler), group.value


def _our_hooks(text: str) -> Entries:
    found: dict[str, Any] = {}
    for event, path in _our_handlers(_root(text)):
        matcher = path[-2][1].value.get("matcher")
        group = {"hooks": []} if matcher in (None, "", "*") else {"matcher": matcher, "hooks": []}
        found.setdefault(event, group)["hooks"].append(path[-1][1].value)
    return found


def _add_hooks(text: str, entries: Entries) -> str:
    for event, group in entries.items():
        text = _add(text, "hooks", event, [group])
    return text


def _remove_hooks(text: str) -> str:
    while found := next(_our_handlers(_root(text)), None):
        path = found[1]
        while len(path) > 1 and len(path[-1][0].children) == 1:  # remove containers that would be empty
            path.pop()
        text = jsonc.remove(text, *path[-1])
    return text


_COMMAND = re.compile(r"(?m)^const COMMAND = (\[.*\])$")


@cache
def _shipped() -> str:
    return Path(__file__).with_name("opencode.js").read_text(encoding="utf-8")


def _plugin(command: list[str]) -> str:
    """The plugin that runs a program; JSON quoting keeps a path from ending its string literal."""
    return _COMMAND.sub(lambda _: f"const COMMAND = {json.dumps(command)}", _shipped())


def _our_plugin(text: str) -> Entries:
    if text.partition("\n")[0].rstrip() != _shipped().partition("\n")[0]:
        return {}
    command: list[str] = []
    if found := _COMMAND.search(text):
        with contextlib.suppress(ValueError, RecursionError):
            command = [*map(str, json.loads(found[1]))]
    return {"plugin": {"command": command, "text": sha256(text.encode("utf-8", "replace")).hexdigest()}}


def _foreign_plugin(text: str) -> dict[str, Any]:
    return {} if _our_plugin(text) or not text.strip() else {"text": text}


def _add_plugin(text: str, entries: Entries) -> str:
    if text.strip():
        raise CannotEdit("another plugin has this file name")
    return _plugin(entries["plugin"]["command"])


def _remove_plugin(text: str) -> str:
    return "" if _our_plugin(text) else text


_SERVER_KEYS = ("type", "command", "args", "enabled")
"""The keys we write for a server; any others, such as pre-approved tools, belong to the person."""


def _our_server(tree: Callable[[str], dict[str, Any]], key: str, text: str) -> Entries:
    servers = tree(text).get(key)
    ours = servers.get(SERVER) if isinstance(servers, dict) else None
    if not isinstance(ours, dict):
        return {}
    return {SERVER: {name: ours[name] for name in _SERVER_KEYS if name in ours}}


def _added_to_server(tree: Callable[[str], dict[str, Any]], key: str, text: str) -> dict[str, Any]:
    servers = tree(text).get(key)
    ours = servers.get(SERVER) if isinstance(servers, dict) else None
    if not isinstance(ours, dict):
        return {}
    return {name: value for name, value in ours.items() if name not in _SERVER_KEYS}


def _add_server(key: str, text: str, entries: Entries) -> str:
    return _add(text, key, SERVER, entries[SERVER])


def _remove_server(key: str, text: str) -> str:
    root = _root(text)
    servers = root.get(key)
    ours = servers.get(SERVER) if servers is not None and isinstance(servers.value, dict) else None
    if servers is None or ours is None:
        return text
    return jsonc.remove(text, *((servers, ours) if len(servers.children) > 1 else (root, servers)))


_KEY = r'(?:mcp_servers|"mcp_servers")[ \t]*\.[ \t]*(?:autopoiesis|"autopoiesis")'
_TABLE = re.compile(
    rf"(?:(?:(?<=\n)|\A)\r?\n)?(?:^|(?<=\n))[ \t]*\[[ \t]*{_KEY}[ \t]*(?:\.[^\]\n]*)?\][^\n]*"
    r"(?:\n(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*[\w\"'.-]+[ \t]*=[^\n]*)*(?P<end>\n|\Z)"
)
"""Our table or one below it, with the blank line before it."""


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CannotEdit(f"is not TOML: {error}") from None


def _add_table(text: str, entries: Entries) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[mcp_servers.{SERVER}]"]
    lines += [f"{_toml_key(key)} = {_toml_of(value)}" for key, value in entries[SERVER].items()]
    if text and not text.endswith("\n"):
        return text + newline * 2 + newline.join(lines)
    return text + (newline if text else "") + "".join(line + newline for line in lines)


_BARE = re.compile(r"[A-Za-z0-9_-]+")


def _toml_of(value: object) -> str:
    """A value in one line of TOML.

    Raises:
        CannotEdit: It is a date, which JSON lacks.
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml_key(key)} = {_toml_of(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml_of, value)) + "]"
    if not isinstance(value, str | int | float):
        raise CannotEdit("our server has a date")
    return json.dumps(value, ensure_ascii=False)


def _toml_key(key: str) -> str:
    return key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def _remove_table(text: str) -> str:
    while found := _TABLE.search(text):
        start = found.start()
        if not found["end"] and start:  # it was added to a file without a final line break
            start = len(text[:start].removesuffix("\n").removesuffix("\r"))
        text = text[:start] + text[found.end() :]
    return text
