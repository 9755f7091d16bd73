"""The history screen: commits, what each changed, where it came from, and undo."""
