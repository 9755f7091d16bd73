"""Which of our hooks an agent runs: Codex runs a hook only after the person has trusted that version."""

from __future__ import annotations

import json
import os
import re
import tomllib
from hashlib import sha256
from pathlib import Path
from typing import Any

from engine.agents.entries import hooks_in

_KEY = re.compile(r"(?P<path>.+):(?P<place>\w+:\d+:\d+)", re.DOTALL)
_WORD = re.compile(r"(?<!^)(?=[A-Z])")
_OURS = {"type", "command", "timeout"}


def untrusted(hooks: Path, text: str, settings: str) -> tuple[int, int]:
    """The number of our hooks that the person still has to trust, and the number of all our hooks.

    Args:
        hooks: The file that contains them.
        text: Its text, which must be valid.
        settings: The text of the settings that list trusted hooks in ``[hooks.state]``. If it is invalid,
            trust is unknown and both numbers are 0.
    """
    try:
        state = tomllib.loads(settings).get("hooks", {}).get("state", {})
        kept = {
            found["place"]: each.get("trusted_hash")
            for key, each in state.items()
            if (found := _KEY.fullmatch(key)) and os.path.realpath(found["path"]) == os.path.realpath(hooks)
        }
    except (tomllib.TOMLDecodeError, AttributeError):
        return 0, 0
    waiting = number = 0
    for event, at, place, group in hooks_in(text):
        label = _WORD.sub("_", event).lower()
        hash_kept, hook = kept.get(f"{label}:{at}:{place}"), group["hooks"][place]
        # The hash of a hook with additional keys cannot be computed here.
        is_known = group.keys() == {"hooks"} and hook.keys() == _OURS
        waiting += hash_kept is None or (is_known and hash_kept != _hash_of(label, hook))
        number += 1
    return waiting, number


def _hash_of(label: str, hook: dict[str, Any]) -> str:
    """The hash as computed by Codex 0.169: of the hook with defaults filled in, as JSON with sorted keys."""
    identity = {"event_name": label, "hooks": [{**hook, "async": False}]}
    text = json.dumps(identity, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return f"sha256:{sha256(text.encode()).hexdigest()}"
