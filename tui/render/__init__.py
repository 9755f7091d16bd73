"""What each panel looks like: pure functions from the engine's values to lines. No widget is needed."""
