"""Session logs of other agents, imported into transcripts (design 7): Claude Code and Codex."""

from engine.transcripts.importers.drafts import IDLE_S, Status
from engine.transcripts.importers.log import Kind
from engine.transcripts.importers.run import (
    ImportResult,
    discover,
    import_all,
    import_file,
    is_session_log,
    log_folder,
)

__all__ = [
    "IDLE_S",
    "ImportResult",
    "Kind",
    "Status",
    "discover",
    "import_all",
    "import_file",
    "is_session_log",
    "log_folder",
]
