"""Session logs of other agents, imported into transcripts (design 7): Claude Code and Codex."""
