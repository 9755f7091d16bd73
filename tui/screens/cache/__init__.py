"""The cache screen: prompt caching per provider and discussion."""
