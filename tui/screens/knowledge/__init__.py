"""All that is known, group by group."""
