"""The engine: an agent's memory as files, and prompts compiled from it. Independent of any user interface."""

__version__ = "0.1.0"
