"""The settings of a workspace: their definitions, the file, and whether the workspace is trusted."""
