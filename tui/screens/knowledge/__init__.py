"""The knowledge screen: everything the memory knows, by group."""
