"""What the cache screen changes, a discussion's cache or a setting, and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tui.kit.full_screen import committed
from tui.screens.cache.settings import CONFIG, said

if TYPE_CHECKING:
    from engine.discussions.ending import Ending
    from engine.settings.editing import Configuration

Verb = Literal["invalidate", "disable", "enable"]
BY_HAND = "given up by hand"


@dataclass(frozen=True, slots=True)
class CacheChange:
    """A discussion, and what is to become of its cache."""

    discussion_id: str
    name: str
    """What the discussion is called."""
    verb: Verb

    def make(self, ending: Ending) -> str:
        """Makes the change, which may take seconds, and says what came of it."""
        match self.verb:
            case "invalidate":
                after = ending.invalidate(self.discussion_id, BY_HAND)
                done = "its cache is given up; the next call begins another one"
                return f"{self.name}: {done if after.why == BY_HAND else after.why or done}"
            case "disable":
                ending.disable(self.discussion_id)
                return f"{self.name}: no caches are asked for any more"
            case "enable":
                ending.enable(self.discussion_id)
                return f"{self.name}: caches are asked for again"


def set_value(configuration: Configuration, name: str, value: object) -> str:
    """Writes a setting and says what became of it: before and after, where, and its commit."""
    change = configuration.change(name, value)
    values = f"{said(change.name, change.before)} → {said(change.name, change.after)}"
    place = f"{CONFIG}:{change.line}" if change.line else CONFIG
    return f"{change.name}: {values} · {place} · {committed(change.commit, change.why)}"
