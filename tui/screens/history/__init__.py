"""The memory's past: its commits, what each changed, who taught it, and the way back."""
