"""Settings of commits, and of the remote used for synchronising machines (spec 3)."""

from __future__ import annotations

from typing import Annotated, Literal

from engine.settings.base import Limits, Settings, acting
from engine.startup.records import dataclass


@dataclass(frozen=True)
class WordingSettings:
    """The service that writes commit messages."""

    provider: Literal["none", "anthropic", "openai", "gemini", "claude-code"]
    model: str
    base_url: str


@dataclass(frozen=True)
class GitSettings(Settings):
    """What is committed automatically, and where it is pushed."""

    auto_commit: bool = True
    """Commit transcripts when sessions end, notes taken by flushes, changes made by commands, and, every
    ``git.commit_interval_minutes``, what you and agents change in knowledge."""
    commit_interval_minutes: Annotated[int, Limits(ge=0, le=10_080)] = 30
    """How often the workbench, ``watch`` and ``serve`` commit changes in knowledge, topics, presets, archive,
    attachments, skills, probes and settings; they also do so on exit. 0: never."""
    commit_message_provider: Literal["none", "anthropic", "openai", "gemini", "claude-code"] = acting(
        "none", "sends changes in knowledge to a model that writes commit messages"
    )
    """The model that writes the messages of these commits, and of ``commit``. ``none``: no model; messages
    list what changed. Others as for ``gate.provider``."""
    commit_message_model: str = acting("", "")
    """The provider's model; empty: its cheapest known one."""
    commit_message_base_url: str = acting("", "sets the server of the model that writes commit messages")
    """As ``gate.base_url``, with the same key."""
    commit_message_deadline_s: Annotated[float, Limits(gt=0, le=60)] = 10.0
    """Seconds for a message; after that the message lists what changed."""
    auto_tag_daily: bool = True
    """Tag the last commit of each day and week, as ``memory/daily/2026-02-16`` and
    ``memory/weekly/2026-W07``. """
    remote: str = acting("", "pushes the whole memory to a git remote, and merges its commits")
    """The git remote that ``sync`` uses to synchronise your machines, such as ``origin``; empty: none. Its
    address is set on each machine with ``git remote add``."""
    auto_push: bool = acting(False, "pushes new commits to the remote automatically")
    """Push new commits to ``remote`` as they are made, while the workbench, ``watch`` or ``serve`` is
    running. Nothing is merged automatically; commits that the remote rejects wait for ``sync``."""

    shared: tuple[str, ...] = acting((), "fetches other people's knowledge into prompts")
    """The addresses that ``share update`` fetches shared knowledge from; changed by ``share add`` and ``share
    remove``. Other addresses in ``.gitmodules`` are never fetched."""
    private: Literal["none", "git-crypt"] = acting("none", "runs git-crypt, which encrypts private files")
    """``git-crypt``: files in ``knowledge/private/`` are committed encrypted, or not at all; set up with
    ``private setup``."""

    @property
    def wording(self) -> WordingSettings:
        """The service that writes commit messages."""
        return WordingSettings(
            self.commit_message_provider, self.commit_message_model, self.commit_message_base_url
        )
