"""The engine: an agent's memory as files, and the prompt it becomes. It knows no face."""

__version__ = "0.1.0"
