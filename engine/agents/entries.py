"""Our entries in an agent's settings: found, put in and taken out, as text and nothing else.

A hook is ours where its command runs ``autopoiesis-hook``, an MCP server where it is called ``autopoiesis``.
Whatever is done is read again: where anything but our entries would differ, nothing is done.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.agents import jsonc
from engine.agents.contracts import Contract
from engine.agents.jsonc import JsonError, Node

HOOK = "autopoiesis-hook"
SERVER = "autopoiesis"

Entries = Mapping[str, Any]
"""Of hooks: the group of each event. Of servers: ours, by its name."""


class NotUnderstood(ValueError):
    """The settings cannot be changed without a risk for what else stands in them."""


@dataclass(frozen=True, slots=True)
class Section:
    """One kind of our entries in one form of file."""

    what: str
    read: Callable[[str], Entries]
    """Ours, in a text. Raises ``JsonError``, ``NotUnderstood`` where it cannot be read."""

    put: Callable[[str, Entries], str]
    """The text with entries, which it does not have yet."""

    take: Callable[[str], str]
    """The text without ours."""


def hooks_section() -> Section:
    """Hooks in JSON."""
    return Section("hooks", lambda text: _our_hooks(_loaded(text)), _put_hooks, _take_hooks)


def server_section(contract: Contract) -> Section:
    """The MCP server, in JSON or, for Codex, in TOML."""
    key = contract.mcp_key
    if contract.mcp is not None and contract.mcp.user.endswith(".toml"):
        return Section("MCP server", _our_table, _put_table, _take_table)
    return Section(
        "MCP server",
        lambda text: _our_servers(_loaded(text), key),
        lambda text, entries: _put_servers(text, key, entries),
        lambda text: _take_server(text, key),
    )


def wanted_hooks(contract: Contract, program: Path, workspace: Path | None) -> Entries:
    """What is to stand in its hooks.

    Args:
        program: ``autopoiesis-hook``, absolute.
        workspace: ``None`` for the one that is taken by default.
    """
    words = [str(program), contract.agent, *(() if workspace is None else ("-C", str(workspace)))]
    found: dict[str, Any] = {}
    for event in contract.events:
        handler: dict[str, Any] = {"type": "command", "command": shlex.join(words)}
        handler["timeout"] = event.seconds * contract.ticks
        if event.background:
            handler["async"] = True
        found[event.name] = {"hooks": [handler]}
    return found


def wanted_server(contract: Contract, program: Path, workspace: Path | None) -> Entries:
    """What is to stand among its MCP servers; the arguments are as for ``wanted_hooks``."""
    words = {"command": str(program), "args": ["mcp", *(() if workspace is None else ("-C", str(workspace)))]}
    return {SERVER: {"type": "stdio", **words} if contract.agent == "claude-code" else words}


def programs_in(entries: Entries) -> set[str]:
    """The programs that entries run."""
    found = set()
    for entry in entries.values():
        for handler in entry.get("hooks", ()):
            found.add(shlex.split(handler["command"])[0])
        if "command" in entry:
            found.add(str(entry["command"]))
    return found


def with_entries(text: str, section: Section, entries: Entries) -> str:
    """The text with these entries and none of our others; the same text where they stand in it.

    Raises:
        JsonError, NotUnderstood: It cannot be read, or nothing but our entries cannot be changed.
    """
    if section.read(text) == entries:
        return text
    before = _others(text, section)
    try:
        made = section.take(text)
        made = section.put(made, entries) if entries else made
        if section.read(made) == entries and _others(made, section) == before:
            return made
    except (NotUnderstood, JsonError) as error:
        raise NotUnderstood(f"cannot take our {section.what}: {error}") from None
    raise NotUnderstood(f"cannot take our {section.what} without touching what else stands there")


def _others(text: str, section: Section) -> object:
    """Everything but ours, and but what holds nothing, as values."""
    tree = _toml(text) if section.read is _our_table else _loaded(text).value
    if section.what != "hooks":
        return _pruned({key: _named_off(value) for key, value in tree.items()})
    if not isinstance(tree.get("hooks"), dict):
        return _pruned(tree)
    kept = {event: _without(groups) for event, groups in tree["hooks"].items()}
    return _pruned({**tree, "hooks": {event: groups for event, groups in kept.items() if groups != []}})


def _pruned(tree: Mapping[str, Any]) -> object:
    return {key: value for key, value in tree.items() if value != {}}


def _named_off(value: object) -> object:
    return {k: v for k, v in value.items() if k != SERVER} if isinstance(value, dict) else value


def _without(groups: object) -> object:
    if not isinstance(groups, list):
        return groups
    kept = []
    for group in groups:
        if not (isinstance(group, dict) and isinstance(group.get("hooks"), list)):
            kept.append(group)
        elif rest := [each for each in group["hooks"] if not _is_ours(each)]:
            kept.append({**group, "hooks": rest})
    return kept


def _loaded(text: str) -> Node:
    root = jsonc.parse(text)
    if not isinstance(root.value, dict):
        raise NotUnderstood("is no JSON object")
    return root


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_ours(handler: object) -> bool:
    command = _object(handler).get("command")
    if not isinstance(command, str):
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    return bool(words) and Path(words[0]).name == HOOK


def _our_hooks(root: Node) -> Entries:
    found: dict[str, Any] = {}
    for event, groups in _object(root.value.get("hooks")).items():
        for group in groups if isinstance(groups, list) else ():
            handlers = _object(group).get("hooks")
            ours = [each for each in handlers if _is_ours(each)] if isinstance(handlers, list) else []
            if ours:
                found[event] = {"hooks": [*found.get(event, {}).get("hooks", []), *ours]}
    return found


def _put_hooks(text: str, entries: Entries) -> str:
    for event, group in entries.items():
        text = _put(text, ("hooks", event), [group])
    return text


def _put(text: str, path: tuple[str, str], value: Any) -> str:
    """The text with items at the end of a list, or members at the end of an object, two keys down."""
    root = _loaded(text)
    outer, inner = path
    holder = root.get(outer)
    if holder is None:
        return jsonc.add(text, root, {inner: value}, outer)
    if not isinstance(holder.value, dict):
        raise NotUnderstood(f"holds something else than an object under {outer}")
    place = holder.get(inner)
    if place is None:
        return jsonc.add(text, holder, value, inner)
    if not isinstance(place.value, list):
        raise NotUnderstood(f"holds something else than a list under {outer}.{inner}")
    return jsonc.add(text, place, value[0])


def _take_hooks(text: str) -> str:
    while found := _first_of_ours(_loaded(text)):
        text = jsonc.remove(text, *found)
    return text


def _first_of_ours(root: Node) -> tuple[Node, Node] | None:
    """A hook of ours and what holds it, or the most that holds nothing but this hook and what holds that."""
    hooks = root.get("hooks")
    for event in hooks.children if hooks is not None and isinstance(hooks.value, dict) else ():
        for group in event.children if isinstance(event.value, list) else ():
            handlers = group.get("hooks") if isinstance(group.value, dict) else None
            for handler in handlers.children if handlers and isinstance(handlers.value, list) else ():
                if _is_ours(handler.value) and hooks is not None and handlers is not None:
                    held = [(root, hooks), (hooks, event), (event, group), (handlers, handler)]
                    while len(held) > 1 and len(held[-1][0].children) == 1:
                        held.pop()
                    return held[-1]
    return None


def _our_servers(root: Node, key: str) -> Entries:
    servers = _object(root.value.get(key))
    return {SERVER: servers[SERVER]} if isinstance(servers.get(SERVER), dict) else {}


def _put_servers(text: str, key: str, entries: Entries) -> str:
    for name, server in entries.items():
        text = _put(text, (key, name), server)
    return text


def _take_server(text: str, key: str) -> str:
    root = _loaded(text)
    servers = root.get(key)
    ours = servers.get(SERVER) if servers is not None and isinstance(servers.value, dict) else None
    if servers is None or ours is None:
        return text
    return jsonc.remove(text, *((servers, ours) if len(servers.children) > 1 else (root, servers)))


_KEY = r'(?:mcp_servers|"mcp_servers")[ \t]*\.[ \t]*(?:autopoiesis|"autopoiesis")'
_TABLE = re.compile(
    rf"(?P<gap>(?:(?<=\n)|\A)\r?\n)?(?:^|(?<=\n))[ \t]*\[[ \t]*{_KEY}[ \t]*(?:\.[^\]\n]*)?\][^\n]*"
    r"(?:\n(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*[\w\"'.-]+[ \t]*=[^\n]*)*(?P<end>\n|\Z)"
)


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NotUnderstood(f"is not TOML: {error}") from None


def _our_table(text: str) -> Entries:
    servers = _object(_toml(text).get("mcp_servers"))
    return {SERVER: servers[SERVER]} if SERVER in servers else {}


def _put_table(text: str, entries: Entries) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[mcp_servers.{SERVER}]"]
    lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entries[SERVER].items()]
    if text and not text.endswith("\n"):
        return text + newline * 2 + newline.join(lines)
    return text + (newline if text else "") + "".join(line + newline for line in lines)


def _take_table(text: str) -> str:
    while found := _TABLE.search(text):
        start = found.start()
        if not found["end"] and start:  # it was added to a file that does not end with a line break
            start = len(text[:start].removesuffix("\n").removesuffix("\r"))
        text = text[:start] + text[found.end() :]
    return text
