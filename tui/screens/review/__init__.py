"""The review screen: items that need a person's decision."""
