"""Settings of commits, and of the remote by which machines are kept equal (spec 3)."""

from __future__ import annotations

from typing import Annotated, Literal

from engine.settings.base import Limits, Settings, acting
from engine.startup.records import dataclass


@dataclass(frozen=True)
class WordingSettings:
    """The service that words commit messages."""

    provider: Literal["none", "anthropic", "openai", "gemini", "claude-code"]
    model: str
    base_url: str


@dataclass(frozen=True)
class GitSettings(Settings):
    """What is committed without asking, and where it is sent."""

    auto_commit: bool = True
    """Commit a transcript when its session ends, notes that a flush takes, changes that commands make, and
    what you and agents change in knowledge, as often as ``git.commit_interval_minutes`` says."""
    commit_interval_minutes: Annotated[int, Limits(ge=0, le=10_080)] = 30
    """How often the workbench, ``watch`` and ``serve`` commit what has changed in knowledge, topics, presets,
    archive, attachments, skills, probes and settings; they do so when they are closed, too. 0: not at all."""
    commit_message_provider: Literal["none", "anthropic", "openai", "gemini", "claude-code"] = acting(
        "none", "sends what changed in knowledge to a model that words commit messages"
    )
    """Who words the messages of these commits, and of ``commit``. ``none``: no model, they list what changed.
    The others as ``gate.provider``."""
    commit_message_model: str = acting("", "")
    """Model of the provider; empty: the provider's cheapest known one."""
    commit_message_base_url: str = acting("", "names the server of the model that words commit messages")
    """As ``gate.base_url``, with the same key."""
    commit_message_deadline_s: Annotated[float, Limits(gt=0, le=60)] = 10.0
    """Total time for a message, seconds; then the commit gets the one that lists what changed."""
    auto_tag_daily: bool = True
    """Name the last commit of each day and of each week that has any, as ``memory/daily/2026-02-16`` and
    ``memory/weekly/2026-W07``."""
    remote: str = acting("", "sends the whole memory to a git remote, and takes in what is there")
    """The git remote by which ``sync`` keeps the memories of your machines equal, as ``origin``; empty: none.
    Its address is the one that ``git remote add`` gave it on each machine."""
    auto_push: bool = acting(False, "sends new commits to the remote by itself")
    """Where the workbench, ``watch`` or ``serve`` runs: send new commits to ``remote`` when they are made.
    Nothing is merged by itself; what the remote does not take waits for ``sync``."""

    shared: tuple[str, ...] = acting((), "fetches the knowledge of others, which prompts then hold")
    """The addresses from which ``share update`` brings knowledge that others share; ``share add`` and ``share
    remove`` change this list. What ``.gitmodules`` names besides is never fetched."""
    private: Literal["none", "git-crypt"] = acting("none", "runs git-crypt, which encrypts private files")
    """``git-crypt``: what lies in ``knowledge/private/`` is committed encrypted, or not at all; ``private
    setup`` sets it up."""

    @property
    def wording(self) -> WordingSettings:
        """Who words commit messages, as other settings name a service."""
        return WordingSettings(
            self.commit_message_provider, self.commit_message_model, self.commit_message_base_url
        )
