"""The faces of the engine in a terminal: the workbench and the command line."""
