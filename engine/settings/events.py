"""Settings of what schedules and webhooks start (spec 4.4)."""

from __future__ import annotations

from typing import Annotated

from engine.settings.base import Limits, Settings, acting
from engine.startup.records import dataclass


@dataclass(frozen=True)
class EventSettings(Settings):
    """What happens when a schedule of a topic comes due, or a webhook arrives."""

    command: tuple[str, ...] = acting((), "runs a command for each schedule and webhook that has a playbook")
    """A command and its arguments, run once for each event that activates a topic, where the workbench,
    ``watch`` or ``serve`` runs: without a shell, in your home folder, with the prompt on its standard input.
    Empty: none; agents ask for events with ``autopoiesis events next``."""
    command_deadline_s: Annotated[float, Limits(gt=0, le=86_400)] = 600.0
    """How long one run of it may take, seconds; then it is ended and counts as failed."""
    github_secret: str = acting("", "takes in webhooks that are signed with an environment variable it names")
    """The environment variable that holds the secret of GitHub's webhooks; empty:
    ``AUTOPOIESIS_WEBHOOK_SECRET_GITHUB``."""
