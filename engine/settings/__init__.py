"""The settings of a workspace: what there is, what stands in its file, and who is trusted with it."""
