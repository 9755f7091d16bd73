"""A workspace followed while it is written: what happened, and what is asked meanwhile."""
