"""The topics screen: what each would have done in the past, and new ones."""
