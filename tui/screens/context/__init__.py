"""The prompt of a message, section by section."""
