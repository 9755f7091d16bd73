"""The basic parts of an open workspace, needed to process a message and compile its prompt."""
