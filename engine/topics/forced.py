"""Topics switched on or off by hand, stored in ``topics/.state.yaml``.

Unlike ``scratch/``, the file is part of the workspace, so a topic that was switched off stays off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, Problem, TopicError
from engine.store import yamltext
from engine.store.spelling import composed

if TYPE_CHECKING:
    from engine.store.files import Files

STATE_FILE = "topics/.state.yaml"
_KEY = "forced"
_MAX_BYTES = 1024 * 1024
_WORDS = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}
_COMMENT = (
    "# Topics switched on or off by hand. Written by the workbench and by: autopoiesis topics activate\n"
)
_HINT = "fix it, or delete it to leave every topic to its triggers"


def read(files: Files) -> tuple[dict[str, bool], tuple[Problem, ...]]:
    """The states by topic, including unknown topics, and the problems of the file."""
    try:
        data = files.read(STATE_FILE, limit=_MAX_BYTES)
    except FileNotFoundError:
        return {}, ()
    except AutopoiesisError as error:
        return {}, (Problem(STATE_FILE, 0, error.what, error.hint or _HINT),)
    return _parsed(data)


def write(files: Files, name: str, on: bool | None) -> dict[str, bool]:
    """Sets or (``None``) removes the state of one topic, and returns the states by topic.

    Raises:
        TopicError: The file is invalid, so that it cannot be changed without losing data.
        WriteFailed, ReadOnly: The file cannot be written.
    """
    state: dict[str, bool] = {}

    def change(old: bytes | None) -> bytes | None:
        known, problems = _parsed(old) if old is not None else ({}, ())
        if problems:
            first = problems[0]
            where = f"{STATE_FILE}:{first.line}" if first.line else STATE_FILE
            raise TopicError(first.what, where=where, hint=first.hint)
        state.clear()  # an editor may have saved the file since the first attempt
        state.update(known)
        state.pop(name, None)
        if on is not None:
            state[name] = on
        if not state:
            return None
        lines = [f'  "{_escaped(topic)}": {"on" if state[topic] else "off"}\n' for topic in sorted(state)]
        return f"{_COMMENT}{_KEY}:\n{''.join(lines)}".encode("utf-8", "replace")

    files.update(STATE_FILE, change)
    return state


def _parsed(data: bytes) -> tuple[dict[str, bool], tuple[Problem, ...]]:
    try:
        tree = yamltext.parse(data.decode("utf-8-sig"), max_bytes=_MAX_BYTES)
    except UnicodeDecodeError:
        return {}, (Problem(STATE_FILE, 0, "is not UTF-8 text", _HINT),)
    except yamltext.YamlError as error:
        return {}, (Problem(STATE_FILE, error.line, error.what, _HINT),)
    section = tree.get(_KEY, "")
    if section == "":
        return {}, ()
    if not isinstance(section, yamltext.Mapping):
        return {}, (
            Problem(STATE_FILE, tree.line_of(_KEY), f"{_KEY} must be lines of 'topic: on' or 'off'", _HINT),
        )
    state: dict[str, bool] = {}
    problems: list[Problem] = []
    for name, value in section.items():
        known = _WORDS.get(value.strip().lower()) if isinstance(value, str) else None
        if known is None:
            what = f"the state of {name!r} must be on or off"
            problems.append(Problem(STATE_FILE, section.line_of(name), what, _HINT))
        else:
            state[composed(name)] = known
    return state, tuple(problems)


def _escaped(text: str) -> str:
    """A text escaped for a double-quoted YAML scalar on one line."""
    return "".join(
        f"\\{character}"
        if character in '"\\'
        else character
        if character.isprintable()
        else f"\\U{ord(character):08X}"
        for character in text
    )
