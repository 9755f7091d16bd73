"""Imports the session logs of Claude Code and Codex into transcripts (design 7)."""
